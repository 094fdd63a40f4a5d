//! What is committed is read back: every operation of every type.

use iolite_values::{CellState, Decision, Effect, Interest, ListOrder, Lives, Mark, Operation, Value};

use super::Behaviour;
use super::driver::{Driver, TABLE, life, range, typed, write};
use crate::{CommitReply, Refusal, Reply, Request};

pub const BEHAVIOURS: &[Behaviour] = &[
    ("a scalar holds what was put last", scalar),
    ("a register holds what was assigned last", register),
    ("a counter is the sum of what was added", counter),
    ("a set holds what was inserted and not removed", set),
    ("a list grows at its end and its elements can be replaced", list),
    ("a map holds the entries that were put and not removed", map),
    ("a text holds what was inserted, and edits that do not fit it change nothing", text),
    ("a row that is deleted and created again is empty", life_of_a_row),
    ("a row is created only where none is", one_life_at_a_time),
    ("the operations of a transaction take effect together and in order", one_transaction),
    ("an operation of another type than its cell's is refused", other_type),
    (
        "a row that merges is hidden when it is deleted, and an update at the same time brings it back whole",
        merging_row,
    ),
    ("a row that merges is neither created nor deleted, and takes effects of its cells' types only", merging_types),
];

fn scalar(driver: &mut Driver) {
    driver.commit(vec![write(1, Operation::Put(Value::Int(1)))]);
    driver.commit(vec![write(1, Operation::Put(Value::from("two")))]);
    assert_eq!(driver.cell(1), Some(CellState::Scalar(Value::from("two"))));
}

fn register(driver: &mut Driver) {
    driver.commit(vec![write(1, Operation::Assign(Value::Int(1)))]);
    driver.commit(vec![write(1, Operation::Assign(Value::Int(2)))]);
    assert_eq!(driver.cell(1), Some(CellState::Register(Value::Int(2))));
}

fn counter(driver: &mut Driver) {
    driver.commit(vec![write(1, Operation::Add(5))]);
    driver.commit(vec![write(1, Operation::Add(-7))]);
    assert_eq!(driver.cell(1), Some(CellState::Counter(-2)));
}

fn set(driver: &mut Driver) {
    driver.commit(vec![write(1, Operation::Insert(Value::Int(1))), write(1, Operation::Insert(Value::Int(2)))]);
    driver.commit(vec![write(1, Operation::Remove(Value::Int(1)))]);
    assert_eq!(driver.cell(1), Some(CellState::Set([Value::Int(2)].into())));
}

fn list(driver: &mut Driver) {
    let append = |value: i64| Operation::Append { value: Value::Int(value), order: ListOrder::Strict };
    driver.commit(vec![write(1, append(1)), write(1, append(2))]);
    driver.commit(vec![write(1, Operation::SetAt { index: 0, value: Value::Int(3) })]);
    driver.commit(vec![write(1, append(4))]);
    assert_eq!(driver.cell(1), Some(CellState::List(vec![Value::Int(3), Value::Int(2), Value::Int(4)])));
}

fn map(driver: &mut Driver) {
    let put = |key: &str, value: i64| Operation::PutEntry { key: key.into(), value: Value::Int(value) };
    driver.commit(vec![write(1, put("a", 1)), write(1, put("b", 2))]);
    driver.commit(vec![write(1, put("a", 3)), write(1, Operation::RemoveEntry { key: "b".into() })]);
    assert_eq!(driver.cell(1), Some(CellState::Map([("a".into(), Value::Int(3))].into())));
}

fn text(driver: &mut Driver) {
    let edits = [typed(1, 0, "ab"), typed(2, 0, "c"), typed(1, 2, "d"), typed(1, 2, "again"), typed(2, 5, "too far")];
    for edit in &edits {
        driver.commit(vec![write(1, edit.clone())]);
    }
    let mut fitting = CellState::empty_for(&edits[0]);
    edits[..3].iter().for_each(|edit| fitting.apply(edit).expect("a text"));
    assert_eq!(driver.cell(1), Some(fitting));
}

fn life_of_a_row(driver: &mut Driver) {
    driver.commit(vec![life(1, Operation::Create), write(1, Operation::Put(Value::Int(1)))]);
    driver.commit(vec![life(1, Operation::Delete)]);
    let interest = Interest::Range { table: TABLE, range: range(0, 9) };
    let at = driver.resolved();
    assert_eq!(driver.read_at(interest.clone(), at).rows, vec![]);
    driver.commit(vec![life(1, Operation::Create)]);
    let at = driver.resolved();
    let rows = driver.read_at(interest, at).rows;
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].row.exists(), rows[0].row.cells().count()), (true, 0));
}

/// Whoever creates a row need not have read that there is none: a phone without a connection cannot (docs/decisions/0021).
fn one_life_at_a_time(driver: &mut Driver) {
    let create = || life(1, Operation::Create);
    driver.commit(vec![create(), write(1, Operation::Put(Value::Int(1)))]);
    for writes in [vec![create()], vec![life(2, Operation::Create), create()]] {
        let reply = driver.try_commit(writes);
        assert!(matches!(reply, CommitReply::Conflict { .. }), "{reply:?}");
    }
    assert_eq!(driver.cell(1), Some(CellState::Scalar(Value::Int(1))), "what was there is left alone");
    let anew = vec![life(1, Operation::Delete), create(), write(1, Operation::Put(Value::Int(2)))];
    driver.commit(anew);
    assert_eq!(driver.cell(1), Some(CellState::Scalar(Value::Int(2))), "it ended the old one itself");
    let reply = driver.try_commit(vec![life(3, Operation::Create), life(3, Operation::Create)]);
    assert!(matches!(reply, CommitReply::Conflict { .. }), "nor twice in one transaction: {reply:?}");
}

fn one_transaction(driver: &mut Driver) {
    let at = driver.commit(vec![
        life(1, Operation::Create),
        write(1, Operation::Put(Value::Int(1))),
        write(1, Operation::Put(Value::Int(2))),
        write(2, Operation::Add(1)),
    ]);
    assert_eq!(driver.cell_at(1, at), Some(CellState::Scalar(Value::Int(2))));
    assert_eq!(driver.cell_at(2, at), Some(CellState::Counter(1)));
}

fn other_type(driver: &mut Driver) {
    driver.commit(vec![write(1, Operation::Add(1))]);
    let writes = vec![write(2, Operation::Add(1)), write(1, Operation::Put(Value::Null))];
    let transaction = driver.transaction(Vec::new(), Decision::Commit(writes));
    let reply =
        driver.ask(Request::Commit { transaction: transaction.clone(), floor: transaction.snapshot, within: None });
    assert!(matches!(reply, Reply::Refused(Refusal::Type { .. })), "{reply:?}");
    assert_eq!((driver.cell(1), driver.cell(2)), (Some(CellState::Counter(1)), None));
}

fn merge(effect: Effect) -> Operation {
    Operation::Merge(effect.into())
}

/// A row that merges, of one life, with a counter at 5.
fn insert_merging(driver: &mut Driver) {
    let add = Effect::Add { life: Mark(1), amount: 5 };
    driver.commit(vec![life(1, merge(Lives::insertion(Mark(1)))), write(1, merge(add))]);
}

fn merging_row(driver: &mut Driver) {
    insert_merging(driver);
    assert_eq!(driver.cell(1), Some(CellState::Counter(5)));
    let seen = || [Mark(1)].into();
    driver.commit(vec![life(1, merge(Effect::Bury { seen: seen() }))]);
    assert_eq!(driver.cell(1), None, "it is hidden");
    let update = Effect::Touch { life: Mark(1), mark: Mark(2), seen: seen() };
    let add = Effect::Add { life: Mark(1), amount: 1 };
    driver.commit(vec![life(1, merge(update)), write(1, merge(add))]);
    assert_eq!(driver.cell(1), Some(CellState::Counter(6)));
}

fn merging_types(driver: &mut Driver) {
    insert_merging(driver);
    let insert = Effect::Insert { value: Value::Null, mark: Mark(3) };
    for refused in [
        vec![life(1, Operation::Delete)],
        vec![write(1, Operation::Add(1))],
        vec![write(1, merge(insert))],
        vec![life(2, merge(Effect::Add { life: Mark(1), amount: 1 }))],
        vec![life(2, Operation::Create), life(2, merge(Lives::insertion(Mark(4))))],
    ] {
        let transaction = driver.transaction(Vec::new(), Decision::Commit(refused.clone()));
        let floor = transaction.snapshot;
        let reply = driver.ask(Request::Commit { transaction, floor, within: None });
        assert!(matches!(reply, Reply::Refused(Refusal::Type { .. })), "{refused:?}: {reply:?}");
    }
    assert_eq!(driver.cell(1), Some(CellState::Counter(5)));
}
