//! Index keys: their order is that of the values, and ranges hold what they say.

use proptest::prelude::*;

use super::*;
use crate::Id;

fn value_of(kind: u8) -> BoxedStrategy<Value> {
    let some = match kind {
        0 => any::<bool>().prop_map(Value::Bool).boxed(),
        1 => prop_oneof![any::<i64>(), -300i64..300].prop_map(Value::Int).boxed(),
        2 => prop_oneof![any::<f64>(), Just(0.0), Just(-1.5), Just(f64::INFINITY), Just(f64::NEG_INFINITY)]
            .prop_filter_map("NaN is no value", |number| Value::float(number).ok())
            .boxed(),
        3 => "[\\x00a-c]{0,4}".prop_map(Value::from).boxed(),
        4 => proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..4).prop_map(Value::bytes).boxed(),
        _ => any::<u128>().prop_map(|bits| Value::Id(Id::from_u128(bits))).boxed(),
    };
    prop_oneof![1 => Just(Value::Null), 6 => some].boxed()
}

fn tuple(kinds: Vec<u8>) -> impl Strategy<Value = Vec<Value>> {
    kinds.into_iter().map(value_of).collect::<Vec<_>>()
}

/// The values of two rows in one index, and their primary keys.
fn pair() -> impl Strategy<Value = ((Vec<Value>, i64), (Vec<Value>, i64))> {
    let of = |kinds: Vec<u8>| ((tuple(kinds.clone()), 0i64..3), (tuple(kinds), 0i64..3), any::<bool>());
    proptest::collection::vec(0u8..6, 1..4).prop_flat_map(of).prop_map(|(a, b, alike)| {
        let values = if alike { a.0.clone() } else { b.0 };
        (a, (values, b.1))
    })
}

fn key(number: i64) -> RowKey {
    RowKey::new(&[Value::Int(number)]).expect("short")
}

fn index_key(values: &[Value], number: i64) -> IndexKey {
    IndexKey::new(values.iter().map(Cow::Borrowed), &key(number))
}

fn bound(kind: u8, value: &Value) -> Bound<&Value> {
    match kind {
        0 => Bound::Unbounded,
        1 => Bound::Included(value),
        _ => Bound::Excluded(value),
    }
}

fn is_between(value: &Value, from: Bound<&Value>, to: Bound<&Value>) -> bool {
    use std::ops::RangeBounds;
    (from, to).contains(value)
}

proptest! {
    #[test]
    fn byte_order_is_the_order_of_values_then_of_primary_keys((a, b) in pair()) {
        prop_assert_eq!(index_key(&a.0, a.1).cmp(&index_key(&b.0, b.1)), a.cmp(&b));
        let (own, primary) = (index_key(&a.0, a.1), key(a.1));
        prop_assert_eq!(own.row_key_bytes(), primary.as_bytes());
    }

    #[test]
    fn a_range_holds_what_lies_between_its_bounds(
        (a, b) in pair(), equal in 0usize..3, from in 0u8..3, to in 0u8..3, swap in any::<bool>(),
    ) {
        let equal = equal.min(a.0.len() - 1);
        let next = |row: &(Vec<Value>, i64)| row.0[equal].clone();
        let (low, high) = if swap { (next(&b), next(&a)) } else { (next(&a), next(&b)) };
        let (from, to) = (bound(from, &low), bound(to, &high));
        let IndexRange { range, is_cut } = IndexRange::new(&a.0[..equal], from, to);
        prop_assert!(!is_cut);
        for row in [&a, &b] {
            let expected = row.0[..equal] == a.0[..equal] && is_between(&row.0[equal], from, to);
            prop_assert_eq!(range.contains_bytes(index_key(&row.0, row.1).as_bytes()), expected);
        }
    }

    #[test]
    fn values_that_are_fixed_are_those_of_every_key_in_the_range(
        (a, b) in pair(), equal in 0usize..3, from in 0u8..3, to in 0u8..3,
    ) {
        let equal = equal.min(a.0.len() - 1);
        let (from, to) = (bound(from, &a.0[equal]), bound(to, &b.0[equal]));
        let IndexRange { range, .. } = IndexRange::new(&a.0[..equal], from, to);
        let fixed = fixed_values(&range);
        prop_assert!(fixed.len() >= equal || range.is_empty());
        for row in [&a, &b].into_iter().filter(|row| range.contains_bytes(index_key(&row.0, row.1).as_bytes())) {
            for (value, own) in fixed.iter().zip(&row.0) {
                let mut encoded = Vec::new();
                encode_indexed(own, &mut encoded);
                prop_assert_eq!(*value, &encoded[..]);
            }
        }
    }

    #[test]
    fn whole_values_that_no_key_of_the_range_begins_with_are_told(
        (a, b) in pair(), equal in 0usize..3, known in 1usize..3, from in 0u8..3, to in 0u8..3,
    ) {
        let equal = equal.min(a.0.len() - 1);
        let (from, to) = (bound(from, &a.0[equal]), bound(to, &b.0[equal]));
        let IndexRange { range, .. } = IndexRange::new(&a.0[..equal], from, to);
        for row in [&a, &b].into_iter().filter(|row| range.contains_bytes(index_key(&row.0, row.1).as_bytes())) {
            let mut prefix = Vec::new();
            for value in row.0.iter().take(known) {
                encode_indexed(value, &mut prefix);
            }
            prop_assert!(has_some_with(&range, &prefix));
        }
    }
}

#[test]
fn values_outside_of_the_range_are_told_from_the_first_fields() {
    let between =
        IndexRange::new(&[Value::from("a")], Bound::Included(&Value::Int(5)), Bound::Excluded(&Value::Int(9)));
    let has = |values: &[Value]| {
        let mut prefix = Vec::new();
        for value in values {
            encode_indexed(value, &mut prefix);
        }
        has_some_with(&between.range, &prefix)
    };
    let (a, b) = (Value::from("a"), Value::from("b"));
    assert!(has(&[]) && has(std::slice::from_ref(&a)) && has(&[a.clone(), Value::Int(5)]));
    assert!(!has(&[b]) && !has(&[a.clone(), Value::Int(4)]) && !has(&[a, Value::Int(9)]));
    let behind = IndexRange::new(&[], Bound::Excluded(&Value::Int(5)), Bound::Unbounded);
    let mut five = Vec::new();
    encode_indexed(&Value::Int(5), &mut five);
    assert!(!has_some_with(&behind.range, &five));
}

#[test]
fn a_long_string_is_in_an_index_by_its_beginning() {
    let long = |end: &str| Value::from("x".repeat(IndexKey::VALUE_BYTES_MAX) + end);
    let (a, b) = (long("a"), long("b"));
    assert!(index_key(std::slice::from_ref(&b), 1) < index_key(std::slice::from_ref(&a), 2), "the primary key decides");
    // Bounds of which something is cut hold what differs behind the cut, on either side.
    for (from, to) in [(Bound::Excluded(&a), Bound::Unbounded), (Bound::Unbounded, Bound::Excluded(&a))] {
        let IndexRange { range, is_cut } = IndexRange::new(&[], from, to);
        assert!(is_cut);
        assert!(
            [&a, &b]
                .map(|value| index_key(std::slice::from_ref(value), 1))
                .iter()
                .all(|key| range.contains_bytes(key.as_bytes()))
        );
    }
}

#[test]
fn a_key_tells_a_value_only_if_no_longer_one_has_the_same_key() {
    for (length, is_told) in [(-1, true), (0, false), (1, false)] {
        let length = IndexKey::VALUE_BYTES_MAX.checked_add_signed(length).expect("some are in a key");
        for value in [Value::from("x".repeat(length)), Value::bytes(vec![0; length])] {
            let ranges = [
                IndexRange::new(std::slice::from_ref(&value), Bound::Unbounded, Bound::Unbounded),
                IndexRange::new(&[], Bound::Excluded(&value), Bound::Unbounded),
                IndexRange::new(&[], Bound::Unbounded, Bound::Included(&value)),
            ];
            assert_eq!(ranges.map(|found| !found.is_cut), [is_told; 3], "{length} bytes");
        }
    }
}

#[test]
fn an_index_key_has_a_length() {
    let zeros = Value::bytes(vec![0; IndexKey::VALUE_BYTES_MAX + 1]);
    let values = vec![Cow::Borrowed(&zeros); crate::Table::INDEX_COLUMNS_MAX];
    let longest = RowKey::new(&[Value::from("x".repeat(RowKey::MAX_BYTES - 2))]).expect("the longest");
    assert_eq!(IndexKey::new(values, &longest).as_bytes().len(), IndexKey::MAX_BYTES);
}
