//! Answers of queries, held to the model: all rows at the timestamp, judged one by one.

use std::ops::Bound;

use iolite_values::{Condition, Direction, Field, IndexRange, Query, Test};
use proptest::prelude::*;

use super::super::INDEXES_MAX;
use super::*;

const STATE: Field = Field::Cell { column: ColumnId(1), absent: Value::Null };
const VOTES: Field = Field::Cell { column: ColumnId(2), absent: Value::Int(0) };

fn any_query() -> impl Strategy<Value = Query> {
    let index =
        prop_oneof![Just(vec![]), Just(vec![STATE]), Just(vec![VOTES, STATE]), Just(vec![STATE, Field::Key(0)])];
    let many = prop_oneof![Just(None), (0i64..5).prop_map(Some)];
    let some =
        (prop_oneof![Just(STATE), Just(VOTES), Just(Field::Key(0))], proptest::collection::btree_set(0i64..4, 0..3))
            .prop_map(|(field, values)| Condition {
                field,
                test: Test::OneOf(values.into_iter().map(Value::Int).collect()),
            });
    let some = proptest::option::of(some);
    (index, many, some, 0i64..4, 0i64..5, any::<bool>()).prop_map(|(index, many, some, low, high, live)| {
        let (low, high) = (Value::Int(low), Value::Int(high));
        let range = match index.len() {
            0 => KeyRange::all(),
            _ => IndexRange::new(&[], Bound::Included(&low), Bound::Excluded(&high)).range,
        };
        let test = |votes| Condition { field: VOTES, test: Test::AtLeast(Value::Int(votes)) };
        Query { index, range, conditions: many.map(test).into_iter().chain(some).collect(), ..Query::all(TABLE, live) }
    })
}

fn any_limit() -> impl Strategy<Value = ReadLimit> {
    let direction = prop_oneof![Just(Direction::Ascending), Just(Direction::Descending)];
    let rows = prop_oneof![Just(usize::MAX), 0usize..3];
    (rows, direction).prop_map(|(rows, direction)| ReadLimit { rows, direction, ..ReadLimit::NONE })
}

fn expected(rows: Vec<RowAt>, query: &Query, limit: ReadLimit) -> Vec<RowAt> {
    let mut answers: Vec<RowAt> = rows.into_iter().filter(|row| query.selects(&row.key, &row.row)).collect();
    answers.sort_by_key(|row| query.index_key(&row.key, &row.row));
    if limit.direction == Direction::Descending {
        answers.reverse();
    }
    answers.truncate(limit.rows.saturating_add(1));
    answers
}

fn asked(versions: &mut Versions, query: &Query, at: Timestamp, limit: ReadLimit) -> Vec<RowAt> {
    asked_looking_at(usize::MAX, versions, query, at, limit)
}

/// So many rows at a time.
fn asked_looking_at(
    looks: usize,
    versions: &mut Versions,
    query: &Query,
    at: Timestamp,
    limit: ReadLimit,
) -> Vec<RowAt> {
    let (mut rest, mut rows) = (query.clone(), Vec::new());
    loop {
        let interest = Interest::Query(Arc::new(rest.clone()));
        let (piece, looked) = versions.read_and_count(&interest, at, limit.behind(&rows), looks).unwrap();
        assert!(piece.reply.rows.len() <= looked.min(looks.max(1)));
        rows.extend(piece.reply.rows);
        let Some(place) = piece.looked_through else { return rows };
        assert!(!piece.reply.is_cut, "it is known by its last row how far it is");
        rest = rest.with_range(rest.range.behind(&place, limit.direction));
    }
}

proptest! {
    /// Asked for at first, in between or at the end, and after what was collected.
    #[test]
    fn answers_are_those_of_the_rows_at_their_timestamp_whenever_the_index_was_made(
        commits in commits(),
        queries in proptest::collection::vec((any_query(), any_limit()), 1..4),
        looks in prop_oneof![Just(usize::MAX), 0usize..6],
        early in 0usize..12,
        collected in 0u64..60,
    ) {
        let mut versions = Versions::default();
        for (number, commit) in commits.iter().enumerate() {
            if number == early {
                for (query, limit) in &queries {
                    asked(&mut versions, query, at(1000), *limit);
                }
            }
            versions.apply(logged(commit.clone())).unwrap();
            versions.validate();
        }
        versions.collect_through(at(collected));
        versions.validate();
        for micros in (collected.next_multiple_of(5)..130).step_by(5) {
            for (query, limit) in &queries {
                let rows = model(&commits, at(micros));
                let answers = asked_looking_at(looks, &mut versions, query, at(micros), *limit);
                prop_assert_eq!(answers, expected(rows, query, *limit));
            }
        }
        versions.validate();
    }
}

/// However many rows lie between them.
#[test]
fn of_some_values_only_the_rows_of_these_are_looked_at() {
    let put = |row: u8| Write {
        cell: Cell { table: TABLE, row: key(row), column: ColumnId(1) },
        operation: Operation::Put(Value::Int(row.into())),
    };
    let writes: Vec<Write> = (0..200).map(put).collect();
    let mut versions = with(&[Commit { at: at(10), transaction: TransactionId::default(), writes: writes.into() }]);
    for (index, field) in [(vec![STATE], STATE), (vec![], Field::Key(0))] {
        let test = Test::OneOf([3, 150, 199, 900].map(Value::Int).into());
        let query = Query { index, conditions: vec![Condition { field, test }], ..Query::all(TABLE, true) };
        asked(&mut versions, &query, at(10), ReadLimit::NONE);
        let interest = Interest::Query(Arc::new(query));
        let (piece, looked) = versions.read_and_count(&interest, at(10), ReadLimit::NONE, usize::MAX).unwrap();
        let found: Vec<RowKey> = piece.reply.rows.into_iter().map(|row| row.key).collect();
        assert_eq!((found, looked), ([3, 150, 199].map(key).to_vec(), 3));
    }
}

#[test]
fn so_many_indexes_are_kept_and_the_last_asked_for_are_among_them() {
    let by = |column: usize| {
        let field = Field::Cell { column: ColumnId(u32::try_from(column).unwrap()), absent: Value::Null };
        Query { index: vec![field], ..Query::all(TABLE, true) }
    };
    let write = Write { cell: Cell { table: TABLE, row: key(1), column: ColumnId(1) }, operation: Operation::Add(1) };
    let commit = Commit { at: at(10), transaction: TransactionId::default(), writes: [write].into() };
    let mut versions = with(&[commit]);
    for column in 1..=INDEXES_MAX {
        asked(&mut versions, &by(column), at(10), ReadLimit::NONE);
        asked(&mut versions, &by(1), at(10), ReadLimit::NONE);
    }
    assert_eq!(versions.indexes.len(), INDEXES_MAX);
    assert_eq!(asked(&mut versions, &by(INDEXES_MAX + 1), at(10), ReadLimit::NONE).len(), 1);
    assert_eq!(versions.indexes.len(), INDEXES_MAX);
    assert!(
        versions.indexes.keys(TABLE, &by(1).index).is_some() && versions.indexes.keys(TABLE, &by(2).index).is_none()
    );
    versions.validate();
}

#[test]
fn who_comes_by_a_write_to_another_column_is_in_no_index_before() {
    let write = |at, column, operation| Commit {
        at,
        transaction: TransactionId::default(),
        writes: [Write { cell: Cell { table: TABLE, row: key(1), column }, operation }].into(),
    };
    let by_state = Query { index: vec![STATE], ..Query::all(TABLE, true) };
    let mut versions = Versions::default();
    assert_eq!(asked(&mut versions, &by_state, at(5), ReadLimit::NONE), []);
    versions.apply(logged(write(at(20), ColumnId(2), Operation::Add(1)))).unwrap();
    versions.apply(logged(write(at(10), ColumnId::ROW, Operation::Delete))).unwrap();
    versions.validate();
    assert_eq!(asked(&mut versions, &by_state, at(20), ReadLimit::NONE).len(), 1);
    assert_eq!(asked(&mut versions, &by_state, at(15), ReadLimit::NONE), []);
}
