//! Queries: their answers at a timestamp, and the rows that come in.

use std::ops::Bound;
use std::sync::Arc;

use iolite_values::{
    AnyOf, ColumnId, Condition, Decision, Direction, Element, Field, IndexRange, Interest, Level, Operation, Query,
    Read, Test, Timestamp, Transaction, Value, Write,
};

use super::Behaviour;
use super::driver::{COLUMN, Driver, TABLE, cell, key, life, write};
use crate::{CommitReply, ReadLimit, Reply, Request, Validity};

pub const BEHAVIOURS: &[Behaviour] = &[
    ("a query answers in the order of its index, from either end", order_of_an_index),
    ("a query without an index answers in the order of primary keys", order_of_keys),
    ("the answers of a query end with the row that passes the limit", a_query_ends_past_its_limit),
    ("a query shows the answers of its timestamp, whatever moved since", older_answers),
    ("a query asks of a row all of its conditions", conditions),
    ("a query asks of a row one of its alternatives", alternatives),
    ("a query of some values answers with the rows of these, in the order of its index", some_values),
    ("what was not written counts as the query says", absent),
    ("the changes of a query are the commits that write its table", changes),
    ("a row that comes into a query makes what was read invalid", coming_in),
    ("a row that comes into a query by one of its alternatives makes what was read invalid", coming_in_by_alternatives),
    ("a row that does not come into a query leaves what was read valid", staying_out),
    ("a row that leaves a query is found by the read of the row", leaving),
    ("two transactions that each bring a row into what the other asked for conflict when strict only", phantom),
    ("all writes of a transaction to a row tell together whether it comes in", together),
];

/// A column beside the driver's.
const OTHER: ColumnId = ColumnId(COLUMN.0 + 1);

fn state() -> Field {
    Field::Cell { column: COLUMN, absent: Value::Null }
}

fn votes() -> Field {
    Field::Cell { column: OTHER, absent: Value::Int(0) }
}

fn by_state() -> Query {
    Query { index: vec![state()], ..Query::all(TABLE, false) }
}

/// Whose state is this.
fn with_state(value: i64) -> Query {
    let range = IndexRange::new(&[Value::Int(value)], Bound::Unbounded, Bound::Unbounded).range;
    by_state().with_range(range)
}

fn put(row: i64, value: i64) -> Write {
    write(row, Operation::Put(Value::Int(value)))
}

fn add(row: i64, amount: i64) -> Write {
    let mut cell = cell(row);
    cell.column = OTHER;
    Write { cell, operation: Operation::Add(amount) }
}

fn new(row: i64, value: i64) -> Vec<Write> {
    vec![life(row, Operation::Create), put(row, value)]
}

fn interest(query: &Query) -> Interest {
    Interest::Query(Arc::new(query.clone()))
}

fn read(query: Query) -> Read {
    Read::Query(Arc::new(query))
}

fn answers_at(driver: &mut Driver, query: &Query, at: Timestamp, limit: ReadLimit) -> Vec<i64> {
    let rows = driver.read_some(interest(query), at, limit).rows;
    let number = |row: crate::RowAt| match row.key.values().as_deref() {
        Ok([Value::Int(number)]) => *number,
        other => panic!("{other:?} is no key of these rows"),
    };
    rows.into_iter().map(number).collect()
}

fn answers(driver: &mut Driver, query: &Query) -> Vec<i64> {
    let at = driver.resolved();
    answers_at(driver, query, at, ReadLimit::NONE)
}

fn last(rows: usize) -> ReadLimit {
    ReadLimit { rows, direction: Direction::Descending, ..ReadLimit::NONE }
}

fn order_of_an_index(driver: &mut Driver) {
    for (row, value) in [(1, 7), (2, -3), (3, 7), (4, 0)] {
        driver.commit(new(row, value));
    }
    driver.commit(vec![life(5, Operation::Create)]);
    driver.commit(vec![put(6, 0)]);
    assert_eq!(answers(driver, &by_state()), [5, 2, 4, 1, 3], "null first, and rows that exist only");
    let at = driver.resolved();
    assert_eq!(answers_at(driver, &by_state(), at, last(usize::MAX)), [3, 1, 4, 2, 5]);
    let positive = IndexRange::new(&[], Bound::Excluded(&Value::Int(0)), Bound::Included(&Value::Int(7))).range;
    assert_eq!(answers(driver, &by_state().with_range(positive)), [1, 3]);
    let live = Query { live: true, ..by_state() };
    assert_eq!(answers(driver, &live), [5, 2, 4, 6, 1, 3], "rows of a live table need not be created");
}

fn order_of_keys(driver: &mut Driver) {
    for row in [3, 1, 9, -2] {
        driver.commit(new(row, row));
    }
    let all = Query::all(TABLE, false);
    assert_eq!(answers(driver, &all), [-2, 1, 3, 9]);
    let at = driver.resolved();
    assert_eq!(answers_at(driver, &all, at, last(1)), [9, 3]);
    assert_eq!(answers(driver, &all.with_range(super::driver::range(1, 9))), [1, 3]);
    assert_eq!(answers(driver, &by_state().within(&super::driver::range(1, 9))), [1, 3]);
}

fn a_query_ends_past_its_limit(driver: &mut Driver) {
    for row in 1..6 {
        driver.commit(new(row, -row));
    }
    let at = driver.resolved();
    let first = |rows| ReadLimit { rows, ..ReadLimit::NONE };
    assert_eq!(answers_at(driver, &by_state(), at, first(2)), [5, 4, 3]);
    assert_eq!(answers_at(driver, &by_state(), at, last(0)), [1]);
    assert_eq!(answers_at(driver, &by_state(), at, first(5)), [5, 4, 3, 2, 1]);
    let row = driver.read_some(interest(&by_state()), at, first(0)).rows.remove(0);
    let bytes = ReadLimit { bytes: row.row.size_bytes(), ..ReadLimit::NONE };
    assert_eq!(answers_at(driver, &by_state(), at, bytes), [5, 4]);
}

fn older_answers(driver: &mut Driver) {
    driver.commit(new(1, 1));
    let before = driver.commit(new(2, 2));
    assert_eq!(answers(driver, &with_state(1)), [1], "the index is there from now on, if there is one");
    driver.commit(vec![put(1, 2)]);
    let moved = driver.commit(vec![put(2, 1)]);
    driver.commit(vec![life(2, Operation::Delete)]);
    driver.commit(new(3, 1));
    let of = |driver: &mut Driver, at| answers_at(driver, &with_state(1), at, ReadLimit::NONE);
    assert_eq!((of(driver, before), of(driver, moved), answers(driver, &with_state(1))), (vec![1], vec![2], vec![3]));
    assert_eq!(answers_at(driver, &by_state(), before, last(usize::MAX)), [2, 1]);
}

fn conditions(driver: &mut Driver) {
    for row in 1..5 {
        driver.commit([new(row, row % 2), vec![add(row, row)]].concat());
    }
    let ask = |test| Condition { field: votes(), test };
    let query = |conditions| Query { conditions, ..by_state() };
    let many = || ask(Test::AtLeast(Value::Int(2)));
    assert_eq!(answers(driver, &query(vec![many()])), [2, 4, 3]);
    assert_eq!(answers(driver, &query(vec![many(), ask(Test::NotEqual(Value::Int(4)))])), [2, 3]);
    let odd = Condition { field: state(), test: Test::Equal(Value::Int(1)) };
    assert_eq!(answers(driver, &query(vec![many(), odd])), [3]);
    let by_key = Condition { field: Field::Key(0), test: Test::Less(Value::Int(3)) };
    assert_eq!(answers(driver, &query(vec![many(), by_key])), [2]);
}

/// In a state, or of so many votes.
fn any_of(value: i64, least: i64) -> AnyOf {
    let in_state = Condition { field: state(), test: Test::Equal(Value::Int(value)) };
    let many = Condition { field: votes(), test: Test::AtLeast(Value::Int(least)) };
    AnyOf(vec![vec![in_state], vec![many]])
}

fn alternatives(driver: &mut Driver) {
    for row in 1..6 {
        driver.commit([new(row, row % 3), vec![add(row, row)]].concat());
    }
    let query = |any_of| Query { any_of, ..by_state() };
    assert_eq!(answers(driver, &query(vec![any_of(1, 5)])), [1, 4, 5], "in the order of the index");
    assert_eq!(answers(driver, &query(vec![any_of(1, 5), any_of(2, 4)])), [4, 5], "one of each has to hold");
    let at = driver.resolved();
    assert_eq!(answers_at(driver, &query(vec![any_of(0, 4)]), at, last(1)), [5, 4]);
    let not_fourth = vec![Condition { field: Field::Key(0), test: Test::NotEqual(Value::Int(4)) }];
    assert_eq!(answers(driver, &Query { conditions: not_fourth, ..query(vec![any_of(1, 5)]) }), [1, 5]);
    let not_two = Condition { field: state(), test: Test::NotEqual(Value::Int(2)) };
    let many = Condition { field: votes(), test: Test::AtLeast(Value::Int(2)) };
    let fifth = Condition { field: Field::Key(0), test: Test::Equal(Value::Int(5)) };
    assert_eq!(answers(driver, &query(vec![AnyOf(vec![vec![not_two, many], vec![fifth]])])), [3, 4, 5]);
    let at = driver.resolved();
    driver.commit(vec![put(3, 1)]);
    driver.commit(vec![add(1, 9), put(1, 2)]);
    assert_eq!(answers(driver, &query(vec![any_of(1, 5)])), [3, 4, 1, 5]);
    assert_eq!(answers_at(driver, &query(vec![any_of(1, 5)]), at, ReadLimit::NONE), [1, 4, 5]);
}

fn some_values(driver: &mut Driver) {
    for row in 1..9 {
        driver.commit(new(row, row % 5));
    }
    let one_of = |field, values: &[i64]| Condition {
        field,
        test: Test::OneOf(values.iter().map(|value| Value::Int(*value)).collect()),
    };
    let query = Query { conditions: vec![one_of(state(), &[4, 0, 2, 9])], ..by_state() };
    assert_eq!(answers(driver, &query), [5, 2, 7, 4]);
    let at = driver.resolved();
    assert_eq!(answers_at(driver, &query, at, last(1)), [4, 7]);
    let keys = Query { conditions: vec![one_of(Field::Key(0), &[7, 3, 90, 5])], ..Query::all(TABLE, false) };
    assert_eq!(answers(driver, &keys), [3, 5, 7]);
    driver.commit(vec![put(4, 1), put(1, 0)]);
    assert_eq!(answers(driver, &query), [1, 5, 2, 7]);
    assert_eq!(answers_at(driver, &query, at, ReadLimit::NONE), [5, 2, 7, 4]);
}

fn absent(driver: &mut Driver) {
    driver.commit(vec![life(1, Operation::Create)]);
    driver.commit(new(2, 5));
    let defaulted = Field::Cell { column: COLUMN, absent: Value::Int(9) };
    let query = Query { index: vec![defaulted], ..Query::all(TABLE, false) };
    assert_eq!(answers(driver, &query), [2, 1]);
    let nine = IndexRange::new(&[Value::Int(9)], Bound::Unbounded, Bound::Unbounded).range;
    assert_eq!(answers(driver, &query.with_range(nine)), [1]);
}

fn changes(driver: &mut Driver) {
    let after = driver.commit(new(1, 1));
    driver.commit(vec![add(2, 1)]);
    driver.commit(new(3, 3));
    let through = driver.resolved();
    let interests = vec![interest(&with_state(1))];
    let told = driver.told().into_iter().filter(|commit| commit.at > after && commit.at <= through).collect();
    assert_eq!(
        driver.ask(Request::Changes { interests, after, through, bytes_max: usize::MAX }),
        Reply::Changes(Ok(told))
    );
}

/// Whether what was read at what is resolved is valid after these writes.
fn is_valid_after(driver: &mut Driver, reads: Vec<Read>, writes: Vec<Write>) -> bool {
    let reader = driver.transaction(reads.clone(), Decision::Commit(Vec::new()));
    let writer = driver.transaction(reads, Decision::Commit(vec![put(99, 1)]));
    let at = driver.commit(writes);
    let validity = driver.validate(Request::Validate {
        transaction: reader.id,
        attempt: reader.attempt,
        snapshot: reader.snapshot,
        reads: reader.reads.into(),
        floor: Timestamp::ZERO,
    });
    let commits = commits(driver, &writer);
    match validity {
        Validity::Valid => assert!(commits, "what is valid can be committed on"),
        Validity::Changed { at_least } => assert!(at_least >= at && !commits, "what is not valid can not"),
    }
    commits
}

fn commits(driver: &mut Driver, transaction: &Transaction) -> bool {
    match driver.submit(transaction) {
        CommitReply::Completed(_) => true,
        CommitReply::Conflict { .. } => false,
        reply @ (CommitReply::Forgotten | CommitReply::InDoubt { .. }) => panic!("{reply:?}"),
    }
}

fn coming_in(driver: &mut Driver) {
    driver.commit(new(1, 2));
    for writes in [new(2, 1), vec![put(1, 1)]] {
        assert!(!is_valid_after(driver, vec![read(with_state(1))], writes));
    }
    let many = Condition { field: votes(), test: Test::AtLeast(Value::Int(2)) };
    let query = Query { conditions: vec![many], ..with_state(1) };
    assert!(!is_valid_after(driver, vec![read(query)], vec![add(1, 5)]));
}

fn coming_in_by_alternatives(driver: &mut Driver) {
    driver.commit(new(1, 2));
    let query = || Query { any_of: vec![any_of(1, 5)], ..Query::all(TABLE, false) };
    let coming_in = [new(2, 1), [new(3, 2), vec![add(3, 5)]].concat(), vec![put(1, 1)], vec![add(1, 9)]];
    for writes in coming_in {
        assert!(!is_valid_after(driver, vec![read(query())], writes.clone()), "{writes:?}");
    }
    let staying_out = [new(4, 2), [new(5, 2), vec![add(5, 4)]].concat(), vec![put(4, 3)]];
    for writes in staying_out {
        assert!(is_valid_after(driver, vec![read(query())], writes.clone()), "{writes:?}");
    }
}

fn staying_out(driver: &mut Driver) {
    driver.commit(new(1, 1));
    for writes in [new(2, 2), vec![add(1, 1)], vec![put(1, 3)], vec![life(1, Operation::Delete)]] {
        assert!(is_valid_after(driver, vec![read(with_state(1))], writes.clone()), "{writes:?}");
    }
    assert!(is_valid_after(driver, vec![read(with_state(1).within(&super::driver::range(5, 9)))], new(3, 1)));
}

fn leaving(driver: &mut Driver) {
    driver.commit(new(1, 1));
    let own = |cell| Read::Cell { cell, element: Element::Whole };
    let reads = || vec![read(with_state(1)), own(cell(1)), own(life(1, Operation::Create).cell)];
    assert!(is_valid_after(driver, reads(), vec![add(1, 1)]), "neither shown nor asked for");
    assert!(!is_valid_after(driver, reads(), vec![put(1, 2)]));
    assert!(!is_valid_after(driver, reads(), vec![life(1, Operation::Delete)]));
}

fn phantom(driver: &mut Driver) {
    let levels = [(Level::Strict, false), (Level::Snapshot, true), (Level::ReadCommitted, true)];
    for (value, (level, allowed)) in (1..).zip(levels) {
        let mut one = |row| {
            let writes = new(row, value);
            let reads = level.guarded(&[read(with_state(value))], &writes).into_owned();
            Transaction { level, ..driver.transaction(reads, Decision::Commit(writes)) }
        };
        let (first, second) = (one(value * 10), one(value * 10 + 1));
        driver.commit_of(&first);
        assert_eq!(commits(driver, &second), allowed, "{level:?}");
    }
}

fn together(driver: &mut Driver) {
    driver.commit(new(1, 2));
    let none = Condition { field: votes(), test: Test::Equal(Value::Int(0)) };
    let query = || Query { conditions: vec![none.clone()], ..with_state(1) };
    assert!(!is_valid_after(driver, vec![read(query())], new(2, 1)));
    assert!(is_valid_after(driver, vec![read(query())], [new(3, 1), vec![add(3, 4)]].concat()));
    assert!(is_valid_after(driver, vec![read(query())], vec![put(1, 1), put(1, 3)]));
    assert_eq!(answers(driver, &query()), [2]);
    let keys = answers(driver, &Query::all(TABLE, false));
    assert!(keys.iter().all(|row| key(*row) <= key(3)), "the writers' own row was not created");
}
