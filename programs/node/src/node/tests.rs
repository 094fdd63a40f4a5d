//! Nothing leaves a node before what it tells is durable, and its page says what it does.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_access::{Access, DevelopmentToken};
use iolite_catalog::{Catalog, SchemaPolicy};
use iolite_engine::{Incarnation, Journal, MemoryDisk, Options};
use iolite_gateway::{Broken, Gateway, Input, Limits, Settings, Without};
use iolite_machine::{PersistId, WallTime};
use iolite_replication::journal::JournalRecord;
use iolite_replication::node::{Boot, Life};
use iolite_replication::{Coordinator, CoordinatorSettings, Replica, ReplicaSettings, Retention, ShardMap};
use iolite_values::{
    ClientId, CoordinatorId, Counter, Id, Interest, KeyRange, RowKey, Schema, StoreIncarnation, TableId, Value,
};
use iolite_wire::message::{FromClient, Hello, ProtocolVersion, Subscribe, SubscriptionId};

use super::*;
use crate::checkpoints::Checkpoints;
use crate::recovery::recover_alone;

const NOW: Now = Now { instant: Instant::from_nanos(1), wall: WallTime::from_micros(1_700_000_000_000_000) };
const SESSION: SessionId = SessionId(1);

fn node(checkpoint_bytes_min: u64) -> Node {
    let client = ClientId(Id::from_u128(1));
    let access = Access::Development(DevelopmentToken::new("token"));
    let gateway = Gateway::new(Settings {
        client,
        access,
        schemas: SchemaPolicy::Grow,
        limits: Limits::default(),
        broken: Broken::Nothing,
        fresh_key: [0; 32],
        rights_required: false,
        has_indexes: true,
        has_blob_store: false,
        without: Without::Nothing,
    });
    let coordinator =
        Coordinator::new(NOW, CoordinatorSettings::new(CoordinatorId::default(), Life(1), ShardMap::alone()));
    let replica =
        Replica::new(ReplicaSettings::alone(StoreIncarnation(Id::from_u128(2)), Boot(1), Retention::default()));
    Node::new(NOW, Front::new(NOW, gateway, coordinator), Store::new(replica, checkpoint_bytes_min))
}

fn schema() -> Schema {
    let json = r#"{"tables":{"notes":{"columns":{"id":{"type":"id"}},"key":["id"]}}}"#;
    Schema::from_json(json).expect("a valid schema")
}

/// Whether there is more to do at once.
fn is_due(node: &Node) -> bool {
    node.deadline().is_some_and(|at| at <= NOW.instant)
}

/// Every output, turn after turn.
fn outputs(node: &mut Node, mut durable: Option<&mut PersistId>) -> Vec<NodeOutput> {
    let mut all = outputs_of_a_turn(node, durable.as_deref_mut());
    while is_due(node) {
        node.on_deadline(NOW);
        all.extend(outputs_of_a_turn(node, durable.as_deref_mut()));
    }
    all
}

/// With every record durable as soon as it is appended, or never.
fn outputs_of_a_turn(node: &mut Node, mut durable: Option<&mut PersistId>) -> Vec<NodeOutput> {
    let mut all = Vec::new();
    while let Some(output) = node.poll() {
        node.validate();
        if let (NodeOutput::Journal(JournalOutput::Append(record)), Some(through)) = (&output, durable.as_deref_mut()) {
            *through = through.next();
            let synced = NodeInput::Journal(JournalInput::Synced {
                through: *through,
                bytes_since_checkpoint: record.len() as u64,
            });
            node.handle(NOW, synced);
        }
        all.push(output);
    }
    all
}

/// A client comes with a schema that the server does not have, which takes a commit.
fn greet(node: &mut Node) {
    let hello = Hello {
        oldest_version: ProtocolVersion::OLDEST_SUPPORTED,
        newest_version: ProtocolVersion::CURRENT,
        token: "token".into(),
        client: ClientId(Id::from_u128(3)),
        schema: schema().hash(),
        resume: None,
        acknowledged: Counter(0),
        centre_token: None,
        batch: Duration::ZERO,
    };
    node.handle(NOW, NodeInput::Gateway(Input::SessionOpened(SESSION)));
    node.handle(NOW, NodeInput::Gateway(Input::Message(SESSION, FromClient::Hello(hello))));
    node.handle(NOW, NodeInput::Gateway(Input::Message(SESSION, FromClient::Schema(schema().to_json()))));
}

fn is_welcome(output: &NodeOutput) -> bool {
    matches!(output, NodeOutput::Message(SESSION, FromGateway::Welcome(_)))
}

#[test]
fn a_commit_is_told_when_its_record_is_durable_and_not_before() {
    let mut node = node(u64::MAX);
    let mut durable = PersistId::START;
    outputs(&mut node, Some(&mut durable));
    assert!(node.is_ready());
    greet(&mut node);
    let before = outputs(&mut node, None);
    let appended =
        before.iter().filter(|output| matches!(output, NodeOutput::Journal(JournalOutput::Append(_)))).count() as u64;
    assert!(before.contains(&NodeOutput::Journal(JournalOutput::Sync)), "{before:?}");
    assert!(appended > 0 && !before.iter().any(is_welcome), "{before:?}");
    let through = PersistId(durable.0 + appended);
    node.handle(NOW, NodeInput::Journal(JournalInput::Synced { through, bytes_since_checkpoint: 0 }));
    let mut last = through;
    let after = outputs(&mut node, Some(&mut last));
    assert_eq!(after.iter().filter(|output| is_welcome(output)).count(), 1, "{after:?}");
}

#[test]
fn who_asks_for_much_lets_others_in_between() {
    let mut node = node(u64::MAX);
    let mut durable = PersistId::START;
    outputs(&mut node, Some(&mut durable));
    greet(&mut node);
    outputs(&mut node, Some(&mut durable));
    let many = 1..=130;
    let range = |number: u32| KeyRange { lower: number.to_be_bytes().into(), upper: None };
    let interests = many
        .map(|number| (SubscriptionId(number), Interest::Range { table: TableId::of("notes"), range: range(number) }));
    let subscribe = Subscribe { held: false, interests: interests.collect(), first: BTreeMap::new() };
    node.handle(NOW, NodeInput::Gateway(Input::Message(SESSION, FromClient::Subscribe(subscribe))));
    let is_answer = |output: &NodeOutput| matches!(output, NodeOutput::Message(SESSION, FromGateway::Advance(_)));
    let mut turns = 0;
    while !outputs_of_a_turn(&mut node, Some(&mut durable)).iter().any(is_answer) {
        turns += 1;
        assert!(is_due(&node), "there is more to do, and others have their turn");
        node.on_deadline(NOW);
    }
    assert_eq!(turns, 3, "each reads so much");
}

#[test]
fn a_checkpoint_is_handed_over_chunk_by_chunk_behind_the_records_before_it() {
    // The record of the coordinator's term is smaller, and that of the commit larger.
    let mut node = node(100);
    let mut durable = PersistId::START;
    outputs(&mut node, Some(&mut durable));
    greet(&mut node);
    let all = outputs(&mut node, Some(&mut durable));
    let begun = all.iter().filter(|output| **output == NodeOutput::Journal(JournalOutput::BeginCheckpoint)).count();
    assert_eq!(begun, 1, "one at a time: {all:?}");
    let mut chunks = 0;
    loop {
        node.handle(NOW, NodeInput::Journal(JournalInput::ChunkTaken));
        let next = outputs(&mut node, None);
        match next.as_slice() {
            [NodeOutput::Journal(JournalOutput::CheckpointChunk(_))] => chunks += 1,
            [NodeOutput::Journal(JournalOutput::FinishCheckpoint)] => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(chunks > 0);
    node.handle(NOW, NodeInput::Journal(JournalInput::CheckpointFinished { bytes_since_checkpoint: 0 }));
    assert_eq!(outputs(&mut node, None), []);
}

/// Does what the journal's thread does, turn after turn.
fn perform(node: &mut Node, journal: &mut Journal<MemoryDisk>) {
    perform_in_a_turn(node, journal);
    while is_due(node) {
        node.on_deadline(NOW);
        perform_in_a_turn(node, journal);
    }
}

fn perform_in_a_turn(node: &mut Node, journal: &mut Journal<MemoryDisk>) {
    while let Some(output) = node.poll() {
        let news = match output {
            NodeOutput::Message(..)
            | NodeOutput::Close(_)
            | NodeOutput::Blobs(..)
            | NodeOutput::Access(..)
            | NodeOutput::ToSweeper(..)
            | NodeOutput::Tracking(_)
            | NodeOutput::Centre(_) => {
                continue;
            }
            NodeOutput::Journal(JournalOutput::Append(record)) => {
                journal.append(&record).expect("short");
                continue;
            }
            NodeOutput::Journal(JournalOutput::Sync) => {
                let through = journal.sync().expect("the disk works");
                NodeInput::Journal(JournalInput::Synced {
                    through,
                    bytes_since_checkpoint: journal.journal_bytes_since_checkpoint(),
                })
            }
            NodeOutput::Journal(JournalOutput::BeginCheckpoint) => {
                journal.begin_checkpoint().expect("one at a time");
                NodeInput::Journal(JournalInput::ChunkTaken)
            }
            NodeOutput::Journal(JournalOutput::CheckpointChunk(chunk)) => {
                journal.checkpoint_chunk(&chunk).expect("short");
                NodeInput::Journal(JournalInput::ChunkTaken)
            }
            NodeOutput::Journal(JournalOutput::FinishCheckpoint) => {
                journal.finish_checkpoint().expect("it was begun");
                NodeInput::Journal(JournalInput::CheckpointFinished { bytes_since_checkpoint: 0 })
            }
        };
        node.handle(NOW, news);
    }
}

#[test]
fn what_only_a_checkpoint_holds_is_there_after_a_restart() {
    let open = |disk| Journal::open(disk, Options::default(), Incarnation(2)).expect("whole");
    let (mut journal, _) = open(MemoryDisk::new());
    let mut node = node(1);
    perform(&mut node, &mut journal);
    greet(&mut node);
    perform(&mut node, &mut journal);
    let (_, recovery) = open(journal.into_disk());
    let is_commit = |record: &[u8]| matches!(JournalRecord::decode(record), Ok(JournalRecord::Completed(_)));
    assert!(!recovery.records.iter().any(|record| is_commit(&record.bytes)), "the checkpoint replaced it");
    let replica = recover_alone(&recovery, Retention::default()).expect("its own journal");
    let first_version = RowKey::new(&[Value::Int(1)]).expect("short");
    assert!(replica.versions().row(Catalog::table(), &first_version).is_some());
}

#[test]
fn the_page_names_every_input_and_output() {
    let page = include_str!("../../../../docs/protocols/node.md");
    let [node, front, store] = [include_str!("../node.rs"), include_str!("../front.rs"), include_str!("../store.rs")];
    for (kind, code) in [
        ("NodeInput", node),
        ("NodeOutput", node),
        ("FrontInput", front),
        ("FrontOutput", front),
        ("StoreInput", store),
        ("StoreOutput", store),
        ("JournalInput", store),
        ("JournalOutput", store),
    ] {
        let (_, rest) = code.split_once(&format!("pub enum {kind} {{")).expect("it is there");
        let (body, _) = rest.split_once("\n}").expect("it ends");
        let variants = body
            .lines()
            .filter_map(|line| line.strip_prefix("    "))
            .filter(|line| line.starts_with(char::is_uppercase));
        let names: Vec<&str> = variants
            .map(|line| line.split(|letter: char| !letter.is_alphanumeric()).next().expect("a first part"))
            .collect();
        assert!(names.len() >= 2, "{names:?}");
        for name in names {
            assert!(page.contains(&format!("| `{name}` |")), "the page lacks {name}");
        }
    }
    assert!(page.contains("64 MiB") && page.contains("256 KiB"));
    assert_eq!((Checkpoints::CHUNK_BYTES, crate::ServerSettings::new("").checkpoint_bytes_min), (256 << 10, 64 << 20));
}
