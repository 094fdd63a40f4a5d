//! What queries select.

use std::ops::Bound;

use proptest::prelude::*;

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

/// Of two alternatives, the first of two conditions.
fn open_and_popular_or_urgent() -> Query {
    let votes = Field::Cell { column: VOTES, absent: Value::Int(0) };
    let tags = Field::Cell { column: TAGS, absent: Value::Null };
    let open = Condition { field: state(), test: Test::Equal(Value::from("new")) };
    let popular = Condition { field: votes, test: Test::AtLeast(Value::Int(3)) };
    let urgent = Condition { field: tags, test: Test::Contains(Value::from("urgent")) };
    let any_of = vec![AnyOf(vec![vec![open, popular], vec![urgent]])];
    Query { any_of, ..Query::all(TableId(1), false) }
}

#[test]
fn of_alternatives_one_has_to_hold_with_all_of_its_conditions() {
    let query = open_and_popular_or_urgent();
    let done = || (STATE, Operation::Put(Value::from("done")));
    let (popular, urgent) = ((VOTES, Operation::Add(3)), (TAGS, Operation::Insert(Value::from("urgent"))));
    assert!(query.selects(&key(1), &created(std::slice::from_ref(&popular))));
    assert!(query.selects(&key(1), &created(&[done(), urgent.clone()])));
    assert!(query.selects(&key(1), &created(&[popular.clone(), urgent])));
    assert!(!query.selects(&key(1), &created(&[])), "of the first alternative one condition holds");
    assert!(!query.selects(&key(1), &created(&[done(), popular.clone()])));
    let not_first = Condition { field: Field::Key(1), test: Test::NotEqual(Value::Int(1)) };
    let narrower = Query { conditions: vec![not_first], ..query };
    assert!(narrower.selects(&key(2), &created(std::slice::from_ref(&popular))));
    assert!(!narrower.selects(&key(1), &created(&[popular])), "the other conditions have to hold beside that");
}

#[test]
fn a_query_looks_at_what_its_alternatives_ask_and_counts_what_they_take() {
    let (all, query) = (Query::all(TableId(1), false), open_and_popular_or_urgent());
    assert_eq!(query.columns(), [STATE, VOTES, TAGS].into());
    assert_eq!(query.every_condition().count(), 3);
    assert!(query.conditions_bytes() > 20 && query.size_bytes() == all.size_bytes() + query.conditions_bytes());
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
    let alternatives = open_and_popular_or_urgent();
    let plain = Query::all(TableId(1), false);
    assert!(plain.covers(&alternatives) && !alternatives.covers(&plain) && alternatives.covers(&alternatives));
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

/// A query of two fields, by conditions, by an index of both, or by a page of one.
fn any_bounded() -> impl Strategy<Value = Query> {
    let text = || prop_oneof![Just(""), Just("a"), Just("a\0"), Just("a\0b"), Just("ab"), Just("b")];
    let value = || (text(), 0i64..4).prop_map(|(text, number)| (Value::from(text), Value::Int(number)));
    let test = (0u8..9, value(), any::<bool>()).prop_map(|(kind, (text, number), is_text)| {
        if kind == 8 {
            let some = Test::OneOf([number, Value::Int(3), Value::Null].into());
            return Condition { field: if is_text { Field::Key(1) } else { votes() }, test: some };
        }
        let value = if is_text { text.clone() } else { number };
        let test = match kind {
            0 => Test::Equal(value),
            1 => Test::NotEqual(value),
            2 => Test::Less(value),
            3 => Test::AtMost(value),
            4 => Test::Greater(value),
            5 => Test::AtLeast(value),
            6 => Test::OneOf([value, text, Value::Null].into_iter().filter(|_| is_text).collect()),
            _ => Test::BeginsWith("a".into()),
        };
        let is_text = is_text || matches!(test, Test::OneOf(_) | Test::BeginsWith(_));
        Condition { field: if is_text { state() } else { votes() }, test }
    });
    let range = (0u8..5, value(), value(), any::<bool>()).prop_map(|(kind, from, to, direction)| {
        let all = KeyRange::all();
        let direction = if direction { Direction::Ascending } else { Direction::Descending };
        let at = |(text, number): (Value, Value)| {
            IndexKey::new([text, number].into_iter().map(std::borrow::Cow::Owned), &key(1))
        };
        match kind {
            0 => all,
            1 => IndexRange::new(&[from.0], Bound::Unbounded, Bound::Unbounded).range,
            2 => IndexRange::new(&[], Bound::Excluded(&from.0), Bound::Included(&to.0)).range,
            3 => IndexRange::new(&[from.0], Bound::Excluded(&from.1), Bound::Excluded(&to.1)).range,
            _ => all.behind(at(from).as_bytes(), direction).ending_with(at(to).as_bytes(), direction),
        }
    });
    (proptest::collection::vec(test, 0..3), range, any::<bool>(), 0u8..3).prop_map(
        |(conditions, range, is_indexed, part)| {
            let keys = match part {
                0 => KeyRange::all(),
                1 => KeyRange::all().from(&key(2)),
                _ => KeyRange::prefix(&[Value::from("a")]).expect("short"),
            };
            let (index, range) = if is_indexed { (vec![state(), votes()], range) } else { (vec![], KeyRange::all()) };
            Query { index, range, keys, conditions, ..Query::all(TableId(1), false) }
        },
    )
}

fn votes() -> Field {
    Field::Cell { column: VOTES, absent: Value::Int(0) }
}

proptest! {
    #[test]
    fn answers_stand_where_their_query_says_in_any_index(
        query in any_bounded(),
        text in proptest::option::of(prop_oneof![Just(""), Just("a"), Just("a\0"), Just("a\0b"), Just("ab"), Just("b")]),
        number in 0i64..4,
        own in 0i64..4,
    ) {
        let text = text.map(|text| (STATE, Operation::Put(Value::from(text))));
        let row = created(&text.into_iter().chain([(VOTES, Operation::Add(number))]).collect::<Vec<_>>());
        for fields in [vec![], vec![state()], vec![votes()], vec![state(), votes()], vec![votes(), state()]] {
            let place = IndexKey::new(fields.iter().map(|field| field.value(&key(own), &row)), &key(own));
            let is_there = query.range_in(&fields).contains_bytes(place.as_bytes());
            prop_assert!(is_there || !query.selects(&key(own), &row), "{:?} in {:?}", query, fields);
            let lies = |field| query.values_of(field).contains_bytes(place.as_bytes());
            let is_between = fields.first().is_none_or(lies);
            prop_assert!(is_between || !query.selects(&key(own), &row), "{:?} of {:?}", query, fields);
        }
        let (place, stretches) = (query.index_key(&key(own), &row), query.stretches());
        let there = stretches.iter().filter(|range| range.contains_bytes(place.as_bytes())).count();
        prop_assert!(there == 1 || !query.selects(&key(own), &row), "{:?} in {:?}", query, stretches);
        let whole = if query.index.is_empty() { query.row_keys() } else { query.range.clone() };
        prop_assert!(stretches.iter().all(|range| whole.covers(range)), "{:?} of {:?}", stretches, whole);
        let ordered = stretches.windows(2).all(|two| two[0].upper.as_ref().is_some_and(|upper| *upper <= two[1].lower));
        prop_assert!(ordered, "{:?}", stretches);
    }
}

fn some_of(field: &Field, values: &[Value]) -> Condition {
    Condition { field: field.clone(), test: Test::OneOf(values.iter().cloned().collect()) }
}

fn at_least(votes_least: i64) -> Condition {
    Condition { field: votes(), test: Test::AtLeast(Value::Int(votes_least)) }
}

/// Null, -1 and 7 votes.
fn three() -> Condition {
    some_of(&votes(), &[Value::Int(7), Value::Int(-1), Value::Null])
}

fn with(values: &[Value]) -> KeyRange {
    IndexRange::new(values, Bound::Unbounded, Bound::Unbounded).range
}

fn stretches(index: &[Field], range: KeyRange, conditions: Vec<Condition>) -> Vec<KeyRange> {
    Query { index: index.to_vec(), range, conditions, ..Query::all(TableId(1), false) }.stretches()
}

#[test]
fn of_a_field_of_which_some_values_are_asked_each_is_a_stretch() {
    let (a, all) = (|| Value::from("a"), KeyRange::all);
    let expected = [Value::Null, Value::Int(-1), Value::Int(7)];
    assert_eq!(stretches(&[votes()], all(), vec![three()]), expected.clone().map(|value| with(&[value])));
    let behind = expected.map(|value| with(&[a(), value]));
    assert_eq!(stretches(&[state(), votes()], with(&[a()]), vec![three()]), behind, "behind what is equal");
    assert_eq!(stretches(&[state(), votes()], all(), vec![three()]), [all()], "of a later field");
    let positive = IndexRange::new(&[], Bound::Excluded(&Value::Int(-1)), Bound::Unbounded).range;
    assert_eq!(stretches(&[votes()], positive, vec![three()]), [with(&[Value::Int(7)])], "those of the range");
    // In a key there is no null, and of long strings an index has the beginning only.
    let keys = some_of(&Field::Key(0), &[Value::Int(2), Value::Null]);
    assert_eq!(stretches(&[], all(), vec![keys]), [KeyRange::prefix(&[Value::Int(2)]).expect("short")]);
    let long = |end: &str| Value::from("x".repeat(300) + end);
    let alike = some_of(&state(), &[long("a"), long("b")]);
    assert_eq!(stretches(&[state()], all(), vec![alike]), [with(&[long("")])]);
    assert_eq!(stretches(&[state()], all(), vec![some_of(&state(), &[])]), []);
}

#[test]
fn a_stretch_is_as_narrow_as_the_next_field_allows() {
    let (index, three) = ([state(), votes()], Value::Int(3));
    let texts = ["a", "b"].map(Value::from);
    let many = |text: Value| IndexRange::new(&[text], Bound::Included(&three), Bound::Unbounded).range;
    let found = stretches(&index, KeyRange::all(), vec![some_of(&state(), &texts), at_least(3)]);
    assert_eq!(found, texts.map(many));
    // So is a page of one value.
    let (a, seven) = ([Value::from("a")], Value::Int(7));
    let page = KeyRange { upper: with(&[a[0].clone(), seven.clone()]).upper, ..with(&a) };
    let expected = IndexRange::new(&a, Bound::Included(&three), Bound::Included(&seven)).range;
    assert_eq!(stretches(&index, page, vec![at_least(3)]), [expected]);
    // Behind its fields an index has the primary key.
    let keys = KeyRange::prefix(&[Value::from("k")]).expect("short");
    let of_keys = Query { index: vec![state()], range: with(&a), ..Query::all(TableId(1), false) };
    let [part] = &of_keys.within(&keys).stretches()[..] else { panic!("one value") };
    assert_eq!(part.lower.strip_prefix(&with(&a).lower[..]), Some(&keys.lower[..]));
}

#[test]
fn keys_have_stretches_whichever_the_index_is() {
    let both = vec![three(), some_of(&Field::Key(0), &[Value::Int(2), Value::Int(5)])];
    let query = Query { index: vec![votes()], conditions: both, ..Query::all(TableId(1), false) };
    let expected = [2, 5].map(|key| KeyRange::prefix(&[Value::Int(key)]).expect("short"));
    assert_eq!(query.key_stretches(), expected);
    assert_eq!(query.within(&expected[1]).key_stretches(), expected[1..]);
}

#[test]
fn an_index_tells_queries_apart_by_every_value_that_they_ask_for() {
    let equal = |field: Field, value: Value| Condition { field, test: Test::Equal(value) };
    let of = |text: &str, number: i64| Query {
        conditions: vec![equal(votes(), Value::Int(number)), equal(state(), Value::from(text))],
        ..Query::all(TableId(1), false)
    };
    assert!(of("a", 1).leaves_one_value(&state()) && !Query::all(TableId(1), false).leaves_one_value(&state()));
    let ranges = [("a", 1), ("a", 2), ("b", 1)].map(|(text, number)| of(text, number).range_in(&[state(), votes()]));
    let meet = |a: &KeyRange, b: &KeyRange| !a.within(b).is_empty();
    assert!(!meet(&ranges[0], &ranges[1]) && !meet(&ranges[1], &ranges[2]) && !meet(&ranges[0], &ranges[2]));
}
