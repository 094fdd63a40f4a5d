//! What clients see of each level of isolation: the anomalies, by their names, of two clients that run on one snapshot.
//!
//! Source: Zhang 2017, Table 3.3. What the store makes of levels: crates/store/src/conformance/levels.rs.

use iolite_values::{Cell, ColumnId, Decision, Element, Interest, Operation, Read, TableId, Timestamp, Value, Write};
use iolite_wire::message::{FromClient, Hello, Submit, Verdict};

use super::real_world::{RealWorld, verdicts};
use super::world::{blind, hello, key, subscribe};

const SCHEMA: &str = r#"{"tables":{
    "strict":{"columns":{"id":{"type":"int"},"n":{"type":"int","default":0}},"key":["id"],"live":true},
    "snapshot":{"columns":{"id":{"type":"int"},"n":{"type":"int","default":0}},"key":["id"],"live":true,"isolation":"snapshot"},
    "committed":{"columns":{"id":{"type":"int"},"n":{"type":"int","default":0}},"key":["id"],"live":true,"isolation":"read-committed"}}}"#;

const TABLES: [&str; 3] = ["strict", "snapshot", "committed"];

fn cell(table: &str, row: i64) -> Cell {
    Cell { table: TableId::of(table), row: key(row), column: ColumnId::of("n") }
}

fn read(table: &str, row: i64) -> Read {
    Read::Cell { cell: cell(table, row), element: Element::Whole }
}

fn put(table: &str, row: i64, value: i64) -> Write {
    Write { cell: cell(table, row), operation: Operation::Put(Value::Int(value)) }
}

/// Two clients, each with a session of its own.
fn world() -> RealWorld {
    let mut world = RealWorld::of(SCHEMA);
    let schema = iolite_values::Schema::from_json(SCHEMA).expect("a good schema").hash();
    world.join(2, Hello { schema, ..hello(2) });
    world.take();
    world
}

/// What becomes of a client's first mutation, that ran on this snapshot.
fn submit(world: &mut RealWorld, session: u64, snapshot: Timestamp, reads: Vec<Read>, writes: Vec<Write>) -> Verdict {
    world.say(
        session,
        FromClient::Submit(Submit { snapshot, reads, decision: Decision::Commit(writes), ..blind(1, vec![]) }),
    );
    let verdicts = verdicts(&world.advances(session));
    let [(1, verdict)] = &verdicts[..] else { panic!("{verdicts:?}") };
    verdict.clone()
}

/// Whether both of two mutations commit that ran on one snapshot.
fn both_commit([one, other]: [(Vec<Read>, Vec<Write>); 2]) -> bool {
    let mut world = world();
    let snapshot = world.gateway.position();
    let first = submit(&mut world, 1, snapshot, one.0, one.1);
    assert!(matches!(first, Verdict::Committed(_)), "{first:?}");
    match submit(&mut world, 2, snapshot, other.0, other.1) {
        Verdict::Committed(_) => true,
        Verdict::Conflict(_) => false,
        other @ (Verdict::Aborted | Verdict::Rejected(_)) => panic!("{other:?}"),
    }
}

/// Both read a cell, and put what they make of it.
#[test]
fn lost_update_happens_at_read_committed_only() {
    let one = |table: &str, value| (vec![read(table, 1)], vec![put(table, 1, value)]);
    assert_eq!(TABLES.map(|table| both_commit([one(table, 1), one(table, 2)])), [false, false, true]);
}

/// Both read two cells, and each puts another one of them.
#[test]
fn write_skew_happens_below_strict_serializability() {
    let one = |table: &str, row| (vec![read(table, 1), read(table, 2)], vec![put(table, row, 1)]);
    assert_eq!(TABLES.map(|table| both_commit([one(table, 1), one(table, 2)])), [false, true, true]);
}

/// One reads what the other one puts, and puts something else.
#[test]
fn a_read_that_is_no_longer_true_stops_strict_transactions_only() {
    let pair = |table: &str| [(vec![], vec![put(table, 1, 1)]), (vec![read(table, 1)], vec![put(table, 2, 1)])];
    assert_eq!(TABLES.map(|table| both_commit(pair(table))), [false, true, true]);
}

/// Neither knows of the other: at the level of a snapshot the second would hide the first.
#[test]
fn blind_puts_run_again_at_the_level_of_a_snapshot_only() {
    let one = |table: &str, value| (vec![], vec![put(table, 1, value)]);
    assert_eq!(TABLES.map(|table| both_commit([one(table, 1), one(table, 2)])), [true, false, true]);
}

#[test]
fn a_transaction_over_two_tables_is_kept_apart_as_the_stricter_one_asks() {
    let skew = |own: &str, other: &str, row| (vec![read(own, 1), read(own, 2), read(other, 9)], vec![put(own, row, 1)]);
    assert!(both_commit([skew("committed", "committed", 1), skew("committed", "committed", 2)]));
    assert!(!both_commit([skew("committed", "strict", 1), skew("committed", "strict", 2)]));
    let update = |other: &str, value| (vec![read("committed", 1), read(other, 9)], vec![put("committed", 1, value)]);
    assert!(!both_commit([update("snapshot", 1), update("snapshot", 2)]));
}

/// Neither dirty reads nor read skew: whoever watches gets all of a transaction in one advance, or nothing.
#[test]
fn half_of_a_transaction_is_seen_at_no_level() {
    for table in TABLES {
        let mut world = world();
        let interests = vec![(1, Interest::Cell(cell(table, 1))), (2, Interest::Cell(cell(table, 2)))];
        world.say(2, subscribe(false, interests));
        world.take();
        let writes = vec![put(table, 1, 5), put(table, 2, 6)];
        let snapshot = world.gateway.position();
        world.say(1, FromClient::Submit(Submit { snapshot, ..blind(1, writes.clone()) }));
        let advances = world.advances(2);
        let changes: Vec<_> = advances.iter().map(|advance| advance.changes.clone()).collect();
        assert_eq!(changes, [writes], "{table}");
    }
}
