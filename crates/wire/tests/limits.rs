//! Every limit of a message's parts, met and passed by one: encoders refuse what decoders would. They are listed in docs/limits.md
//! and docs/protocols/wire.md.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use iolite_values::{
    Attempt, Cell, ChunkId, ClientId, ColumnId, Counter, Decision, DeviceRight, Effect, Id, Interest, KeyRange,
    LaneNumber, LeaseName, Level, LogId, Mark, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName, Operation, Query,
    Row, RowKey, SchemaHash, StoreIncarnation, TableId, Timestamp, TransactionId, Value, Write,
};
use iolite_wire::blobs::{BlobContent, BlobPut, BlobReply, BlobRequest, LeasedChunks};
use iolite_wire::centres::{Ceiling, CentreName, Entries, FromCentre, OutboxEntry, Place, ShippedTransaction};
use iolite_wire::client_storage::{MutationStatus, StoredMutation, StoredRow};
use iolite_wire::journal::{CheckpointChunk, CheckpointRow, Completed, CompletedDecision, JournalRecord};
use iolite_wire::limits::{self, FrameLimits, Limit};
use iolite_wire::logs::{LogEntry, LogState};
use iolite_wire::message::{
    Advance, FromClient, FromGateway, Goodbye, GoodbyeReason, Hello, LogPart, ProtocolVersion, RowSnapshot, Submit,
    Subscribe, SubscriptionId,
};
use iolite_wire::objects::{
    Answer, CallMode, Component, Declared, DeviceHello, FromDevice, OBJECTS_PROTOCOL_VERSION, OfferedClass, Part,
    PeerHello, PeerMessage, Placed, Rpc, RpcId, ServedClass, ToDevice, TrackAnswer,
};
use iolite_wire::tabs::{FromTab, JoinNumber, TabConnection, TabNotice, TabRequest, TabUpdate, ToTab, UpdateNumber};
use iolite_wire::{DecodeError, EncodeError, SessionEncoder};

fn text(length: usize) -> String {
    "x".repeat(length)
}

fn key() -> RowKey {
    RowKey::new(&[Value::Int(1)]).expect("short")
}

fn write(operation: Operation) -> Write {
    Write { cell: Cell { table: TableId(1), row: key(), column: ColumnId(2) }, operation }
}

fn row(length: usize) -> Row {
    let mut row = Row::default();
    row.apply(ColumnId(2), &Operation::Put(Value::string(text(length)))).expect("a scalar");
    row
}

fn update(row: RowSnapshot) -> TabUpdate {
    TabUpdate { rows: vec![row], ..TabUpdate::empty(UpdateNumber(1), Timestamp::ZERO, TabConnection::Online) }
}

fn submit(decision: Decision) -> FromClient {
    let (counter, attempt, snapshot) = (Counter(1), Attempt(1), Timestamp::ZERO);
    FromClient::Submit(Submit {
        counter,
        attempt,
        snapshot,
        reads: Vec::new(),
        decision,
        acknowledged: None,
        lane: LaneNumber::STRONG,
        follows: None,
    })
}

fn encode(message: &FromClient) -> Result<(), EncodeError> {
    SessionEncoder::new().encode(message).map(drop)
}

/// What `of` makes of the limit is taken, and of one more is refused by that limit.
fn is_met(limit: Limit, of: impl Fn(usize) -> Result<(), EncodeError>) {
    assert_eq!(of(limit.most), Ok(()), "{limit}");
    assert_eq!(of(limit.most + 1), Err(EncodeError::TooLarge { limit }));
}

/// The content alone is as long as a frame may be, or leaves some room for what is around it.
fn frame_is_limited(limit: Limit, of: impl Fn(usize) -> Result<(), EncodeError>) {
    assert_eq!(of(limit.most - 4096), Ok(()), "{limit}");
    assert_eq!(of(limit.most), Err(EncodeError::TooLarge { limit }));
}

#[test]
fn a_token_has_a_length() {
    is_met(limits::TOKEN, |length| {
        encode(&FromClient::Hello(Hello {
            oldest_version: ProtocolVersion::CURRENT,
            newest_version: ProtocolVersion::CURRENT,
            token: text(length),
            client: ClientId::default(),
            schema: SchemaHash([0; 16]),
            resume: None,
            acknowledged: Counter(0),
            centre_token: None,
            batch: Duration::ZERO,
        }))
    });
}

#[test]
fn a_schema_has_a_length() {
    is_met(limits::SCHEMA, |length| encode(&FromClient::Schema(text(length))));
}

#[test]
fn a_reason_has_a_length() {
    is_met(limits::REASON, |length| encode(&submit(Decision::Abort(text(length)))));
    is_met(limits::REASON, |length| {
        let goodbye = Goodbye { reason: GoodbyeReason::Slow, message: text(length), retry_after: None };
        SessionEncoder::new().encode(&FromGateway::Goodbye(goodbye)).map(drop)
    });
}

#[test]
fn a_part_of_a_logs_state_has_a_length() {
    is_met(limits::LOG_PART, |length| {
        let log = LogId::new("sheet", &Value::Int(1)).expect("short");
        let part = LogPart { log, block: 1, part: 0, state: vec![1; length] };
        encode(&FromClient::LogPart(part))
    });
}

#[test]
fn a_maps_key_has_a_length() {
    is_met(limits::MAP_KEY, |length| {
        let key: Arc<str> = text(length).into();
        encode(&submit(Decision::Commit(vec![write(Operation::RemoveEntry { key })])))
    });
}

#[test]
fn a_ranges_bound_has_a_length() {
    is_met(limits::RANGE_BOUND, |length| {
        let range = KeyRange { lower: vec![2; length].into(), upper: None };
        let interests = vec![(SubscriptionId(1), Interest::Range { table: TableId(1), range })];
        encode(&FromClient::Subscribe(Subscribe { held: false, interests, first: Default::default() }))
    });
}

#[test]
fn an_index_bound_has_a_length() {
    is_met(limits::INDEX_BOUND, |length| {
        let range = KeyRange { lower: vec![2; length].into(), upper: None };
        let query = Query::all(TableId(1), false).with_range(range);
        let interests = vec![(SubscriptionId(1), Interest::Query(Arc::new(query)))];
        encode(&FromClient::Subscribe(Subscribe { held: false, interests, first: Default::default() }))
    });
}

#[test]
fn subscriptions_of_one_message_have_a_number() {
    is_met(limits::SUBSCRIPTIONS, |count| {
        let interest = || Interest::Range { table: TableId(1), range: KeyRange::all() };
        let interests = (0..count as u32).map(|number| (SubscriptionId(number), interest())).collect();
        encode(&FromClient::Subscribe(Subscribe { held: false, interests, first: Default::default() }))
    });
    is_met(limits::SUBSCRIPTIONS, |count| {
        encode(&FromClient::Unsubscribe((0..count as u32).map(SubscriptionId).collect()))
    });
}

#[test]
fn a_mutations_name_has_a_length() {
    is_met(limits::NAME, |length| {
        let (name, arguments) = (text(length), String::new());
        let (counter, status) = (Counter(1), MutationStatus::Waiting);
        StoredMutation {
            counter,
            name,
            arguments,
            called_at_micros: 0,
            ticket: None,
            status,
            log: None,
            effects: None,
            unsent: false,
        }
        .encode()
        .map(drop)
    });
}

#[test]
fn frames_of_every_kind_have_a_length() {
    let put = |length: usize| vec![write(Operation::Put(Value::string(text(length))))];
    frame_is_limited(limits::FROM_CLIENT.bytes, |length| encode(&submit(Decision::Commit(put(length)))));
    frame_is_limited(limits::FROM_GATEWAY.bytes, |length| {
        let advance = Advance { changes: put(length), ..Advance::default() };
        SessionEncoder::new().encode(&FromGateway::Advance(advance)).map(drop)
    });
    frame_is_limited(limits::JOURNAL_RECORD.bytes, |length| {
        let decision = CompletedDecision::Committed(put(length));
        let (transaction, attempt) = (Default::default(), Attempt(1));
        JournalRecord::Completed(Completed {
            transaction,
            attempt,
            at: Timestamp::ZERO,
            level: Level::Strict,
            decision,
            is_home: true,
        })
        .encode()
        .map(drop)
    });
    frame_is_limited(limits::LOG_ENTRY.bytes, |length| {
        let (operation, arguments, seed) = ("set".to_owned(), text(length).to_string(), [0; 16]);
        let (counter, called_at_micros, version) = (Counter(1), 0, 0);
        LogEntry { origin: None, counter, called_at_micros, seed, operation, version, arguments, turns: false }
            .encode()
            .map(drop)
    });
    frame_is_limited(limits::LOG_STATE.bytes, |length| {
        let row = RowSnapshot { table: TableId(1), key: key(), row: row(length) };
        LogState { rows: vec![row] }.encode().map(drop)
    });
    frame_is_limited(limits::CHECKPOINT_CHUNK.bytes, |length| {
        let (table, base_at, history) = (TableId(1), Timestamp::ZERO, Vec::new());
        CheckpointChunk::Rows(vec![CheckpointRow { table, key: key(), base: row(length), base_at, history }])
            .encode()
            .map(drop)
    });
    frame_is_limited(limits::CLIENT_STORAGE.bytes, |length| {
        StoredRow { table: TableId(1), key: key(), row: row(length) }.encode().map(drop)
    });
}

#[test]
fn messages_between_tabs_have_a_length() {
    frame_is_limited(limits::FROM_TAB.bytes, |length| {
        let (counter, ticket, status) = (Counter(1), None, MutationStatus::Waiting);
        let (name, arguments) = (String::new(), text(length));
        let call = StoredMutation {
            counter,
            name,
            arguments,
            called_at_micros: 0,
            ticket,
            status,
            log: None,
            effects: None,
            unsent: false,
        };
        FromTab { join: JoinNumber(1), request: TabRequest::Announce(call) }.encode().map(drop)
    });
    frame_is_limited(limits::TO_TAB.bytes, |length| {
        let row = RowSnapshot { table: TableId(1), key: key(), row: row(length) };
        ToTab { join: JoinNumber(1), notice: TabNotice::Update(Box::new(update(row))) }.encode().map(drop)
    });
}

#[test]
fn messages_between_data_centres_have_a_length() {
    frame_is_limited(limits::FROM_CENTRE.bytes, |length| {
        let entries = Entries { after: Place::START, entries: vec![(Place::new(0, 0), vec![0; length])] };
        FromCentre::Entries(entries).encode().map(drop)
    });
    frame_is_limited(limits::OUTBOX_ENTRY.bytes, |length| {
        let (value, mark) = (Value::from(text(length).to_string()), Mark(1));
        let operation = Operation::Merge(Effect::Insert { value, mark }.into());
        let transaction = TransactionId { client: Default::default(), counter: Counter(1) };
        let writes = vec![Write { cell: Cell::row(TableId(1), key()), operation }];
        let shipped = ShippedTransaction { transaction, after: Place::START, taken: None, writes };
        OutboxEntry::Transaction(shipped).encode().map(drop)
    });
    is_met(limits::CENTRE_GROUP, |length| {
        let (group, after) = ("g".repeat(length), Place::START);
        FromCentre::Follow { group, known_store: None, after }.encode().map(drop)
    });
    is_met(limits::CENTRES, |centres| {
        let name = |number| CentreName::new(&format!("c{number}")).expect("a name");
        let clock = (0..centres).map(|number| (name(number), Ceiling::default())).collect();
        SessionEncoder::new().encode(&FromGateway::Advance(Advance { clock, ..Advance::default() })).map(drop)
    });
}

fn put(length: usize, unpacked_bytes: u32) -> Result<(), EncodeError> {
    let (lease, chunk) = (LeaseName(Id::from_u128(1)), ChunkId::of(b"a"));
    let content = BlobContent { bytes: vec![0; length], unpacked_bytes };
    BlobRequest::Put(BlobPut { lease, chunk, content }).encode().map(drop)
}

#[test]
fn a_chunk_has_a_length_packed_and_unpacked() {
    is_met(limits::CHUNK_CONTENT, |length| put(length, 0));
    is_met(limits::CHUNK_CONTENT, |length| put(1, length as u32));
    is_met(limits::CHUNK_CONTENT, |length| {
        BlobReply::Chunk(1, BlobContent { bytes: vec![0; length], unpacked_bytes: 0 }).encode().map(drop)
    });
}

#[test]
fn a_question_is_about_so_many_chunks() {
    let chunks = |count| LeasedChunks { lease: LeaseName(Id::from_u128(1)), chunks: vec![ChunkId::of(b"a"); count] };
    is_met(limits::CHUNK_IDS, |count| BlobRequest::Have(chunks(count)).encode().map(drop));
    is_met(limits::CHUNK_IDS, |count| BlobReply::HaveReply(chunks(count)).encode().map(drop));
}

#[test]
fn a_server_names_so_many_nodes_that_run_a_class() {
    is_met(limits::SERVED_NODES, |nodes| {
        let class = OfferedClass { name: "A".into(), declared: placed(0, 0).declared };
        let classes = vec![ServedClass { class, nodes: placed(0, nodes).places }];
        PeerMessage::Hello(PeerHello { store: StoreIncarnation(Id::from_u128(1)), classes }).encode().map(drop)
    });
}

/// Each part of a message has a limit of its own, so only bytes can pass that of the frame.
#[test]
fn messages_about_chunks_have_a_length() {
    for (limit, result) in [
        (limits::BLOB_REQUEST, BlobRequest::decode(&vec![0; limits::BLOB_REQUEST.bytes.most + 1]).map(drop)),
        (limits::BLOB_REPLY, BlobReply::decode(&vec![0; limits::BLOB_REPLY.bytes.most + 1]).map(drop)),
    ] {
        assert_eq!(result, Err(DecodeError::TooLarge { limit: limit.bytes }));
    }
}

/// A call of which every part is small.
fn rpc() -> Rpc {
    let object = ObjectName::new("A", "1").expect("a name");
    let id = RpcId { kernel: Id::from_u128(1), counter: 1, path: Vec::new() };
    let (method, caller, time_left) = (String::new(), String::new(), Duration::ZERO);
    let (epoch, mode, chain, arguments) = (ObjectEpoch(1), CallMode::Read, Vec::new(), Vec::new());
    let (from, component, claim, by_device) = (None, Component::Method, DeviceRight::Call, false);
    Rpc {
        id,
        object,
        epoch,
        version: 1,
        method,
        mode,
        chain,
        time_left,
        caller,
        arguments,
        from,
        component,
        claim,
        by_device,
    }
}

fn run(rpc: Rpc) -> Result<(), EncodeError> {
    ToDevice::Run { number: 1, rpc }.encode().map(drop)
}

#[test]
fn a_call_of_a_method_is_so_long() {
    is_met(limits::OBJECT_BYTES, |bytes| run(Rpc { arguments: vec![0; bytes], ..rpc() }));
    let part = |bytes| Part { offset: 0, bytes: vec![0; bytes] };
    is_met(limits::STATE_PART, |bytes| FromDevice::Part { number: 1, part: part(bytes) }.encode().map(drop));
    is_met(limits::OBJECT_BYTES, |bytes| {
        FromDevice::Answer { number: 1, answer: Answer::Returned(vec![0; bytes]) }.encode().map(drop)
    });
    is_met(limits::METHOD, |bytes| run(Rpc { method: "m".repeat(bytes), ..rpc() }));
    is_met(limits::CALLER, |bytes| run(Rpc { caller: "c".repeat(bytes), ..rpc() }));
    is_met(limits::CALL_CHAIN, |callers| run(Rpc { chain: vec![rpc().object; callers], ..rpc() }));
    is_met(limits::CALL_CHAIN, |calls| run(Rpc { id: RpcId { path: vec![0; calls], ..rpc().id }, ..rpc() }));
}

fn placed(managers: usize, places: usize) -> Placed {
    let node = NodeId { name: NodeName::Device(Id::from_u128(1)), life: NodeLife(1) };
    let declared = Declared { version: 1, managers: "m".repeat(managers), devices: DeviceRight::Call };
    Placed { declared, epoch: ObjectEpoch(1), places: vec![node; places] }
}

#[test]
fn a_class_and_a_row_of_an_object_are_so_long() {
    let told = |placed| ToDevice::Told { number: 1, answer: TrackAnswer::Found(placed) }.encode().map(drop);
    is_met(limits::MANAGERS, |managers| told(placed(managers, 1)));
    is_met(limits::PLACES, |places| told(placed(0, places)));
    is_met(limits::CLASSES, |classes| {
        let class = OfferedClass { name: "A".into(), declared: placed(0, 0).declared };
        let (oldest_version, newest_version) = (OBJECTS_PROTOCOL_VERSION, OBJECTS_PROTOCOL_VERSION);
        let (token, device, life) = (String::new(), Id::from_u128(1), NodeLife(0));
        let (classes, serves, connection) = (vec![class; classes], false, 1);
        let hello = DeviceHello { oldest_version, newest_version, token, device, life, serves, classes, connection };
        FromDevice::Hello(hello).encode().map(drop)
    });
}

/// Each part of a message has a limit of its own, so only bytes can pass that of the frame.
#[test]
fn messages_about_objects_have_a_length() {
    for (limit, result) in [
        (limits::FROM_DEVICE, FromDevice::decode(&vec![0; limits::FROM_DEVICE.bytes.most + 1]).map(drop)),
        (limits::TO_DEVICE, ToDevice::decode(&vec![0; limits::TO_DEVICE.bytes.most + 1]).map(drop)),
        (limits::PEER, PeerMessage::decode(&vec![0; limits::PEER.bytes.most + 1]).map(drop)),
    ] {
        assert_eq!(result, Err(DecodeError::TooLarge { limit: limit.bytes }));
    }
}

/// Every limit with its name.
const FRAMES: [(&str, FrameLimits); 20] = [
    ("BLOB_REQUEST", limits::BLOB_REQUEST),
    ("BLOB_REPLY", limits::BLOB_REPLY),
    ("FROM_DEVICE", limits::FROM_DEVICE),
    ("TO_DEVICE", limits::TO_DEVICE),
    ("PEER", limits::PEER),
    ("LOG_ENTRY", limits::LOG_ENTRY),
    ("OUTBOX_ENTRY", limits::OUTBOX_ENTRY),
    ("FROM_CENTRE", limits::FROM_CENTRE),
    ("LOG_STATE", limits::LOG_STATE),
    ("FROM_CLIENT", limits::FROM_CLIENT),
    ("FROM_GATEWAY", limits::FROM_GATEWAY),
    ("JOURNAL_RECORD", limits::JOURNAL_RECORD),
    ("CHECKPOINT_CHUNK", limits::CHECKPOINT_CHUNK),
    ("CLIENT_STORAGE", limits::CLIENT_STORAGE),
    ("FROM_TAB", limits::FROM_TAB),
    ("TO_TAB", limits::TO_TAB),
    ("TO_REPLICA", limits::TO_REPLICA),
    ("FROM_REPLICA", limits::FROM_REPLICA),
    ("BETWEEN_REPLICAS", limits::BETWEEN_REPLICAS),
    ("NODES_HELLO", limits::NODES_HELLO),
];
const OTHERS: [(&str, Limit); 26] = [
    ("CHUNK_CONTENT", limits::CHUNK_CONTENT),
    ("CHUNK_IDS", limits::CHUNK_IDS),
    ("OBJECT_BYTES", limits::OBJECT_BYTES),
    ("STATE_PART", limits::STATE_PART),
    ("METHOD", limits::METHOD),
    ("MANAGERS", limits::MANAGERS),
    ("CALLER", limits::CALLER),
    ("CLASSES", limits::CLASSES),
    ("SERVED_NODES", limits::SERVED_NODES),
    ("CALL_CHAIN", limits::CALL_CHAIN),
    ("PLACES", limits::PLACES),
    ("CENTRES", limits::CENTRES),
    ("CENTRE_GROUP", limits::CENTRE_GROUP),
    ("TOKEN", limits::TOKEN),
    ("SCHEMA", limits::SCHEMA),
    ("REASON", limits::REASON),
    ("LOG_PART", limits::LOG_PART),
    ("MAP_KEY", limits::MAP_KEY),
    ("RANGE_BOUND", limits::RANGE_BOUND),
    ("INDEX_BOUND", limits::INDEX_BOUND),
    ("NAME", limits::NAME),
    ("SUBSCRIPTIONS", limits::SUBSCRIPTIONS),
    ("SUBMITS_OPEN", limits::SUBMITS_OPEN),
    ("SUBMITS_OPEN_BYTES", limits::SUBMITS_OPEN_BYTES),
    ("LOG_MEMBERS", limits::LOG_MEMBERS),
    ("NUMBERED_CELLS", limits::NUMBERED_CELLS),
];

#[test]
fn the_list_of_limits_is_whole() {
    let declared = include_str!("../src/limits.rs").lines().filter_map(|line| line.strip_prefix("pub const "));
    let declared: BTreeSet<&str> = declared.filter_map(|line| line.split(':').next()).collect();
    let frames = FRAMES.iter().map(|(name, _)| *name);
    assert_eq!(declared, frames.chain(OTHERS.iter().map(|(name, _)| *name)).collect());
}

#[test]
fn the_page_of_limits_has_these_values() {
    let is_on_page = |name: &str, value: String| {
        let row = format!("| `wire::{name}` | {value} |");
        let page = include_str!("../../../docs/limits.md");
        assert_eq!(page.lines().filter(|line| line.starts_with(&row)).count(), 1, "{row}");
    };
    for (name, limits) in FRAMES {
        is_on_page(name, format!("{}, {}", limits.bytes, limits.parts));
    }
    for (name, limit) in OTHERS {
        is_on_page(name, limit.most.to_string());
    }
}

#[test]
fn the_page_of_the_protocol_has_these_values_and_no_others() {
    let (_, section) = include_str!("../../../docs/protocols/wire.md").split_once("## Limits\n").expect("it is there");
    let (section, _) = section.split_once("\n## ").expect("another follows");
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let is_on_page = |name: &str, value: String| {
        let is_row = |line: &&&str| line.starts_with(&format!("| `{name}`")) && line.ends_with(&format!("| {value} |"));
        assert_eq!(rows.iter().filter(is_row).count(), 1, "{name}: {value}");
    };
    for (name, limits) in FRAMES {
        is_on_page(name, format!("{}, {}", limits.bytes, limits.parts));
    }
    for (name, limit) in OTHERS {
        is_on_page(name, limit.to_string());
    }
    assert_eq!(rows.len(), FRAMES.len() + OTHERS.len());
}
