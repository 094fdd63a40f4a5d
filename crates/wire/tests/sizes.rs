//! How many bytes typical messages take, WebSocket headers included. `cargo test -p iolite-wire --test sizes -- --nocapture` prints
//! the table. Sizes depend on nothing but the messages, so they are asserted.

#![expect(clippy::disallowed_macros, reason = "it prints a table")]

use std::time::Duration;

use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, Counter, Decision, Id, Interest, KeyRange, LaneNumber, Operation, RowKey,
    SchemaHash, StoreIncarnation, TableId, Timestamp, Value, Write,
};
use iolite_wire::message::{
    Advance, FromClient, FromGateway, Hello, Outcome, ProtocolVersion, Resume, Submit, Subscribe, SubscriptionId,
    Verdict,
};
use iolite_wire::{SessionEncoder, SessionMessage};

/// The header of a client's frame: 2 bytes, 2 more past 125 bytes, and 4 of mask.
fn up(payload: usize) -> usize {
    payload + if payload < 126 { 6 } else { 8 }
}

fn down(payload: usize) -> usize {
    payload + if payload < 126 { 2 } else { 4 }
}

fn time(micros: u64) -> Timestamp {
    Timestamp::from_u64((1_800_000_000_000_000 + micros) << 12 | 1)
}

fn increment() -> Write {
    let row = RowKey::new(&[Value::from("clicks")]).expect("short");
    let cell = Cell { table: TableId::of("counters"), row, column: ColumnId::of("total") };
    Write { cell, operation: Operation::Add(1) }
}

fn submit(counter: u64, reads: bool) -> FromClient {
    let write = increment();
    let reads = if reads { vec![write.operation.target(&write.cell)] } else { Vec::new() };
    FromClient::Submit(Submit {
        counter: Counter(counter),
        attempt: Attempt(1),
        snapshot: time(counter * 5_000),
        reads,
        decision: Decision::Commit(vec![write]),
        acknowledged: Some(Counter(counter - 1)),
        lane: LaneNumber::STRONG,
        follows: None,
    })
}

/// After a round of 5 milliseconds; the commit is 700 microseconds before the resolved timestamp, which another coordinator ends.
fn advance(counter: u64, outcome: bool) -> FromGateway {
    let to = Timestamp::end_of(time(counter * 5_000).micros());
    let committed = time(counter * 5_000 - 700);
    let outcome = outcome.then_some(Outcome {
        counter: Counter(counter),
        attempt: Attempt(1),
        verdict: Verdict::Committed(committed),
    });
    let outcomes = outcome.into_iter().collect();
    FromGateway::Advance(Advance { to, changes: vec![increment()], outcomes, ..Advance::default() })
}

fn hello() -> FromClient {
    FromClient::Hello(Hello {
        oldest_version: ProtocolVersion::OLDEST_SUPPORTED,
        newest_version: ProtocolVersion::CURRENT,
        token: "0123456789abcdef0123456789abcdef".into(),
        client: ClientId(Id::from_u128(u128::MAX)),
        schema: SchemaHash([1; 16]),
        resume: Some(Resume { store: StoreIncarnation(Id::from_u128(u128::MAX)), at: time(0), rights: None }),
        acknowledged: Counter(2000),
        centre_token: None,
        batch: Duration::ZERO,
    })
}

fn subscribe() -> FromClient {
    let cell = Interest::Cell(increment().cell);
    let all = Interest::Range { table: TableId::of("counters"), range: KeyRange::all() };
    FromClient::Subscribe(Subscribe {
        held: false,
        interests: vec![(SubscriptionId(1), cell), (SubscriptionId(2), all)],
        first: Default::default(),
    })
}

/// Payload bytes of the last message, when the others went before.
fn last<M: SessionMessage>(messages: &[M]) -> usize {
    let mut encoder = SessionEncoder::new();
    let frames = messages.iter().map(|message| encoder.encode(message).expect("small").len());
    frames.last().expect("messages")
}

#[test]
fn typical_messages_are_small() {
    let table = [
        ("hello that resumes, token of 32 bytes", up(last(&[hello()])), 114),
        ("subscribe to a cell and a table", up(last(&[subscribe()])), 45),
        ("first increment, cell named", up(last(&[submit(1000, false)])), 48),
        ("further increment", up(last(&[submit(1000, false), submit(1001, false)])), 21),
        ("further increment that read the cell", up(last(&[submit(1000, true), submit(1001, true)])), 23),
        ("acknowledge alone", up(last(&[FromClient::Acknowledge(Counter(1000))])), 9),
        ("ping", up(last(&[FromClient::Ping(9)])), 8),
        ("applied, again", up(last(&[FromClient::Applied(time(1000)), FromClient::Applied(time(1001))])), 10),
        ("first advance, cell named", down(last(&[advance(1000, true)])), 49),
        ("further advance with the outcome", down(last(&[advance(1000, true), advance(1001, true)])), 23),
        ("further advance of another reader", down(last(&[advance(1000, false), advance(1001, false)])), 12),
        ("pong", down(last(&[FromGateway::Pong(9)])), 4),
    ];
    println!("{:<42}{:>7}{:>7}", "message", "bytes", "most");
    for (name, bytes, most) in table {
        println!("{name:<42}{bytes:>7}{most:>7}");
    }
    for (name, bytes, most) in table {
        assert!(bytes <= most, "{name}: {bytes} bytes");
    }
}

/// The aim of the design: one client increments with one mutation outstanding, and another reads.
#[test]
fn an_increment_takes_at_most_60_bytes_up_and_50_down() {
    let up = up(last(&[submit(1000, true), submit(1001, true)]));
    let writer = down(last(&[advance(1000, true), advance(1001, true)]));
    let reader = down(last(&[advance(1000, false), advance(1001, false)]));
    assert!(up <= 60 && writer + reader <= 50, "{up} up, {writer} + {reader} down");
}
