//! What clients see of each level of isolation: the anomalies, by their names, of two clients that run on one snapshot of two shards.
//!
//! Source: Zhang 2017, Table 3.3; the names are those of Adya (1999) and of Berenson and others (1995), and stand in docs/protocols/operations.md. What
//! closures read in the midst of a run: sdks/rust/tests/sockets/anomalies.rs. What the store makes of levels: crates/store/src/conformance/levels.rs.

use iolite_replication::Place;
use iolite_values::{
    Author, Cell, CellState, ColumnId, Decision, Edit, Element, Insertion, Interest, KeyRange, Operation, Read,
    TableId, Timestamp, Unit, Value, Write,
};
use iolite_wire::message::{Advance, FromClient, Hello, Submit, Verdict};

use super::real_world::{RealWorld, verdicts};
use super::world::{blind, hello, key, subscribe};

const SCHEMA: &str = r#"{"tables":{
    "strict":{"columns":{"id":{"type":"int"},"n":{"type":"int","default":0},"body":{"type":"text"}},"key":["id"]},
    "snapshot":{"columns":{"id":{"type":"int"},"n":{"type":"int","default":0},"body":{"type":"text"}},"key":["id"],"isolation":"snapshot"},
    "committed":{"columns":{"id":{"type":"int"},"n":{"type":"int","default":0},"body":{"type":"text"}},"key":["id"],"isolation":"read-committed"}}}"#;

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

fn create(table: &str, row: i64) -> Write {
    Write { cell: Cell::row(TableId::of(table), key(row)), operation: Operation::Create }
}

fn all_rows(table: &str) -> Interest {
    Interest::Range { table: TableId::of(table), range: KeyRange::all() }
}

/// Two clients, each with a session of its own. Each table has the rows 1 and 2, in two shards.
fn world() -> RealWorld {
    let within = TABLES.map(|table| Place { table: TableId::of(table), key: key(2) });
    let mut places = [vec![Place::first()], within.to_vec()].concat();
    places.sort();
    let mut world = RealWorld::of_shards(places, SCHEMA);
    let schema = iolite_values::Schema::from_json(SCHEMA).expect("a good schema").hash();
    for session in [2, 3] {
        world.join(session, Hello { schema, ..hello(session) });
    }
    let rows = TABLES.iter().flat_map(|table| [create(table, 1), create(table, 2)]).collect();
    world.say(3, FromClient::Submit(blind(1, rows)));
    world.take();
    world
}

/// A world in which session 2 watches a table.
fn watched(table: &str) -> RealWorld {
    let mut world = world();
    world.say(2, subscribe(false, vec![(1, all_rows(table))]));
    world.take();
    world
}

/// A client's first mutation, that ran on this snapshot.
fn mutation(snapshot: Timestamp, reads: Vec<Read>, writes: Vec<Write>) -> FromClient {
    FromClient::Submit(Submit { snapshot, reads, decision: Decision::Commit(writes), ..blind(1, vec![]) })
}

/// What becomes of it.
fn submit(world: &mut RealWorld, session: u64, snapshot: Timestamp, reads: Vec<Read>, writes: Vec<Write>) -> Verdict {
    world.say(session, mutation(snapshot, reads, writes));
    verdict(&world.advances(session))
}

fn verdict(advances: &[Advance]) -> Verdict {
    let verdicts = verdicts(advances);
    let [(1, verdict)] = &verdicts[..] else { panic!("{verdicts:?}") };
    verdict.clone()
}

/// What whoever comes now finds in rows 1 and 2.
fn found(world: &mut RealWorld, table: &str) -> [Option<CellState>; 2] {
    world.say(3, subscribe(false, vec![(1, all_rows(table))]));
    let snapshots = world.advances(3).into_iter().flat_map(|advance| advance.snapshots);
    let found: Vec<_> =
        snapshots.flat_map(|own| own.rows).map(|own| own.row.cell(ColumnId::of("n")).cloned()).collect();
    found.try_into().expect("there are two rows")
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

/// Both look for rows, and each makes another one.
#[test]
fn phantom_happens_below_strict_serializability() {
    let all = |table| Read::Range { table: TableId::of(table), range: KeyRange::all() };
    let one = |table, row| (vec![all(table)], vec![create(table, row), put(table, row, 1)]);
    assert_eq!(TABLES.map(|table| both_commit([one(table, 0), one(table, 3)])), [false, true, true]);
}

/// One has read what was there before the other one put something, which was acknowledged before the one is submitted.
#[test]
fn stale_read_happens_below_strict_serializability() {
    let pair = |table: &str| [(vec![], vec![put(table, 1, 1)]), (vec![read(table, 1)], vec![put(table, 2, 1)])];
    assert_eq!(TABLES.map(|table| both_commit(pair(table))), [false, true, true]);
}

/// Neither knows of the other: at the level of a snapshot the second would hide the first.
#[test]
fn blind_puts_run_again_at_the_level_of_a_snapshot_only() {
    let one = |table: &str, value| (vec![], vec![put(table, 1, value)]);
    assert_eq!(TABLES.map(|table| both_commit([one(table, 1), one(table, 2)])), [true, false, true]);
}

/// Both drew one number, and insert their first unit by it: the second edit would change nothing, so its client has to make it again.
#[test]
fn two_who_claim_one_author_commit_at_no_level() {
    let one = |table: &str, author, text: &str| {
        let cell = Cell { column: ColumnId::of("body"), ..cell(table, 1) };
        let first = Unit::new(Author(author), 0);
        let inserted = Some(Insertion { first, left: None, right: None, text: text.into() });
        let edit = Operation::Edit(Edit { inserted, removed: Vec::new() }.into());
        let claim = Read::Cell { cell: cell.clone(), element: Element::Author(Author(author)) };
        (vec![claim], vec![Write { cell, operation: edit }])
    };
    assert_eq!(TABLES.map(|table| both_commit([one(table, 1, "a"), one(table, 1, "b")])), [false; 3]);
    assert_eq!(TABLES.map(|table| both_commit([one(table, 1, "a"), one(table, 2, "b")])), [true; 3]);
}

#[test]
fn a_transaction_over_two_tables_is_kept_apart_as_the_stricter_one_asks() {
    let skew = |own: &str, other: &str, row| (vec![read(own, 1), read(own, 2), read(other, 9)], vec![put(own, row, 1)]);
    assert!(both_commit([skew("committed", "committed", 1), skew("committed", "committed", 2)]));
    assert!(!both_commit([skew("committed", "strict", 1), skew("committed", "strict", 2)]));
    let update = |other: &str, value| (vec![read("committed", 1), read(other, 9)], vec![put("committed", 1, value)]);
    assert!(!both_commit([update("snapshot", 1), update("snapshot", 2)]));
}

/// Two put the same two cells at the same time: in both the same one has the last word.
#[test]
fn dirty_write_happens_at_no_level() {
    for table in TABLES {
        let mut world = watched(table);
        let snapshot = world.gateway.position();
        let both = |value| vec![put(table, 1, value), put(table, 2, value)];
        world.say_at_once([(1, mutation(snapshot, vec![], both(1))), (2, mutation(snapshot, vec![], both(2)))]);
        let told: Vec<Write> = world.advances(2).into_iter().flat_map(|advance| advance.changes).collect();
        assert!(told.chunks(2).all(|pair| pair == both(1) || pair == both(2)), "{table}: {told:?}");
        let Some(Write { operation: Operation::Put(last), .. }) = told.last() else { panic!("{table}: {told:?}") };
        let last = Some(CellState::Scalar(last.clone()));
        assert_eq!(found(&mut world, table), [last.clone(), last], "{table}");
    }
}

/// Of what an attempt writes a part would be possible. Nothing of it is seen, also when something is that comes later.
#[test]
fn aborted_read_happens_at_no_level() {
    for table in TABLES {
        let mut world = watched(table);
        let snapshot = world.gateway.position();
        world.say(2, mutation(snapshot, vec![], vec![create(table, 1), put(table, 2, 7)]));
        let mut advances = world.advances(2);
        assert!(matches!(verdict(&advances), Verdict::Conflict(_)), "{table}: there is a row 1");
        let later = put(table, 1, 5);
        world.say(1, mutation(snapshot, vec![], vec![later.clone()]));
        advances.extend(world.advances(2));
        let told: Vec<Write> = advances.into_iter().flat_map(|advance| advance.changes).collect();
        assert_eq!(told, [later], "{table}");
        assert_eq!(found(&mut world, table), [Some(CellState::Scalar(Value::Int(5))), None], "{table}");
    }
}

/// What session 2, which watches a table, is told of a mutation of another client, advance by advance: each is shown whole or not at all.
fn told(table: &str, writes: Vec<Write>) -> Vec<Vec<Write>> {
    let mut world = watched(table);
    let snapshot = world.gateway.position();
    world.say(1, mutation(snapshot, vec![], writes));
    world.advances(2).into_iter().map(|advance| advance.changes).collect()
}

#[test]
fn intermediate_read_happens_at_no_level() {
    for table in TABLES {
        let writes = vec![put(table, 1, 5), put(table, 1, 6)];
        assert_eq!(told(table, writes.clone()), [writes], "{table}");
    }
}

/// Neither dirty reads nor read skew.
#[test]
fn half_of_a_transaction_is_seen_at_no_level() {
    for table in TABLES {
        let writes = vec![put(table, 1, 5), put(table, 2, 6)];
        assert_eq!(told(table, writes.clone()), [writes], "{table}");
    }
}
