//! What each level of isolation allows and forbids, by the names of the anomalies.
//!
//! Source: Zhang 2017, Tables 3.3 and 3.4; the names are those of Adya (1999) and of Berenson and others (1995).

use iolite_values::{
    Author, CellState, Decision, Element, Level, ListOrder, Operation, Read, Transaction, Value, Write,
};

use super::Behaviour;
use super::driver::{Driver, TABLE, life, range, read, read_element, typed, write};
use crate::CommitReply;

pub const BEHAVIOURS: &[Behaviour] = &[
    ("the lost update is forbidden to a snapshot, and allowed to read committed", lost_update),
    ("write skew is forbidden to strict transactions only", write_skew),
    ("write skew by a phantom is forbidden to strict transactions only", phantom),
    ("a decision on a counter that is changed with it is forbidden to a snapshot", counter_below_zero),
    ("of two puts after one snapshot the first to commit wins", first_committer),
    ("what commutes commits at every level", commuting),
    ("a put in a row that is gone is forbidden at every level", put_in_a_deleted_row),
    ("two rows under one key are forbidden at every level", created_twice),
    ("two who claim one author in a text are in conflict at every level", one_author),
    ("what a strict transaction read is not changed by a weaker one", strict_beside_weaker),
];

const WEAKER: [Level; 2] = [Level::Snapshot, Level::ReadCommitted];

fn put(row: i64, value: i64) -> Write {
    write(row, Operation::Put(Value::Int(value)))
}

/// A transaction at a level, on what is resolved, with what the level guards of these reads.
fn at(driver: &mut Driver, level: Level, reads: &[Read], writes: Vec<Write>) -> Transaction {
    let guarded = level.guarded(reads, &writes).into_owned();
    Transaction { level, ..driver.transaction(guarded, Decision::Commit(writes)) }
}

/// Two transactions on one snapshot, both at a level: whether the second commits after the first.
fn both_commit(driver: &mut Driver, level: Level, [one, other]: [(Vec<Read>, Vec<Write>); 2]) -> bool {
    let first = at(driver, level, &one.0, one.1);
    let second = at(driver, level, &other.0, other.1);
    driver.commit_of(&first);
    commits(driver, &second)
}

fn commits(driver: &mut Driver, transaction: &Transaction) -> bool {
    match driver.submit(transaction) {
        CommitReply::Completed(_) => true,
        CommitReply::Conflict { .. } => false,
        reply @ (CommitReply::Forgotten | CommitReply::InDoubt { .. }) => panic!("{reply:?}"),
    }
}

fn lost_update(driver: &mut Driver) {
    driver.commit(vec![put(1, 0)]);
    for (level, allowed) in [(Level::Strict, false), (Level::Snapshot, false), (Level::ReadCommitted, true)] {
        let one = |value| (vec![read(1)], vec![put(1, value)]);
        assert_eq!(both_commit(driver, level, [one(1), one(2)]), allowed, "{level:?}");
    }
}

fn write_skew(driver: &mut Driver) {
    driver.commit(vec![put(1, 0), put(2, 0)]);
    for (level, allowed) in [(Level::Strict, false), (Level::Snapshot, true), (Level::ReadCommitted, true)] {
        let one = |row| (vec![read(1), read(2)], vec![put(row, 1)]);
        assert_eq!(both_commit(driver, level, [one(1), one(2)]), allowed, "{level:?}");
    }
}

fn phantom(driver: &mut Driver) {
    let levels = [(Level::Strict, false), (Level::Snapshot, true), (Level::ReadCommitted, true)];
    for (rows, (level, allowed)) in (10..).step_by(10).zip(levels) {
        let all = Read::Range { table: TABLE, range: range(rows, rows + 10) };
        let one = |row| (vec![all.clone()], vec![life(row, Operation::Create), put(row, 1)]);
        assert_eq!(both_commit(driver, level, [one(rows), one(rows + 1)]), allowed, "{level:?}");
    }
}

/// The published matrix lets a read stand beside what commutes with the writes, and would let both decide on the last one.
fn counter_below_zero(driver: &mut Driver) {
    driver.commit(vec![write(1, Operation::Add(1))]);
    for (level, allowed) in [(Level::Strict, false), (Level::Snapshot, false), (Level::ReadCommitted, true)] {
        let one = || (vec![read(1)], vec![write(1, Operation::Add(-1))]);
        assert_eq!(both_commit(driver, level, [one(), one()]), allowed, "{level:?}");
    }
}

fn first_committer(driver: &mut Driver) {
    for (level, allowed) in [(Level::Strict, true), (Level::Snapshot, false), (Level::ReadCommitted, true)] {
        let one = |value| (vec![read(2)], vec![put(1, value)]);
        assert_eq!(both_commit(driver, level, [one(1), one(2)]), allowed, "{level:?}");
    }
}

fn commuting(driver: &mut Driver) {
    for level in [Level::Strict, Level::Snapshot, Level::ReadCommitted] {
        let append = Operation::Append { value: Value::Null, order: ListOrder::Commit };
        let one = || (Vec::new(), vec![write(1, Operation::Add(1)), write(2, append.clone())]);
        assert!(both_commit(driver, level, [one(), one()]), "{level:?}");
    }
    assert_eq!(driver.cell(1), Some(CellState::Counter(6)));
}

fn put_in_a_deleted_row(driver: &mut Driver) {
    for level in WEAKER {
        driver.commit(vec![life(1, Operation::Create), put(1, 0)]);
        let exists = life_read(1);
        let late = at(driver, level, &[exists], vec![put(1, 1)]);
        driver.commit(vec![life(1, Operation::Delete)]);
        assert!(!commits(driver, &late), "{level:?}");
    }
    assert_eq!(driver.cell(1), None);
}

fn created_twice(driver: &mut Driver) {
    for (row, level) in (1..).zip(WEAKER) {
        let one = |value| (vec![life_read(row)], vec![life(row, Operation::Create), put(row, value)]);
        assert!(!both_commit(driver, level, [one(1), one(2)]), "{level:?}");
    }
}

/// No timestamp puts two units of one name in order: the later edit would change nothing.
fn one_author(driver: &mut Driver) {
    for (row, level) in (1..).zip([Level::Strict, Level::Snapshot, Level::ReadCommitted]) {
        let one = |author, text| {
            let claim = read_element(row, Element::Author(Author(author)));
            (vec![claim], vec![write(row, typed(author, 0, text))])
        };
        assert!(!both_commit(driver, level, [one(1, "a"), one(1, "b")]), "{level:?}");
        assert!(both_commit(driver, level, [one(2, "c"), one(3, "d")]), "{level:?}");
    }
}

fn strict_beside_weaker(driver: &mut Driver) {
    driver.commit(vec![put(1, 0)]);
    for level in WEAKER {
        let strict = at(driver, Level::Strict, &[read(1)], vec![put(2, 1)]);
        let weaker = at(driver, level, &[], vec![put(1, 1)]);
        driver.commit_of(&weaker);
        assert!(!commits(driver, &strict), "{level:?}");
    }
}

fn life_read(row: i64) -> Read {
    let Write { cell, operation: _ } = life(row, Operation::Create);
    Read::Cell { cell, element: Element::Whole }
}
