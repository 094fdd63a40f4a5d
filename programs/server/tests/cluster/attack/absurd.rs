//! Nodes with good certificates that say what no node would: frames that are none, numbers at their ends, other histories, shards and epochs.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use iolite_host::LinkEvent;
use iolite_replication::{Place, split_write};
use iolite_store::{ConfigurationFault, ReadLimit, Refusal};
use iolite_values::{
    Attempt, Cell, ClientId, CoordinatorId, Counter, Id, Interest, KeyRange, Level, Operation, RowKey,
    StoreIncarnation, TableId, Timestamp, TransactionId, Value, Write,
};
use iolite_wire::node::{
    Answer, Ask, Ballot, BetweenReplicas, Detail, Effect, Epoch, FromReplica, Group, Objection, Outcome, Peer,
    Proposal, ProposalId, RecordPart, ReplicaId, ShardId, Split, Term, ToReplica, View, Vote,
};

use super::hostile_node::{GATEWAY, GATEWAY_NAME, HostileNode, Says};
use super::witness::{Witness, resident_bytes, runs_quietly};
use crate::support::local::{Folder, Local};
use crate::support::mutation::{Random, mutate};

const MEMORY_GROWS_MAX: usize = 64 << 20;

fn golden() -> Vec<Vec<u8>> {
    let pages = [
        include_str!("../../../../../crates/wire/golden/ask_close.hex"),
        include_str!("../../../../../crates/wire/golden/ask_prepare.hex"),
        include_str!("../../../../../crates/wire/golden/ask_finalise.hex"),
        include_str!("../../../../../crates/wire/golden/ask_outcome.hex"),
        include_str!("../../../../../crates/wire/golden/ask_read_at.hex"),
        include_str!("../../../../../crates/wire/golden/ask_resolved.hex"),
    ];
    let lines = pages.iter().flat_map(|page| page.lines()).filter(|line| !line.starts_with('#'));
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("two digits");
    lines.map(|line| line.as_bytes().chunks(2).map(byte).collect()).collect()
}

/// A proposal at the end of time, of nobody.
fn proposal() -> Proposal {
    let transaction = TransactionId { client: ClientId(Id::from_u128(u128::MAX)), counter: Counter(u64::MAX) };
    let row = RowKey::new(&[Value::from("absurd")]).expect("short");
    let write = Write { cell: Cell::row(TableId::of("marks"), row), operation: Operation::Create };
    Proposal {
        id: ProposalId { at: Timestamp::MAX, transaction, attempt: Attempt(u32::MAX) },
        participants: [ShardId(0), ShardId(u32::MAX)].into(),
        snapshot: Timestamp::MAX,
        reads: Vec::new(),
        level: Level::Strict,
        effect: Effect::Commit([write].into()),
        is_home: true,
    }
}

/// Numbers at their ends, where everything else is as it should be.
fn absurd_asks() -> Vec<Ask> {
    let (end, absurd) = (Timestamp::MAX, proposal());
    let ballot = Ballot { number: u32::MAX, by: GATEWAY, term: Term(u32::MAX) };
    let (id, whole) = (absurd.id, Arc::new(absurd));
    let everything = Interest::Range { table: TableId::of("marks"), range: KeyRange::all() };
    let client = ClientId(Id::from_u128(u128::MAX));
    let group = |shard, epoch| Group::new(ShardId(shard), Epoch(epoch), &[ReplicaId(u64::MAX)]).expect("one");
    let view = View::default();
    vec![
        Ask::Prepare { proposal: whole.clone(), after: None },
        Ask::Prepare { proposal: whole.clone(), after: Some(id) },
        Ask::Finalise { id, view, ballot, vote: Vote::Ok, proposal: Some(whole.clone()) },
        Ask::Finalise { id, view, ballot: Ballot::FIRST, vote: Vote::No, proposal: None },
        Ask::Poll { id, ballot },
        Ask::Outcome { id, outcome: Outcome::Committed, proposal: Some(whole) },
        Ask::Outcome { id, outcome: Outcome::Aborted, proposal: None },
        Ask::Close { through: end, cursor: end, settled: end, detail: Detail::Whole },
        Ask::Close { through: end, cursor: Timestamp::ZERO, settled: end, detail: Detail::Names },
        Ask::Resolved { from: Timestamp::ZERO, through: end, commits: [].into() },
        Ask::Resolved { from: end, through: end, commits: [id].into() },
        Ask::ReadAt { interest: everything.clone(), at: end, limit: ReadLimit::NONE, looks: usize::MAX },
        Ask::Changes { interests: vec![everything; 100], after: Timestamp::ZERO, through: end },
        Ask::Validate { snapshot: end, reads: [].into() },
        Ask::Acknowledge { client, through: Counter(u64::MAX) },
        Ask::Configured { group: group(0, u32::MAX) },
        Ask::Configured { group: group(0, 0) },
        Ask::Configured { group: group(u32::MAX, 1) },
    ]
}

/// The same question of the wrong place, life and time.
fn misplaced(says: &mut Says) -> Vec<ToReplica> {
    let last = View { epoch: Epoch(u32::MAX), number: u32::MAX };
    let own_epoch = View { epoch: Epoch(0), number: u32::MAX };
    vec![
        ToReplica { store: Some(StoreIncarnation(Id::from_u128(1))), ..says.close() },
        ToReplica { store: None, ..says.close() },
        ToReplica { shard: ShardId(u32::MAX), ..says.close() },
        ToReplica { view: last, ..says.close() },
        ToReplica { view: own_epoch, ..says.close() },
        ToReplica { term: Term(u32::MAX), ..says.plainly(Ask::Begin) },
        ToReplica { term: Term(u32::MAX), ..says.close() },
        ToReplica { term: Term(0), ..says.plainly(Ask::Begin) },
    ]
}

#[tokio::test]
async fn a_gateway_that_says_absurd_things_moves_nobody() {
    let folder = Folder::new("attack-absurd");
    let mut cluster = Local::start(&folder.0, 1, 3, 1);
    let mut witness = Witness::arrive(&cluster).await;
    let before = resident_bytes(&cluster, "store-0");
    let mut says = Says::new(cluster.cluster.layout().expect("it is there").store);
    for victim in [0, 1, 2] {
        let node = HostileNode::arrive(&cluster, GATEWAY_NAME, ReplicaId(victim)).await;
        for ask in absurd_asks() {
            let message = says.plainly(ask);
            node.say(message.encode().expect("it has a shape"));
            witness.works().await;
        }
        for message in misplaced(&mut says) {
            node.say(message.encode().expect("it has a shape"));
            witness.works().await;
        }
    }
    witness.finds_all(&cluster).await;
    let after = resident_bytes(&cluster, "store-0");
    assert!(after < before + MEMORY_GROWS_MAX, "{before} bytes before, {after} after");
    runs_quietly(&cluster, 60);
    for node in ["store-0", "store-1", "store-2"] {
        assert!(cluster.metric(node, "iolite_replica_absurd_total") > 5, "{}", cluster.metrics(node));
    }
    // What it left in journals and records harms nobody later, either.
    cluster.kill(&[]);
    cluster.start_all();
    witness.finds_all(&cluster).await;
}

#[tokio::test]
async fn a_replica_of_nowhere_that_says_absurd_things_moves_nobody() {
    let folder = Folder::new("attack-nowhere");
    let cluster = Local::start(&folder.0, 1, 3, 1);
    let mut witness = Witness::arrive(&cluster).await;
    let store = cluster.cluster.layout().expect("it is there").store;
    let view = View { epoch: Epoch(0), number: u32::MAX };
    let part = RecordPart { complete: Timestamp::MAX, barrier: Timestamp::MAX, ..RecordPart::empty(view) };
    let peers = [
        Peer::StartViewChange { view },
        Peer::DoViewChange { last_normal: view, part: part.clone() },
        Peer::StartView { part },
        Peer::Fetch { after: Timestamp::ZERO },
        Peer::Segment { after: Timestamp::ZERO, through: Timestamp::MAX, commits: Vec::new() },
        Peer::FetchState { place: vec![0xff; 1000] },
        Peer::FetchedTooOld,
        Peer::Begun { view },
    ];
    for victim in [0, 1, 2].map(ReplicaId) {
        let node = HostileNode::arrive(&cluster, "store-99", victim).await;
        for epoch in [0, 1, u32::MAX].map(Epoch) {
            for peer in peers.clone() {
                let from = ReplicaId(99);
                let message = BetweenReplicas { from, to: victim, store, shard: ShardId(0), epoch, peer };
                node.say(message.encode().expect("it has a shape"));
            }
            witness.works().await;
        }
    }
    witness.finds_all(&cluster).await;
    runs_quietly(&cluster, 60);
}

/// A proposal of this moment to end the cluster's first shard there.
fn divide(parent: &Group, at: Place, counter: u64) -> Ask {
    let part = |number: u32| Group::new(ShardId(number), Epoch(0), &[ReplicaId(number.into())]).expect("one replica");
    let split = Split::new(parent.clone(), (at.table, at.key), part(98), part(99)).expect("nobody is in two");
    let now = UNIX_EPOCH.elapsed().expect("it is after 1970").as_micros();
    let now = u64::try_from(now).expect("it is before 2112");
    let transaction = TransactionId { client: ClientId(Id::from_u128(0)), counter: Counter(counter) };
    let proposal = Proposal {
        id: ProposalId { at: Timestamp::new(now, GATEWAY), transaction, attempt: Attempt(1) },
        participants: [ShardId(0)].into(),
        snapshot: Timestamp::ZERO,
        effect: Effect::Commit([split_write(&split)].into()),
        ..proposal()
    };
    Ask::Prepare { proposal: Arc::new(proposal), after: None }
}

#[tokio::test]
async fn a_split_at_a_place_outside_of_the_shard_is_refused_by_every_replica() {
    let folder = Folder::new("attack-split");
    let cluster = Local::start(&folder.0, 2, 3, 1);
    let mut witness = Witness::arrive(&cluster).await;
    let layout = cluster.cluster.layout().expect("it is there");
    let extent = layout.shards.extent(ShardId(0)).expect("it has rows");
    let parent = layout.shards.group(ShardId(0)).expect("somebody keeps it");
    let end = extent.until.expect("another shard follows");
    let mut says = Says::new(layout.store);
    for victim in parent.members() {
        let mut node = HostileNode::arrive(&cluster, GATEWAY_NAME, *victim).await;
        for (place, counter) in [(extent.from.clone(), 1), (end.clone(), 2)] {
            node.say(says.plainly(divide(parent, place, counter)).encode().expect("it has a shape"));
            let LinkEvent::Message(answer) = node.next().await else { panic!("it is cut off") };
            let answer = FromReplica::decode(&answer).expect("it is an answer").answer;
            let Answer::Voted(voted) = answer else { panic!("{answer:?}") };
            let outside = Refusal::Configuration(ConfigurationFault::Outside);
            assert_eq!(voted.objection, Some(Objection::Refused(outside)));
        }
        witness.works().await;
    }
    witness.finds_all(&cluster).await;
    runs_quietly(&cluster, 60);
}

#[tokio::test]
async fn frames_that_are_no_messages_or_in_anothers_name_cut_their_link_only() {
    let folder = Folder::new("attack-frames-of-nodes");
    let cluster = Local::start(&folder.0, 1, 3, 1);
    let mut witness = Witness::arrive(&cluster).await;
    let before = resident_bytes(&cluster, "store-0");
    let mut node = HostileNode::arrive(&cluster, GATEWAY_NAME, ReplicaId(0)).await;
    let mut says = Says::new(StoreIncarnation::default());
    let forged = ToReplica { from: CoordinatorId::default(), ..says.close() };
    node.is_cut_off_by(forged.encode().expect("it has a shape")).await;
    let golden = golden();
    assert!(golden.len() >= 7, "frames were read");
    let mut random = Random::new(4711);
    // Some are messages after all, of another history or in the name of another gateway; none is the witness's.
    for _ in 0..2000 {
        let mut frame = golden[random.below(golden.len())].clone();
        mutate(&mut frame, &golden, &mut random);
        node.say(frame);
    }
    node.is_cut_off_by(vec![0xff; 1 << 20]).await;
    witness.finds_all(&cluster).await;
    let after = resident_bytes(&cluster, "store-0");
    assert!(after < before + MEMORY_GROWS_MAX, "{before} bytes before, {after} after");
    runs_quietly(&cluster, 200);
}
