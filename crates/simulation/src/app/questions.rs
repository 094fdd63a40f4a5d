//! The questions that the app asks, and how the checker's model answers them: row by row, in the plainest way.
//!
//! Invariant: every answer is in one order that the question names, down to the primary key. No index, plan or range of the product is looked at.

use std::cmp::Ordering;

use iolite_client::{Alternative, Question};
use iolite_values::{CellState, ColumnId, Direction, Row, RowKey, Test, Value};

/// The column that is the primary key of every table that is asked.
const KEY: &str = "key";

/// The jobs in a state.
pub(super) fn in_state(state: i64) -> Question {
    asked(vec![("state", Test::Equal(Value::Int(state)))])
}

/// Those of them with at least a rank.
pub(super) fn in_state_from(state: i64, rank: i64) -> Question {
    asked(vec![("state", Test::Equal(Value::Int(state))), ("rank", Test::AtLeast(Value::Int(rank)))])
}

/// The jobs from one rank to before another that are not in a state.
pub(super) fn of_ranks(low: i64, high: i64, but: i64) -> Question {
    asked(vec![
        ("rank", Test::AtLeast(Value::Int(low))),
        ("state", Test::NotEqual(Value::Int(but))),
        ("rank", Test::Less(Value::Int(high))),
    ])
}

pub(super) fn owned_by(owner: i64) -> Question {
    asked(vec![("owner", Test::Equal(Value::Int(owner)))])
}

/// Things that have a tag and are somebody's, and all that are this owner's.
pub(super) fn with_tag_or_of(tag: i64, owner: i64) -> Question {
    let tagged = vec![("tags", Test::Contains(Value::Int(tag))), ("owner", Test::NotEqual(Value::Null))];
    let owned = vec![("owner", Test::Equal(Value::Int(owner)))];
    Question { any_of: vec![vec![named(tagged), named(owned)]], ..asked(Vec::new()) }
}

/// Things of these owners, or of nobody.
pub(super) fn of_few(owner: i64) -> Question {
    asked(vec![("owner", Test::OneOf([Value::Null, Value::Int(owner), Value::Int(owner + 1)].into()))])
}

/// The counters that have come so far.
pub(super) fn come_to(least: i64) -> Question {
    asked(vec![("value", Test::AtLeast(Value::Int(least)))])
}

/// Chairs that stand at a place or behind it.
pub(super) fn stand_from(least: i64) -> Question {
    asked(vec![("x", Test::AtLeast(Value::Int(least)))])
}

fn asked(conditions: Vec<(&str, Test)>) -> Question {
    let order = vec![(KEY.to_owned(), Direction::Ascending)];
    Question { conditions: named(conditions), order, ..Question::default() }
}

fn named(conditions: Vec<(&str, Test)>) -> Alternative {
    conditions.into_iter().map(|(column, test)| (column.to_owned(), test)).collect()
}

/// By a column, and then by the primary key.
pub(super) fn ordered(question: Question, column: &str, reverse: bool, limit: Option<usize>) -> Question {
    let direction = if reverse { Direction::Descending } else { Direction::Ascending };
    let order = [column, KEY].map(|own| (own.to_owned(), direction)).into();
    Question { order, limit, ..question }
}

/// The rows that it asks for, of those that there are.
pub(super) fn answer(question: &Question, rows: impl Iterator<Item = (RowKey, Row)>) -> Vec<(RowKey, Row)> {
    let satisfies = |(key, row): &(RowKey, Row)| {
        let all =
            |asked: &Alternative| asked.iter().all(|(column, test)| holds(test, column, &value(column, key, row), row));
        all(&question.conditions) && question.any_of.iter().all(|alternatives| alternatives.iter().any(all))
    };
    let mut answers: Vec<(RowKey, Row)> = rows.filter(satisfies).collect();
    answers.sort_by(|one, other| {
        let compared = question.order.iter().map(|(column, direction)| {
            let order = value(column, &one.0, &one.1).cmp(&value(column, &other.0, &other.1));
            if *direction == Direction::Descending { order.reverse() } else { order }
        });
        compared.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    answers.truncate(question.limit.unwrap_or(usize::MAX));
    answers
}

fn value(column: &str, key: &RowKey, row: &Row) -> Value {
    if column == KEY {
        return key.values().unwrap_or_default().first().cloned().unwrap_or(Value::Null);
    }
    match row.cell(ColumnId::of(column)) {
        Some(CellState::Scalar(value) | CellState::Register(value)) => value.clone(),
        Some(CellState::Counter(total)) => Value::Int(*total),
        // The only counter that is asked for.
        None if column == "value" => Value::Int(0),
        Some(
            CellState::Row(_)
            | CellState::Set(_)
            | CellState::List(_)
            | CellState::Map(_)
            | CellState::Text(_)
            | CellState::Merged(_),
        )
        | None => Value::Null,
    }
}

fn holds(test: &Test, column: &str, value: &Value, row: &Row) -> bool {
    let is_given = *value != Value::Null;
    match test {
        Test::Equal(other) => value == other,
        Test::NotEqual(other) => value != other,
        Test::Less(other) => is_given && value < other,
        Test::AtMost(other) => is_given && value <= other,
        Test::Greater(other) => is_given && value > other,
        Test::AtLeast(other) => is_given && value >= other,
        Test::OneOf(all) => all.contains(value),
        Test::BeginsWith(beginning) => matches!(value, Value::String(text) if text.starts_with(&**beginning)),
        Test::Contains(member) => {
            matches!(row.cell(ColumnId::of(column)), Some(CellState::Set(set)) if set.contains(member))
        }
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::Operation;

    use super::super::handle::row_key;
    use super::*;

    fn row(writes: &[(&str, Operation)]) -> Row {
        let mut row = Row::default();
        for (column, operation) in writes {
            row.apply(ColumnId::of(column), operation).expect("they fit");
        }
        row
    }

    fn job(state: i64, rank: i64) -> Row {
        let put = |value| Operation::Put(Value::Int(value));
        row(&[("state", put(state)), ("rank", put(rank))])
    }

    fn keys(question: &Question, rows: &[Row]) -> Vec<RowKey> {
        let rows = rows.iter().enumerate().map(|(key, row)| (row_key(&[key as i64]), row.clone()));
        answer(question, rows).into_iter().map(|(key, _)| key).collect()
    }

    fn are(expected: &[i64]) -> Vec<RowKey> {
        expected.iter().map(|key| row_key(&[*key])).collect()
    }

    #[test]
    fn every_condition_has_to_hold_and_the_order_goes_down_to_the_key() {
        let jobs = [job(0, 2), job(1, 2), job(0, 1), job(0, 2), job(0, 0)];
        let queue = |reverse, limit| ordered(in_state_from(0, 1), "rank", reverse, limit);
        assert_eq!(keys(&queue(false, None), &jobs), are(&[2, 0, 3]));
        assert_eq!(keys(&queue(true, None), &jobs), are(&[3, 0, 2]));
        assert_eq!(keys(&queue(true, Some(2)), &jobs), are(&[3, 0]));
        assert_eq!(keys(&of_ranks(1, 3, 0), &jobs), are(&[1]));
    }

    #[test]
    fn what_was_never_written_is_null_or_the_counter_s_zero() {
        let (tagged, own) = (("tags", Operation::Insert(Value::Int(1))), ("owner", Operation::Assign(Value::Int(1))));
        let things = [row(std::slice::from_ref(&tagged)), row(&[tagged, own.clone()]), row(&[own])];
        assert_eq!(keys(&with_tag_or_of(1, 0), &things), are(&[1]));
        assert_eq!(keys(&with_tag_or_of(0, 1), &things), are(&[1, 2]));
        assert_eq!(keys(&with_tag_or_of(0, 0), &things), are(&[]));
        assert_eq!(keys(&of_few(0), &things), are(&[0, 1, 2]));
        assert_eq!(keys(&of_few(2), &things), are(&[0]));
        assert_eq!(keys(&come_to(0), &things), are(&[0, 1, 2]));
        assert_eq!(keys(&come_to(1), &things), are(&[]));
    }
}
