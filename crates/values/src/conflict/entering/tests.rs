//! What may come into a query, held to what comes in.

use std::ops::Bound;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{
    ColumnId, Effect, HybridTime, IndexRange, KeyRange, Mark, Operation, Read, Row, Stamp, TableId, Value, disturbs,
    observes,
};

const TABLE: TableId = TableId(1);
/// A scalar, a counter, a set.
const STATE: ColumnId = ColumnId(1);
const VOTES: ColumnId = ColumnId(2);
const TAGS: ColumnId = ColumnId(3);

fn key(number: i64) -> RowKey {
    RowKey::new(&[Value::Int(number)]).expect("short")
}

fn write(column: ColumnId, operation: Operation) -> Write {
    Write { cell: Cell { table: TABLE, row: key(1), column }, operation }
}

fn field(column: ColumnId) -> Field {
    let absent = if column == VOTES { Value::Int(0) } else { Value::Null };
    Field::Cell { column, absent }
}

fn small() -> impl Strategy<Value = i64> {
    0i64..4
}

fn any_write(live: bool) -> impl Strategy<Value = Write> {
    let life = prop_oneof![Just(Operation::Create), Just(Operation::Delete)].prop_map(|own| write(ColumnId::ROW, own));
    let set = prop_oneof![
        3 => small().prop_map(|value| write(STATE, Operation::Put(Value::Int(value)))),
        2 => small().prop_map(|value| write(VOTES, Operation::Add(value - 1))),
        1 => small().prop_map(|value| write(VOTES, Operation::PutTotal(value))),
        2 => small().prop_map(|value| write(TAGS, Operation::Insert(Value::Int(value)))),
        1 => small().prop_map(|value| write(TAGS, Operation::Remove(Value::Int(value)))),
    ];
    if live { set.boxed() } else { prop_oneof![1 => life, 4 => set].boxed() }
}

/// Effects on a row that merges, in any order.
fn any_effect() -> impl Strategy<Value = Write> {
    let mark = || (0u64..4).prop_map(Mark);
    let seen = || proptest::collection::btree_set(mark(), 0..4);
    let assign = (mark(), small()).prop_map(|(mark, value)| {
        (STATE, Effect::Assign { stamp: Stamp { time: HybridTime(1), mark }, value: Value::Int(value) })
    });
    let effect = prop_oneof![
        assign,
        (mark(), small()).prop_map(|(life, amount)| (VOTES, Effect::Add { life, amount })),
        (small(), mark()).prop_map(|(value, mark)| (TAGS, Effect::Insert { value: Value::Int(value), mark })),
        (small(), seen()).prop_map(|(value, seen)| (TAGS, Effect::Remove { value: Value::Int(value), seen })),
        (mark(), mark(), seen()).prop_map(|(life, mark, seen)| (ColumnId::ROW, Effect::Touch { life, mark, seen })),
        seen().prop_map(|seen| (ColumnId::ROW, Effect::Bury { seen })),
    ];
    effect.prop_map(|(column, effect)| write(column, Operation::Merge(effect.into())))
}

fn any_condition() -> impl Strategy<Value = Condition> {
    let test = |value: i64, kind: u8| match kind {
        0 => Test::Equal(Value::Int(value)),
        1 => Test::NotEqual(Value::Int(value)),
        2 => Test::Less(Value::Int(value)),
        3 => Test::AtLeast(Value::Int(value)),
        _ => Test::OneOf([Value::Int(value), Value::Null].into()),
    };
    let single = (prop_oneof![Just(STATE), Just(VOTES)], small(), 0u8..5);
    let key =
        (small(), 0u8..5).prop_map(move |(value, kind)| Condition { field: Field::Key(0), test: test(value, kind) });
    prop_oneof![
        4 => single.prop_map(move |(column, value, kind)| Condition { field: field(column), test: test(value, kind) }),
        2 => small().prop_map(|value| Condition { field: field(TAGS), test: Test::Contains(Value::Int(value)) }),
        1 => key,
    ]
}

fn any_query(live: bool) -> impl Strategy<Value = Query> {
    let index = prop_oneof![
        Just(vec![]),
        Just(vec![field(STATE)]),
        Just(vec![field(STATE), field(VOTES)]),
        Just(vec![field(VOTES), Field::Key(0), field(STATE)]),
    ];
    let some = |least| proptest::collection::vec(any_condition(), least..3);
    let alternatives = proptest::collection::vec(some(1), 1..4).prop_map(AnyOf);
    let conditions = (some(0), proptest::collection::vec(alternatives, 0..3));
    (index, conditions, small(), small(), 0usize..3).prop_map(move |(index, conditions, low, high, equal)| {
        let (low, high) = (Value::Int(low), Value::Int(high));
        let (equal, from, to) = match (index.len(), equal) {
            (0, _) | (_, 0) => (vec![], Bound::Unbounded, Bound::Unbounded),
            (1, _) | (_, 1) => (vec![], Bound::Included(&low), Bound::Excluded(&high)),
            (_, _) => (vec![low.clone()], Bound::Unbounded, Bound::Included(&high)),
        };
        let range = IndexRange::new(&equal, from, to).range;
        let (conditions, any_of) = conditions;
        Query { index, conditions, any_of, range, ..Query::all(TABLE, live) }
    })
}

fn after(row: &Row, writes: &[Write]) -> Row {
    let mut row = row.clone();
    for write in writes {
        row.apply(write.cell.column, &write.operation).expect("it fits");
    }
    row
}

fn cases() -> impl Strategy<Value = (Query, Vec<Write>, Vec<Write>)> {
    any::<bool>().prop_flat_map(|live| {
        let writes = |most| proptest::collection::vec(any_write(live), 0..most);
        (any_query(live), writes(6), writes(4))
    })
}

fn merging_cases() -> impl Strategy<Value = (Query, Vec<Write>, Vec<Write>)> {
    let effects = |most| proptest::collection::vec(any_effect(), 0..most);
    (any_query(false), effects(6), effects(4))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn a_row_that_comes_in_is_never_missed((query, before, writes) in prop_oneof![3 => cases(), 1 => merging_cases()]) {
        let before = after(&Row::default(), &before);
        let entered = !query.selects(&key(1), &before) && query.selects(&key(1), &after(&before, &writes));
        let read = Read::Query(Arc::new(query));
        prop_assert!(!entered || disturbs(&writes, &read));
        // Judged one by one, writes are never thought to do less than together.
        prop_assert!(!disturbs(&writes, &read) || writes.iter().any(|write| observes(&read, write)));
    }
}

fn may_enter(query: &Query, writes: &[Write]) -> bool {
    disturbs(writes, &Read::Query(Arc::new(query.clone())))
}

fn asks(column: ColumnId, test: Test) -> Condition {
    Condition { field: field(column), test }
}

fn open() -> Query {
    let conditions = vec![asks(STATE, Test::Equal(Value::Int(1))), asks(TAGS, Test::Contains(Value::Int(7)))];
    Query { conditions, ..Query::all(TABLE, false) }
}

fn put(value: i64) -> Write {
    write(STATE, Operation::Put(Value::Int(value)))
}

#[test]
fn a_row_comes_in_by_what_the_query_looks_at_and_by_nothing_else() {
    assert!(may_enter(&open(), &[put(1)]));
    assert!(!may_enter(&open(), &[put(2)]), "it is set to what the query does not want");
    assert!(!may_enter(&open(), &[write(VOTES, Operation::Add(1))]), "nothing that the query looks at");
    assert!(!may_enter(&open(), &[put(1), put(2)]), "the last of two");
    assert!(!may_enter(&open(), &[write(ColumnId::ROW, Operation::Delete)]));
    assert!(!may_enter(&open(), &[]));
}

#[test]
fn a_row_comes_in_by_one_of_two_alternatives() {
    let seven = || Test::Contains(Value::Int(7));
    let first = vec![asks(STATE, Test::Equal(Value::Int(1))), asks(VOTES, Test::AtLeast(Value::Int(3)))];
    let query = Query { any_of: vec![AnyOf(vec![first, vec![asks(TAGS, seven())]])], ..Query::all(TABLE, false) };
    let total = |value| write(VOTES, Operation::PutTotal(value));
    let insert = |value| write(TAGS, Operation::Insert(Value::Int(value)));
    assert!(may_enter(&query, &[put(1)]) && may_enter(&query, &[total(3)]) && may_enter(&query, &[insert(7)]));
    assert!(!may_enter(&query, &[put(2)]), "not by the first one, and the second was not touched");
    assert!(!may_enter(&query, &[put(1), total(2)]) && !may_enter(&query, &[insert(6)]));
    assert!(may_enter(&query, &[put(2), insert(7)]), "the second one is enough");
    let without = write(TAGS, Operation::Remove(Value::Int(7)));
    assert!(!may_enter(&query, &[put(2), without.clone()]) && may_enter(&query, &[put(1), without]));
    let create = || write(ColumnId::ROW, Operation::Create);
    assert!(!may_enter(&query, &[create(), put(1)]) && may_enter(&query, &[create(), put(1), total(3)]));
    let beside = Query { conditions: vec![asks(STATE, Test::Equal(Value::Int(1)))], ..query };
    assert!(!may_enter(&beside, &[put(2), insert(7)]), "what stands beside the alternatives has to hold, too");
}

#[test]
fn of_a_new_row_everything_is_known() {
    let create = || write(ColumnId::ROW, Operation::Create);
    let insert = |value| write(TAGS, Operation::Insert(Value::Int(value)));
    assert!(!may_enter(&open(), &[create(), put(1)]), "it has no tags");
    assert!(!may_enter(&open(), &[create(), put(1), insert(6)]));
    assert!(may_enter(&open(), &[create(), put(1), insert(7)]));
    assert!(!may_enter(&open(), &[put(1), insert(7), create()]), "what came before it was created is gone");
    let none = Query { conditions: vec![asks(VOTES, Test::Equal(Value::Int(0)))], ..Query::all(TABLE, false) };
    assert!(may_enter(&none, &[create()]), "nothing written counts as none");
    assert!(!may_enter(&none, &[create(), write(VOTES, Operation::Add(1))]));
}

#[test]
fn members_of_a_set_are_told_apart() {
    let member = |operation: fn(Value) -> Operation, value| write(TAGS, operation(Value::Int(value)));
    assert!(may_enter(&open(), &[member(Operation::Insert, 7)]));
    assert!(!may_enter(&open(), &[member(Operation::Insert, 6)]));
    assert!(!may_enter(&open(), &[member(Operation::Insert, 7), member(Operation::Remove, 7)]));
}

#[test]
fn what_rests_on_what_was_there_may_satisfy_anything() {
    let many = Query { conditions: vec![asks(VOTES, Test::AtLeast(Value::Int(100)))], ..Query::all(TABLE, false) };
    assert!(may_enter(&many, &[write(VOTES, Operation::Add(1))]));
    assert!(!may_enter(&many, &[write(VOTES, Operation::PutTotal(98)), write(VOTES, Operation::Add(1))]));
}

#[test]
fn a_place_in_the_index_is_judged_as_far_as_it_is_known() {
    let index = vec![field(STATE), field(VOTES)];
    let (one, five) = (Value::Int(1), Value::Int(5));
    let range = IndexRange::new(&[one], Bound::Included(&five), Bound::Unbounded).range;
    let query = Query { index, range, ..Query::all(TABLE, false) };
    let total = |value| write(VOTES, Operation::PutTotal(value));
    assert!(may_enter(&query, &[put(1)]) && may_enter(&query, &[total(5)]) && may_enter(&query, &[put(1), total(6)]));
    assert!(!may_enter(&query, &[put(2)]));
    assert!(!may_enter(&query, &[total(4)]), "of all keys in the range the first value is the same");
    assert!(!may_enter(&query, &[put(1), total(4)]));
}

#[test]
fn rows_outside_of_the_primary_keys_never_come_in() {
    let query = open().within(&KeyRange::one(&key(2)));
    assert!(!may_enter(&query, &[put(1)]));
    assert!(!may_enter(&Query { table: TableId(2), ..open() }, &[put(1)]));
}

#[test]
fn a_row_of_a_live_table_comes_in_with_whatever_is_written_to_it_first() {
    let none = Query { conditions: vec![asks(STATE, Test::Equal(Value::Null))], ..Query::all(TABLE, true) };
    assert!(may_enter(&none, &[write(VOTES, Operation::Add(1))]));
    assert!(!may_enter(&none, &[put(1)]));
}
