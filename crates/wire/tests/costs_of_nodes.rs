//! What frequent messages between nodes take: bytes, which are asserted, and time, which is printed by
//! `cargo test --release -p iolite-wire --test costs_of_nodes -- --ignored --nocapture`.

#![expect(clippy::disallowed_macros, clippy::disallowed_types, reason = "it prints a table of what it measured")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use iolite_store::Commit;
use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, CoordinatorId, Counter, Element, Id, Level, Operation, Read, RowKey,
    StoreIncarnation, TableId, Timestamp, TransactionId, Value, Write,
};
use iolite_wire::node::{
    Answer, Ask, Ballot, Boot, Closed, Detail, Effect, Epoch, FromReplica, Life, MessageId, Outcome, Proposal,
    ProposalId, ReplicaId, ShardId, Term, ToReplica, View, Vote, Voted,
};

fn time(micros: u64) -> Timestamp {
    Timestamp::new(1_800_000_000_000_000 + micros, CoordinatorId::new(3).expect("small"))
}

fn cell(number: i64) -> Cell {
    let row = RowKey::new(&[Value::Int(number)]).expect("short");
    Cell { table: TableId::of("accounts"), row, column: ColumnId::of("balance") }
}

/// One of many clients, 300 microseconds after the one before.
fn name(number: u64, clients: u64) -> ProposalId {
    let client = ClientId(Id::from_u128(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834 ^ u128::from(number % clients)));
    let transaction = TransactionId { client, counter: Counter(1000 + number / clients) };
    ProposalId { at: time(number * 275), transaction, attempt: Attempt(1) }
}

fn names(clients: u64) -> Vec<ProposalId> {
    (0..20).map(|number| name(number, clients)).collect()
}

fn view() -> View {
    View { epoch: Epoch(1), number: 4 }
}

fn message_id() -> MessageId {
    MessageId { life: Life(0x0123_4567_89ab_cdef), number: 100_000 }
}

fn store() -> StoreIncarnation {
    StoreIncarnation(Id::from_u128(u128::MAX / 3))
}

fn asks(ask: Ask) -> ToReplica {
    let (from, store) = (CoordinatorId::new(3).expect("small"), Some(store()));
    ToReplica { from, term: Term(2), id: message_id(), store, shard: ShardId(1), view: view(), ask }
}

fn answers(answer: Answer) -> FromReplica {
    FromReplica {
        to: CoordinatorId::new(3).expect("small"),
        from: ReplicaId(2),
        shard: ShardId(1),
        id: message_id(),
        boot: Boot(0xfedc_ba98_7654_3210),
        store: store(),
        view: view(),
        highest: time(9_000),
        limit: time(10_000_000),
        answer,
    }
}

/// Three cells are read and written, with 64 bytes each.
fn proposal() -> Arc<Proposal> {
    let reads = (0..3).map(|number| Read::Cell { cell: cell(number), element: Element::Whole }).collect();
    let put = |number| Write { cell: cell(number), operation: Operation::Put(Value::bytes(vec![7; 64])) };
    let effect = Effect::Commit((0..3).map(put).collect());
    let participants = [ShardId(1)].into();
    Arc::new(Proposal {
        id: name(1, 20),
        participants,
        snapshot: time(0),
        reads,
        level: Level::Strict,
        effect,
        is_home: true,
    })
}

fn closed(clients: u64) -> Closed {
    Closed {
        through: time(6_000),
        barrier: time(6_500),
        latest: time(5_700),
        complete: time(0),
        undecided: Vec::new(),
        aborted: Vec::new(),
        committed: names(clients),
        given_up: Vec::new(),
        commits: Vec::new(),
    }
}

fn whole() -> Closed {
    let commits = names(20).into_iter().map(|id| {
        let put = |number| Write { cell: cell(number), operation: Operation::Put(Value::bytes(vec![7; 64])) };
        Commit { at: id.at, transaction: id.transaction, writes: (0..3).map(put).collect() }
    });
    Closed { commits: commits.collect(), ..closed(20) }
}

/// A message with its name, and the most bytes that it may have.
fn to_replica() -> Vec<(&'static str, ToReplica, usize)> {
    let id = name(1, 20);
    let (through, cursor, settled) = (time(6_000), time(0), time(0));
    let finalise = Ask::Finalise { id, view: view(), ballot: Ballot::FIRST, vote: Vote::Ok, proposal: None };
    vec![
        ("Prepare of 3 reads and 3 writes of 64 bytes", asks(Ask::Prepare { proposal: proposal(), after: None }), 358),
        ("Finalise", asks(finalise), 77),
        ("Outcome", asks(Ask::Outcome { id, outcome: Outcome::Committed, proposal: None }), 77),
        ("Close", asks(Ask::Close { through, cursor, settled, detail: Detail::Names }), 56),
        ("Resolved, 20 names of 20 clients", asks(resolved(20)), 579),
        ("Resolved, 20 names of 1 client", asks(resolved(1)), 275),
    ]
}

fn resolved(clients: u64) -> Ask {
    Ask::Resolved { from: time(0), through: time(6_000), commits: names(clients).into() }
}

fn from_replica() -> Vec<(&'static str, FromReplica, usize)> {
    let (finalised, promised, outcome, objection, proposal) = (None, Ballot::FIRST, None, None, None);
    let voted = Voted { view: view(), vote: Vote::Ok, finalised, promised, outcome, objection, proposal };
    let closed = |closed| answers(Answer::Closed(Ok(closed)));
    vec![
        ("Voted", answers(Answer::Voted(voted)), 69),
        ("Closed, nothing", closed(Closed { committed: Vec::new(), ..self::closed(1) }), 82),
        ("Closed, 20 names of 20 clients", closed(self::closed(20)), 600),
        ("Closed, 20 names of 1 client", closed(self::closed(1)), 296),
        ("Closed, 20 commits of 3 writes", closed(whole()), 4987),
    ]
}

#[test]
fn frequent_messages_are_small() {
    let sizes = |name, bytes: Vec<u8>, most| (name, bytes.len(), most);
    let to = to_replica().into_iter().map(|(name, message, most)| sizes(name, message.encode().expect("small"), most));
    let from =
        from_replica().into_iter().map(|(name, message, most)| sizes(name, message.encode().expect("small"), most));
    let table: Vec<_> = to.chain(from).collect();
    println!("{:<46}{:>7}{:>7}", "message", "bytes", "most");
    for (name, bytes, most) in &table {
        println!("{name:<46}{bytes:>7}{most:>7}");
    }
    for (name, bytes, most) in table {
        assert!(bytes <= most, "{name}: {bytes} bytes");
    }
}

const ROUNDS: u32 = 100_000;

fn nanoseconds(mut run: impl FnMut()) -> u128 {
    (0..ROUNDS / 10).for_each(|_| run());
    let start = Instant::now();
    (0..ROUNDS).for_each(|_| run());
    start.elapsed().as_nanos() / u128::from(ROUNDS)
}

#[test]
#[ignore = "measures: seconds, and only in release"]
fn what_encoding_and_decoding_take() {
    println!("{:<46}{:>11}{:>11}", "message", "encode, ns", "decode, ns");
    let mut bytes = Vec::new();
    for (name, message, _) in to_replica() {
        let encode = nanoseconds(|| {
            bytes.clear();
            black_box(&message).encode_into(&mut bytes).expect("small");
        });
        let decode = nanoseconds(|| drop(black_box(ToReplica::decode(black_box(&bytes)))));
        println!("{name:<46}{encode:>11}{decode:>11}");
    }
    for (name, message, _) in from_replica() {
        let encode = nanoseconds(|| {
            bytes.clear();
            black_box(&message).encode_into(&mut bytes).expect("small");
        });
        let decode = nanoseconds(|| drop(black_box(FromReplica::decode(black_box(&bytes)))));
        println!("{name:<46}{encode:>11}{decode:>11}");
    }
}
