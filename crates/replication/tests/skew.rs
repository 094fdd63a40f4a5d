//! What a gateway whose clock is far ahead does to the others: little.

#![expect(clippy::disallowed_macros, reason = "figures are shown to people at a terminal")]

#[path = "skew/stage.rs"]
mod stage;

use std::time::Duration;

use iolite_machine::Instant;
use iolite_store::{CommitReply, Reply, Request, RequestId};
use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, Counter, Decision, Element, Id, Level, Operation, Read, RowKey, TableId,
    Timestamp, Transaction, TransactionId, Value, Write,
};
use stage::{START_MICROS, Stage};

/// From a gateway to a replica.
const DELAY: Duration = Duration::from_millis(5);

const AHEAD_MICROS: i64 = 5_000_000;

fn cell(row: i64) -> Cell {
    Cell { table: TableId(1), row: RowKey::new(&[Value::Int(row)]).unwrap(), column: ColumnId(1) }
}

/// What a client of each gateway does, one transaction after the other.
struct Client {
    counter: u64,
    attempt: u32,
    /// Since when, and what was asked last.
    busy: Option<(Instant, RequestId)>,
    /// It conflicted, and runs again when its gateway has come there.
    wait_for: Timestamp,
    commits: u64,
    conflicts: u64,
    longest: Duration,
}

impl Client {
    fn new() -> Client {
        Client {
            counter: 0,
            attempt: 1,
            busy: None,
            wait_for: Timestamp::ZERO,
            commits: 0,
            conflicts: 0,
            longest: Duration::ZERO,
        }
    }
}

/// Transactions of gateways whose clocks are so far ahead, for some seconds.
fn work(offsets: &[i64]) -> (Stage, Vec<Client>) {
    let mut stage = Stage::new(DELAY);
    for offset in offsets {
        stage.add_gateway(*offset);
    }
    let mut clients: Vec<Client> = offsets.iter().map(|_| Client::new()).collect();
    let end = stage.instant + Duration::from_secs(4);
    while stage.step(end) {
        for (index, id, reply) in stage.replies() {
            take(&mut clients[index], stage.instant, id, reply);
        }
        for (index, client) in clients.iter_mut().enumerate() {
            if client.busy.is_none() && stage.gateways[index].resolved >= client.wait_for {
                submit(&mut stage, index, client);
            }
        }
    }
    (stage, clients)
}

fn submit(stage: &mut Stage, index: usize, client: &mut Client) {
    if client.attempt == 1 {
        client.counter += 1;
    }
    // One row is everybody's and is written blindly; the other one is its own.
    let (row, reads) = match client.counter % 2 {
        1 => (1, Vec::new()),
        _ => (10 + index as i64, vec![Read::Cell { cell: cell(10 + index as i64), element: Element::Whole }]),
    };
    let decision = Decision::Commit(vec![Write { cell: cell(row), operation: Operation::Put(Value::Int(1)) }]);
    let transaction = Transaction {
        id: TransactionId { client: ClientId(Id::from_u128(index as u128 + 1)), counter: Counter(client.counter) },
        attempt: Attempt(client.attempt),
        snapshot: stage.gateways[index].resolved,
        reads,
        decision,
        level: Level::Strict,
    };
    let began = stage.instant;
    let id = stage.request(index, Request::Commit { transaction, floor: Timestamp::ZERO, within: None });
    client.busy = Some((began, id));
}

fn take(client: &mut Client, now: Instant, id: RequestId, reply: Reply) {
    let Some((began, _)) = client.busy.take_if(|(_, asked)| *asked == id) else { return };
    client.longest = client.longest.max(now.since(began));
    match reply {
        Reply::Commit(CommitReply::Completed(completion)) => {
            client.wait_for = completion.at;
            client.commits += 1;
            client.attempt = 1;
        }
        Reply::Commit(CommitReply::Conflict { at_least }) => {
            client.conflicts += 1;
            client.attempt += 1;
            client.wait_for = at_least;
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_gateway_five_seconds_ahead_takes_little_from_the_others() {
    let (_, even) = work(&[0, 0, 0, 0]);
    let (stage, skewed) = work(&[AHEAD_MICROS, 0, 0, 0]);
    for (index, (own, before)) in skewed.iter().zip(&even).enumerate() {
        let figures = |own: &Client| (own.commits, own.conflicts, own.longest);
        println!("gateway {index}: {:?}, without skew {:?}", figures(own), figures(before));
    }
    for (own, before) in skewed.iter().zip(&even).skip(1) {
        assert!(own.commits * 2 >= before.commits, "{} commits instead of {}", own.commits, before.commits);
        assert!(own.conflicts <= before.conflicts * 2 + 10, "{} conflicts, not {}", own.conflicts, before.conflicts);
        assert!(own.longest < Duration::from_millis(200), "one took {:?}", own.longest);
    }
    let elapsed = i64::try_from(stage.instant.as_nanos() / 1_000).unwrap();
    let now = (START_MICROS + elapsed) as u64;
    let ahead = stage.replicas.values().map(|own| own.complete().micros().saturating_sub(now)).max().unwrap();
    println!("timestamps are {} ms ahead of the replicas' clocks", ahead / 1_000);
    assert!(ahead <= 600_000, "timestamps are {ahead} us ahead of the replicas' clocks");
}

/// A write of row 1 that was voted OK, and whose gateway is gone.
fn stage_with_an_orphan() -> Stage {
    let mut stage = Stage::new(DELAY);
    stage.add_gateway(AHEAD_MICROS);
    stage.add_gateway(0);
    submit(&mut stage, 0, &mut Client::new());
    stage.pass(DELAY);
    stage.end_gateway(0);
    stage
}

/// How long a request at the other gateway takes.
fn time_of(stage: &mut Stage, request: Request) -> (Duration, Reply) {
    let began = stage.instant;
    let id = stage.request(1, request);
    let end = began + Duration::from_secs(20);
    while stage.step(end) {
        if let Some((_, _, reply)) = stage.replies().into_iter().find(|(_, own, _)| *own == id) {
            return (stage.instant.since(began), reply);
        }
    }
    panic!("it never ends");
}

fn row_of_the_orphan() -> Read {
    Read::Cell { cell: cell(1), element: Element::Whole }
}

#[test]
fn what_a_gateway_five_seconds_ahead_leaves_behind_blocks_nobody_for_long() {
    let mut stage = stage_with_an_orphan();
    let transaction = Transaction {
        id: TransactionId { client: ClientId(Id::from_u128(9)), counter: Counter(1) },
        attempt: Attempt(1),
        snapshot: stage.gateways[1].resolved,
        reads: Vec::new(),
        decision: Decision::Commit(vec![Write { cell: cell(1), operation: Operation::Put(Value::Int(2)) }]),
        level: Level::Strict,
    };
    let (took, reply) = time_of(&mut stage, Request::Commit { transaction, floor: Timestamp::ZERO, within: None });
    println!("a commit beside an orphan takes {took:?}");
    assert!(matches!(reply, Reply::Commit(CommitReply::Completed(_))), "{reply:?}");
    assert!(took < Duration::from_millis(600), "it took {took:?}");
}

#[test]
fn reads_beside_what_such_a_gateway_leaves_behind_are_told_soon_as_well() {
    let mut stage = stage_with_an_orphan();
    let request = Request::Validate {
        transaction: TransactionId { client: ClientId(Id::from_u128(9)), counter: Counter(1) },
        attempt: Attempt(1),
        snapshot: stage.gateways[1].resolved,
        reads: [row_of_the_orphan()].into(),
        floor: Timestamp::ZERO,
    };
    let (took, _) = time_of(&mut stage, request);
    println!("reads beside an orphan take {took:?}");
    assert!(took < Duration::from_millis(600), "they took {took:?}");
}
