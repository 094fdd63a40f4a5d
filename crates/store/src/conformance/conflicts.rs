//! What may commit beside what.

use iolite_values::{Author, CellState, Decision, Element, ListOrder, Operation, Read, Timestamp, Value, Write};

use super::Behaviour;
use super::driver::{Driver, TABLE, life, range, read, read_element, typed, write};
use crate::CommitReply;

pub const BEHAVIOURS: &[Behaviour] = &[
    ("a cell that changed since it was read is a conflict", changed_cell),
    ("a cell that did not change since it was read is none", unchanged_cell),
    ("a cell that was absent and is written is a conflict", absent_cell),
    ("elements of collections are compared one by one", elements),
    ("parts of collections are compared by what they hold", parts),
    ("two who insert into a text under one author are in conflict, and others are not", authors),
    ("what a counter is given and what is added to it are in conflict", put_totals),
    ("a row that appears in a range that was read is a conflict", phantom),
    ("a row beside a range that was read is none", beside_a_range),
    ("the life of a row is a conflict with reads of its cells", life_of_a_row),
    ("operations that commute do not conflict", commuting),
    ("writes without reads never conflict, they come later", blind_writes),
    ("a list element that is not there is a conflict", missing_element),
    ("the lost update is a conflict", lost_update),
    ("write skew is a conflict", write_skew),
];

/// Reads `read`, while another transaction commits `writes`; then submits. Says when the other one committed, too.
fn race(driver: &mut Driver, read: Read, writes: Vec<Write>) -> (CommitReply, Timestamp) {
    let decision = Decision::Commit(vec![write(100, Operation::Add(1))]);
    let transaction = driver.transaction(vec![read], decision);
    let at = driver.commit(writes);
    (driver.submit(&transaction), at)
}

fn assert_conflict((reply, at): (CommitReply, Timestamp)) {
    assert!(
        matches!(reply, CommitReply::Conflict { at_least } if at_least >= at),
        "{reply:?}, after a commit at {at:?}"
    );
}

fn assert_no_conflict((reply, _): (CommitReply, Timestamp)) {
    assert!(matches!(reply, CommitReply::Completed(_)), "{reply:?}");
}

fn changed_cell(driver: &mut Driver) {
    driver.commit(vec![write(1, Operation::Put(Value::Int(1)))]);
    let conflict = race(driver, read(1), vec![write(1, Operation::Put(Value::Int(2)))]);
    assert_conflict(conflict);
    assert_eq!(driver.cell(100), None, "a conflict has no effect");
}

fn authors(driver: &mut Driver) {
    driver.commit(vec![write(1, typed(1, 0, "a"))]);
    let claim = || read_element(1, Element::Author(Author(1)));
    assert_conflict(race(driver, claim(), vec![write(1, typed(1, 1, "b"))]));
    assert_no_conflict(race(driver, claim(), vec![write(1, typed(2, 0, "c"))]));
    assert_conflict(race(driver, read(1), vec![write(1, typed(2, 1, "d"))]));
}

fn unchanged_cell(driver: &mut Driver) {
    driver.commit(vec![write(1, Operation::Put(Value::Int(1)))]);
    assert_no_conflict(race(driver, read(1), vec![write(2, Operation::Put(Value::Int(2)))]));
}

fn absent_cell(driver: &mut Driver) {
    assert_conflict(race(driver, read(1), vec![write(1, Operation::Put(Value::Int(2)))]));
}

fn elements(driver: &mut Driver) {
    let member = |value: i64| read_element(1, Element::Member(Value::Int(value)));
    assert_no_conflict(race(driver, member(1), vec![write(1, Operation::Insert(Value::Int(2)))]));
    assert_conflict(race(driver, member(2), vec![write(1, Operation::Remove(Value::Int(2)))]));
    let entry = |key: &str| read_element(2, Element::Entry(key.into()));
    let put = |key: &str| write(2, Operation::PutEntry { key: key.into(), value: Value::Null });
    assert_no_conflict(race(driver, entry("a"), vec![put("b")]));
    assert_conflict(race(driver, entry("b"), vec![put("b")]));
    let append = || write(3, Operation::Append { value: Value::Null, order: ListOrder::Strict });
    driver.commit(vec![append(), append()]);
    let index = |index| read_element(3, Element::Index(index));
    let set_at = |index| write(3, Operation::SetAt { index, value: Value::Int(1) });
    assert_no_conflict(race(driver, index(0), vec![append(), set_at(1)]));
    assert_conflict(race(driver, index(0), vec![set_at(0)]));
}

fn parts(driver: &mut Driver) {
    let up_to = |value: i64| read_element(1, Element::UpTo(Value::Int(value)));
    let insert = |value: i64| write(1, Operation::Insert(Value::Int(value)));
    driver.commit(vec![insert(5), insert(9)]);
    assert_no_conflict(race(driver, up_to(5), vec![insert(7)]));
    assert_conflict(race(driver, up_to(5), vec![insert(3)]));
    assert_conflict(race(driver, up_to(5), vec![write(1, Operation::Remove(Value::Int(5)))]));
    let append = || write(2, Operation::Append { value: Value::Null, order: ListOrder::Strict });
    let set_at = |index| write(2, Operation::SetAt { index, value: Value::Int(1) });
    driver.commit(vec![append(), append(), append()]);
    let slice = || read_element(2, Element::Slice { from: 1, to: 3 });
    assert_no_conflict(race(driver, slice(), vec![append(), set_at(0)]));
    assert_conflict(race(driver, slice(), vec![set_at(2)]));
}

fn put_totals(driver: &mut Driver) {
    let put = || write(1, Operation::PutTotal(7));
    driver.commit(vec![write(1, Operation::Add(1))]);
    assert_conflict(race(driver, read(1), vec![put()]));
    assert_eq!(driver.cell(1), Some(CellState::Counter(7)));
    let early = driver.transaction(Vec::new(), Decision::Commit(vec![put()]));
    driver.commit(vec![write(1, Operation::Add(1))]);
    driver.commit_of(&early);
    assert_eq!(driver.cell(1), Some(CellState::Counter(7)), "it comes after what was added before it");
}

fn phantom(driver: &mut Driver) {
    let all = Read::Range { table: TABLE, range: range(1, 5) };
    assert_conflict(race(driver, all, vec![life(3, Operation::Create)]));
}

fn beside_a_range(driver: &mut Driver) {
    let all = Read::Range { table: TABLE, range: range(1, 5) };
    assert_no_conflict(race(driver, all, vec![life(5, Operation::Create), life(0, Operation::Create)]));
}

fn life_of_a_row(driver: &mut Driver) {
    driver.commit(vec![life(1, Operation::Create), write(1, Operation::Put(Value::Int(1)))]);
    assert_conflict(race(driver, read(1), vec![life(1, Operation::Delete)]));
}

fn commuting(driver: &mut Driver) {
    let add = |amount| Decision::Commit(vec![write(1, Operation::Add(amount))]);
    let transactions: Vec<_> = (1..=4).map(|amount| driver.transaction(Vec::new(), add(amount))).collect();
    for transaction in transactions.iter().rev() {
        driver.commit_of(transaction);
    }
    assert_eq!(driver.cell(1), Some(CellState::Counter(10)));
}

fn blind_writes(driver: &mut Driver) {
    let put = |value| Decision::Commit(vec![write(1, Operation::Put(Value::Int(value)))]);
    let early = driver.transaction(Vec::new(), put(1));
    let at = driver.commit(vec![write(1, Operation::Put(Value::Int(2)))]);
    assert!(driver.commit_of(&early) > at);
    assert_eq!(driver.cell(1), Some(CellState::Scalar(Value::Int(1))));
}

fn missing_element(driver: &mut Driver) {
    driver.commit(vec![write(1, Operation::Append { value: Value::Null, order: ListOrder::Commit })]);
    let set_at = Decision::Commit(vec![write(1, Operation::SetAt { index: 1, value: Value::Int(1) })]);
    let transaction = driver.transaction(Vec::new(), set_at);
    let reply = driver.submit(&transaction);
    assert!(matches!(reply, CommitReply::Conflict { .. }), "{reply:?}");
}

fn lost_update(driver: &mut Driver) {
    driver.commit(vec![write(1, Operation::Put(Value::Int(0)))]);
    let put = || Decision::Commit(vec![write(1, Operation::Put(Value::Int(1)))]);
    let first = driver.transaction(vec![read(1)], put());
    let second = driver.transaction(vec![read(1)], put());
    driver.commit_of(&first);
    let reply = driver.submit(&second);
    assert!(matches!(reply, CommitReply::Conflict { .. }), "{reply:?}");
}

fn write_skew(driver: &mut Driver) {
    let put = |row| Decision::Commit(vec![write(row, Operation::Put(Value::Int(1)))]);
    let first = driver.transaction(vec![read(1), read(2)], put(1));
    let second = driver.transaction(vec![read(1), read(2)], put(2));
    driver.commit_of(&first);
    let reply = driver.submit(&second);
    assert!(matches!(reply, CommitReply::Conflict { .. }), "{reply:?}");
}
