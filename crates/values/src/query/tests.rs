//! What queries select.

use std::ops::Bound;

use super::*;
use crate::{IndexRange, Operation};

const STATE: ColumnId = ColumnId(1);
const VOTES: ColumnId = ColumnId(2);
const TAGS: ColumnId = ColumnId(3);

fn key(number: i64) -> RowKey {
    RowKey::new(&[Value::from("a"), Value::Int(number)]).expect("short")
}

fn state() -> Field {
    Field::Cell { column: STATE, absent: Value::from("new") }
}

fn row(operations: &[(ColumnId, Operation)]) -> Row {
    let mut row = Row::default();
    for (column, operation) in operations {
        row.apply(*column, operation).expect("it fits");
    }
    row
}

fn created(operations: &[(ColumnId, Operation)]) -> Row {
    row(&[&[(ColumnId::ROW, Operation::Create)], operations].concat())
}

fn selects(condition: Condition, row: &Row) -> bool {
    Query { conditions: vec![condition], ..Query::all(TableId(1), false) }.selects(&key(1), row)
}

#[test]
fn rows_that_are_not_created_are_answers_in_live_tables_only() {
    let written = row(&[(VOTES, Operation::Add(1))]);
    assert!(!Query::all(TableId(1), false).selects(&key(1), &written));
    assert!(Query::all(TableId(1), true).selects(&key(1), &written));
    assert!(!Query::all(TableId(1), true).selects(&key(1), &Row::default()));
    assert!(Query::all(TableId(1), false).selects(&key(1), &created(&[])));
}

#[test]
fn what_was_not_written_counts_as_the_schema_says() {
    let open = |value: &str| Condition { field: state(), test: Test::Equal(Value::from(value)) };
    assert!(selects(open("new"), &created(&[])));
    let done = created(&[(STATE, Operation::Put(Value::from("done")))]);
    assert!(!selects(open("new"), &done) && selects(open("done"), &done));
    let none =
        Condition { field: Field::Cell { column: VOTES, absent: Value::Int(0) }, test: Test::AtMost(Value::Int(0)) };
    assert!(selects(none.clone(), &created(&[])) && !selects(none, &created(&[(VOTES, Operation::Add(1))])));
}

#[test]
fn every_test_is_what_it_is_named_for() {
    let (five, x) = (|| Value::Int(5), || Value::from("xyz"));
    let cases = [
        (Test::Equal(five()), vec![five()], vec![Value::Int(4), Value::Null]),
        (Test::Equal(Value::Null), vec![Value::Null], vec![five()]),
        (Test::NotEqual(five()), vec![Value::Int(4), Value::Null], vec![five()]),
        (Test::Less(five()), vec![Value::Int(4)], vec![five(), Value::Null]),
        (Test::AtMost(five()), vec![Value::Int(4), five()], vec![Value::Int(6), Value::Null]),
        (Test::Greater(five()), vec![Value::Int(6)], vec![five(), Value::Null]),
        (Test::AtLeast(five()), vec![five(), Value::Int(6)], vec![Value::Int(4), Value::Null]),
        (Test::OneOf([five(), Value::Null].into()), vec![five(), Value::Null], vec![Value::Int(4)]),
        (Test::BeginsWith("xy".into()), vec![x()], vec![Value::from("ax"), Value::Null]),
        (Test::Contains(five()), vec![], vec![five()]),
    ];
    for (test, holds, fails) in cases {
        assert!(holds.iter().all(|value| test.holds(value)), "{test:?}");
        assert!(!fails.iter().any(|value| test.holds(value)), "{test:?}");
    }
}

#[test]
fn a_set_is_asked_for_its_members() {
    let urgent = Condition {
        field: Field::Cell { column: TAGS, absent: Value::Null },
        test: Test::Contains(Value::from("urgent")),
    };
    assert!(selects(urgent.clone(), &created(&[(TAGS, Operation::Insert(Value::from("urgent")))])));
    assert!(!selects(urgent.clone(), &created(&[(TAGS, Operation::Insert(Value::from("later")))])));
    assert!(!selects(urgent, &created(&[])));
}

#[test]
fn a_field_of_the_primary_key_is_asked_like_a_column() {
    let second = Condition { field: Field::Key(1), test: Test::Greater(Value::Int(3)) };
    let query = Query { conditions: vec![second], ..Query::all(TableId(1), false) };
    assert!(query.selects(&key(4), &created(&[])) && !query.selects(&key(3), &created(&[])));
}

#[test]
fn a_query_ends_where_its_ranges_do() {
    let by_state = Query { index: vec![state()], ..Query::all(TableId(1), false) };
    let (new, done) = (created(&[]), created(&[(STATE, Operation::Put(Value::from("done")))]));
    let of = |value: &str| IndexRange::new(&[Value::from(value)], Bound::Unbounded, Bound::Unbounded).range;
    assert!(by_state.with_range(of("new")).selects(&key(1), &new));
    assert!(!by_state.with_range(of("new")).selects(&key(1), &done));
    assert!(!by_state.within(&KeyRange::one(&key(2))).selects(&key(1), &new));
    let to_second = by_state
        .with_range(KeyRange::all().ending_with(by_state.index_key(&key(2), &new).as_bytes(), Direction::Ascending));
    assert!(to_second.selects(&key(2), &new) && !to_second.selects(&key(3), &new) && to_second.selects(&key(9), &done));
}

#[test]
fn a_query_covers_what_asks_for_less() {
    let all = Query { index: vec![state()], ..Query::all(TableId(1), false) };
    let open = Condition { field: state(), test: Test::NotEqual(Value::from("done")) };
    let some = Query { conditions: vec![open], ..all.clone() };
    let one = some.within(&KeyRange::one(&key(1)));
    assert!(all.covers(&some) && some.covers(&one) && all.covers(&one) && all.covers(&all));
    assert!(!some.covers(&all) && !one.covers(&some) && !all.covers(&Query { index: Vec::new(), ..all.clone() }));
}

#[test]
fn in_the_order_of_primary_keys_a_range_is_one_of_them() {
    let [low, high] = [1, 5].map(|number| KeyRange::one(&key(number)));
    let between = KeyRange { lower: low.lower.clone(), upper: Some(high.lower.clone()) };
    let all = Query::all(TableId(1), false);
    assert_eq!(all.with_range(between.clone()).row_keys(), between);
    assert_eq!(all.within(&between).with_range(low.clone()).row_keys(), low);
    let indexed = Query { index: vec![state()], ..all.with_range(between.clone()) };
    assert_eq!(indexed.row_keys(), KeyRange::all(), "its range is one of index keys");
    assert_eq!(indexed.within(&low).row_keys(), low);
}
