//! How large messages between nodes may be: what the machines make fits, at their own limits. The limits are in docs/limits.md.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_store::{ReadReply, RowAt};
use iolite_values::{
    Attempt, Cell, CellState, ColumnId, CoordinatorId, Level, Operation, Read, Row, RowKey, StoreIncarnation, TableId,
    Timestamp, Value, Write,
};
use iolite_wire::EncodeError;
use iolite_wire::limits::{self, Limit};
use iolite_wire::node::{
    Answer, Ask, Ballot, BetweenReplicas, Boot, Effect, Epoch, FromReplica, Life, MessageId, NodesHello, Outcome, Peer,
    Piece, Proposal, ProposalId, RecordPart, RecordedEntry, ReplicaId, ShardId, StateChunk, Term, ToReplica, View,
    Vote,
};

fn key(number: i64) -> RowKey {
    RowKey::new(&[Value::Int(number)]).expect("short")
}

fn cell(number: i64) -> Cell {
    Cell { table: TableId(1), row: key(number), column: ColumnId(2) }
}

fn name() -> ProposalId {
    ProposalId { at: Timestamp::MAX, transaction: Default::default(), attempt: Attempt(1) }
}

fn proposal(reads: Vec<Read>, writes: Vec<Write>) -> Arc<Proposal> {
    let (participants, effect) = ([ShardId(1)].into(), Effect::Commit(writes.into()));
    Arc::new(Proposal {
        id: name(),
        participants,
        snapshot: Timestamp::ZERO,
        reads,
        level: Level::Strict,
        effect,
        is_home: true,
    })
}

fn put(number: i64, length: usize) -> Write {
    Write { cell: cell(number), operation: Operation::Put(Value::bytes(vec![0; length])) }
}

fn message_id() -> MessageId {
    MessageId { life: Life(u64::MAX), number: u64::MAX }
}

fn prepare(proposal: Arc<Proposal>) -> ToReplica {
    let (from, store) = (CoordinatorId::new(1).expect("small"), Some(StoreIncarnation::default()));
    let ask = Ask::Prepare { proposal, after: None };
    ToReplica { from, term: Term(1), id: message_id(), store, shard: ShardId(1), view: View::default(), ask }
}

fn answer(answer: Answer) -> FromReplica {
    FromReplica {
        to: CoordinatorId::new(1).expect("small"),
        from: ReplicaId(1),
        shard: ShardId(1),
        id: message_id(),
        boot: Boot(u64::MAX),
        store: StoreIncarnation::default(),
        view: View::default(),
        highest: Timestamp::MAX,
        limit: Timestamp::MAX,
        answer,
    }
}

fn between(peer: Peer) -> BetweenReplicas {
    let (store, shard, epoch) = (StoreIncarnation::default(), ShardId(1), Epoch(1));
    BetweenReplicas { from: ReplicaId(1), to: ReplicaId(2), store, shard, epoch, peer }
}

fn rows(count: i64, row: &Row) -> FromReplica {
    let rows = (0..count).map(|number| RowAt { table: TableId(1), key: key(number), row: row.clone() }).collect();
    piece(rows, limits::INDEX_BOUND.most)
}

fn piece(rows: Vec<RowAt>, place: usize) -> FromReplica {
    let looked_through = Some(vec![0xff; place].into());
    answer(Answer::Read(Ok(Piece { reply: ReadReply { at: Timestamp::MAX, rows, is_cut: true }, looked_through })))
}

fn row(columns: u32, value: Value) -> Row {
    let cells: BTreeMap<_, _> =
        (1..=columns).map(|column| (ColumnId(column), CellState::Scalar(value.clone()))).collect();
    Row::from_parts(true, cells)
}

fn frame_is_limited(limit: Limit, of: impl Fn(usize) -> Result<Vec<u8>, EncodeError>) {
    assert!(of(limit.most - 8192).is_ok(), "{limit}");
    assert_eq!(of(limit.most), Err(EncodeError::TooLarge { limit }));
}

#[test]
fn messages_between_nodes_have_a_length() {
    frame_is_limited(limits::TO_REPLICA.bytes, |length| prepare(proposal(Vec::new(), vec![put(1, length)])).encode());
    frame_is_limited(limits::FROM_REPLICA.bytes, |length| rows(1, &row(1, Value::bytes(vec![0; length]))).encode());
    frame_is_limited(limits::BETWEEN_REPLICAS.bytes, |length| {
        between(Peer::FetchState { place: vec![0; length] }).encode()
    });
}

#[test]
fn a_message_that_is_too_large_leaves_what_waits_to_be_sent_as_it_was() {
    let mut bytes = b"earlier".to_vec();
    let long = prepare(proposal(Vec::new(), vec![put(1, limits::TO_REPLICA.bytes.most)]));
    assert_eq!(long.encode_into(&mut bytes), Err(EncodeError::TooLarge { limit: limits::TO_REPLICA.bytes }));
    let reads = vec![Read::Range { table: TableId(1), range: iolite_values::KeyRange::all() }; 300_000];
    let many = prepare(proposal(reads, Vec::new()));
    assert_eq!(many.encode_into(&mut bytes), Err(EncodeError::TooLarge { limit: limits::TO_REPLICA.parts }));
    assert_eq!(bytes, b"earlier");
    let small = prepare(proposal(Vec::new(), vec![put(1, 1)]));
    small.encode_into(&mut bytes).expect("small");
    assert_eq!(bytes[b"earlier".len()..], small.encode().expect("small"));
}

/// 8 MiB are the most that a replica records of one, and 10,000 reads and writes the most that a gateway takes.
#[test]
fn the_largest_transaction_fits_into_a_message() {
    let large = proposal(Vec::new(), vec![put(1, 8 << 20)]);
    let reads = (0..10_000).map(|number| Read::Cell { cell: cell(number), element: iolite_values::Element::Whole });
    let many = proposal(reads.collect(), (10_000..20_000).map(|number| put(number, 100)).collect());
    for proposal in [large, many] {
        let message = prepare(proposal);
        assert_eq!(ToReplica::decode(&message.encode().expect("it fits")), Ok(message));
    }
}

/// A replica counts 32 bytes for an entry without its proposal, and cuts at 1 MiB.
#[test]
fn the_longest_part_of_a_record_fits_into_a_message() {
    let by = CoordinatorId::new(CoordinatorId::MAX).expect("the last one");
    let ballot = Ballot { number: u32::MAX, by, term: Term(u32::MAX) };
    let (vote, finalised, promised, outcome) = (Vote::No, Some(ballot), ballot, Some(Outcome::Aborted));
    let entry = RecordedEntry { id: name(), proposal: None, vote, finalised, promised, outcome };
    let entries = vec![entry; (1 << 20) / 32];
    let view = View::default();
    let part = RecordPart { barrier: Timestamp::MAX, entries, ..RecordPart::empty(view) };
    let message = between(Peer::DoViewChange { last_normal: view, part });
    assert_eq!(BetweenReplicas::decode(&message.encode().expect("it fits")), Ok(message));
}

/// One row or one commit is the least that a chunk of a state holds.
#[test]
fn the_largest_chunk_of_a_state_fits_into_a_message() {
    let (place, next) = (vec![0; 1024], Some(vec![0; 1024]));
    let chunk = StateChunk { boot: Boot(1), place, next, complete: Timestamp::MAX, chunk: vec![0; 16 << 20] };
    let message = between(Peer::StateChunk(chunk));
    assert_eq!(BetweenReplicas::decode(&message.encode().expect("it fits")), Ok(message));
}

/// A gateway asks for at most 100,000 rows and 32 MiB, and gets the row that passes that.
#[test]
fn what_a_gateway_reads_at_most_fits_into_a_message() {
    let wide = row(19, Value::Int(i64::MAX));
    assert!(rows(100_000, &wide).encode().is_ok(), "100,000 rows of 19 columns");
    let text = row(3, Value::string("x".repeat(100)));
    assert!(rows(100_000, &text).encode().is_ok(), "{} bytes a row", text.size_bytes());
}

/// Of a query it is an index key, which may be five times as long as the key of a row.
#[test]
fn the_place_that_a_read_has_come_to_has_a_length() {
    let limit = limits::INDEX_BOUND;
    let longest = piece(Vec::new(), limit.most);
    assert_eq!(FromReplica::decode(&longest.encode().expect("it fits")), Ok(longest));
    assert_eq!(piece(Vec::new(), limit.most + 1).encode(), Err(EncodeError::TooLarge { limit }));
}

#[test]
fn a_hello_of_nodes_has_a_length() {
    let own = NodesHello::OWN.encode().expect("small");
    // A later version may say more: what is unknown is skipped.
    let with =
        |length: usize| [&own[..], &[0x1a, 0x80 | length as u8 & 0x7f, (length >> 7) as u8], &vec![0; length]].concat();
    let room = limits::NODES_HELLO.bytes.most - own.len() - 3;
    assert_eq!(NodesHello::decode(&with(room)), Ok(NodesHello::OWN));
    let limit = limits::NODES_HELLO.bytes;
    assert_eq!(NodesHello::decode(&with(room + 1)), Err(iolite_wire::DecodeError::TooLarge { limit }));
}
