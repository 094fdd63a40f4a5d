//! Ten times more than a cluster serves at one time: of connections, of mutations of a session, and of a gateway's proposals. What is too much is refused by
//! name or waits outside, memory stays bounded, and everybody is served meanwhile and afterwards.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use iolite_host::allow_all_open_files;
use iolite_values::{
    Attempt, Cell, ClientId, Counter, Decision, Id, LaneNumber, Level, Operation, RowKey, TableId, Timestamp,
    TransactionId, Value, Write,
};
use iolite_wire::message::{FromClient, FromGateway, GoodbyeReason, Hello, Submit};
use iolite_wire::node::{Ask, Effect, Proposal, ProposalId, ReplicaId, ShardId};
use tokio::net::TcpStream;

use super::hostile_node::{GATEWAY, GATEWAY_NAME, HostileNode, Says};
use super::witness::{Witness, resident_bytes, runs_quietly, schema, until_metric};
use crate::support::local::{Folder, Local, PATIENCE, PROGRAM};
use crate::support::raw_session::{RawSession, hello};

const SESSIONS: u64 = 8;
/// Ten times what a session may have open.
const SUBMITS: u64 = 2560;
/// Of a gateway that says nothing more of them.
const PROPOSALS: u64 = 3_000;
/// Below what replicas follow.
const CLOCK_AHEAD: Duration = Duration::from_secs(5);
/// Of a gateway that is allowed so many, and so has fewer connections.
const FILES_MAX: usize = 200;
const COMES_IN_WITHIN: Duration = Duration::from_secs(2);
const MEMORY_GROWS_MAX: usize = 160 << 20;

/// Of what the witness does not look at.
fn write(client: u64, counter: u64) -> Write {
    let row = RowKey::new(&[Value::from(format!("{client}.{counter}"))]).expect("short");
    Write { cell: Cell::row(TableId::of("floods"), row), operation: Operation::Create }
}

fn submit(client: u64, counter: u64) -> Submit {
    Submit {
        counter: Counter(counter),
        attempt: Attempt(1),
        snapshot: Timestamp::ZERO,
        reads: Vec::new(),
        decision: Decision::Commit(vec![write(client, counter)]),
        acknowledged: None,
        lane: LaneNumber::STRONG,
        follows: None,
    }
}

/// As the gateways of the cluster make them, each a microsecond after the one before. Their clock is ahead of others', so that none comes too late.
fn proposals() -> Vec<Ask> {
    let ahead = UNIX_EPOCH.elapsed().expect("it is after 1970") + CLOCK_AHEAD;
    let ahead = u64::try_from(ahead.as_micros()).expect("it is before 2112");
    let one = |counter| {
        let transaction = TransactionId { client: ClientId(Id::from_u128(4000)), counter: Counter(counter) };
        let at = Timestamp::new(ahead + counter, GATEWAY);
        let proposal = Proposal {
            id: ProposalId { at, transaction, attempt: Attempt(1) },
            participants: [ShardId(0)].into(),
            snapshot: Timestamp::ZERO,
            reads: Vec::new(),
            level: Level::Strict,
            effect: Effect::Commit([write(4000, counter)].into()),
            is_home: true,
        };
        Ask::Prepare { proposal: Arc::new(proposal), after: None }
    };
    (1..=PROPOSALS).map(one).collect()
}

/// Submits all at once, and says how the gateway ended that.
async fn flood(url: String, token: String, number: u64) -> GoodbyeReason {
    let mut session = RawSession::connect(&url).await;
    let client = ClientId(Id::from_u128(u128::from(1000 + number)));
    session.say(&FromClient::Hello(Hello { client, ..hello(&token, schema().hash()) })).await;
    assert!(matches!(session.hear().await, Some(FromGateway::Welcome(_))));
    for counter in 1..=SUBMITS {
        session.say(&FromClient::Submit(submit(number, counter))).await;
    }
    loop {
        match session.hear().await {
            Some(FromGateway::Goodbye(goodbye)) => {
                assert!(!goodbye.message.is_empty());
                return goodbye.reason;
            }
            Some(_) => {}
            None => panic!("it is closed without a word"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_submit_ten_times_what_they_may_are_told_so_and_others_are_served() {
    let folder = Folder::new("attack-submits");
    let cluster = Local::start(&folder.0, 1, 3, 1);
    let mut witness = Witness::arrive(&cluster).await;
    let nodes = ["gateway-0", "store-0", "store-1", "store-2"];
    let before = nodes.map(|node| resident_bytes(&cluster, node));
    let floods = (0..SESSIONS).map(|number| tokio::spawn(flood(cluster.sync_url(0), cluster.token(), number)));
    let floods: Vec<_> = floods.collect();
    for _ in 0..10 {
        witness.works().await;
    }
    for flood in floods {
        assert_eq!(flood.await.expect("it did not panic"), GoodbyeReason::Limit);
    }
    witness.finds_all(&cluster).await;
    for (node, before) in nodes.into_iter().zip(before) {
        let after = resident_bytes(&cluster, node);
        println!("{node}: {before} bytes before, {after} after");
        assert!(after < before + MEMORY_GROWS_MAX, "{node}: {before} bytes before, {after} after");
    }
    runs_quietly(&cluster, 60);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_proposes_without_end_and_decides_nothing_keeps_nobody_waiting() {
    let folder = Folder::new("attack-proposals");
    let cluster = Local::start(&folder.0, 1, 3, 1);
    let mut witness = Witness::arrive(&cluster).await;
    let nodes = ["gateway-0", "store-0", "store-1", "store-2"];
    let before = nodes.map(|node| resident_bytes(&cluster, node));
    let proposals = proposals();
    let mut says = Says::new(cluster.cluster.layout().expect("it is there").store);
    let mut floods = Vec::new();
    for victim in [0, 1, 2].map(ReplicaId) {
        let node = HostileNode::arrive(&cluster, GATEWAY_NAME, victim).await;
        for ask in &proposals {
            node.say(says.plainly(ask.clone()).encode().expect("it has a shape"));
        }
        floods.push(node);
    }
    until_metric(&cluster, "store-0", "iolite_replica_undecided", 1000).await;
    for _ in 0..10 {
        witness.works().await;
    }
    // The gateway that is there finds what the other one left, and ends it.
    let begun = Instant::now();
    while nodes[1..].iter().any(|store| cluster.metric(store, "iolite_replica_undecided") > 0) {
        assert!(begun.elapsed() < PATIENCE, "{}", cluster.metrics("store-0"));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    witness.finds_all(&cluster).await;
    for (node, before) in nodes.into_iter().zip(before) {
        let after = resident_bytes(&cluster, node);
        println!("{node}: {before} bytes before, {after} after");
        assert!(after < before + MEMORY_GROWS_MAX, "{node}: {before} bytes before, {after} after");
    }
    runs_quietly(&cluster, 60);
}

#[tokio::test]
async fn ten_times_more_connections_than_a_gateway_takes_wait_outside_and_are_served_later() {
    allow_all_open_files();
    let folder = Folder::new("attack-connections");
    let mut cluster = Local::start(&folder.0, 1, 3, 1);
    cluster.kill(&["gateway-0"]);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("ulimit -n {FILES_MAX} && exec \"$0\" \"$@\"")).arg(PROGRAM);
    cluster.start_one_by("gateway-0", shell);
    let mut witness = Witness::arrive(&cluster).await;
    let before = resident_bytes(&cluster, "gateway-0");
    let url = cluster.sync_url(0);
    let address = url.trim_start_matches("ws://").trim_end_matches("/sync").to_owned();
    let tries = (0..10 * FILES_MAX).map(|_| {
        let address = address.clone();
        // The operating system keeps some for the gateway, and lets no more in.
        tokio::spawn(async move { tokio::time::timeout(COMES_IN_WITHIN, TcpStream::connect(address)).await })
    });
    let mut silent = Vec::new();
    for one in tries.collect::<Vec<_>>() {
        if let Ok(socket) = one.await.expect("it did not panic") {
            silent.push(socket.expect("it listens"));
        }
    }
    assert!(silent.len() > FILES_MAX / 2, "only {} came in", silent.len());
    // Who was there before is served.
    for _ in 0..10 {
        witness.works().await;
    }
    let after = resident_bytes(&cluster, "gateway-0");
    println!("gateway-0 with {} connections: {before} bytes before, {after} with them", silent.len());
    assert!(after < before + MEMORY_GROWS_MAX, "{before} bytes before, {after} after");
    drop(silent);
    witness.finds_all(&cluster).await;
    runs_quietly(&cluster, 60);
}
