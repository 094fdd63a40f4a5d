//! One snapshot of a client, in plain values.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{CellState, ColumnId, Row, RowKey, Value};

use super::app::{STAYING, ints, number};
use super::names::{Name, Names};

/// A person as a transaction saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    pub status: Name,
    pub friends: BTreeSet<i64>,
    pub visits: i64,
    pub seen: Names,
}

/// Everything that there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub people: BTreeMap<i64, Person>,
    /// The author of each post, by its wall and its name.
    pub wall: BTreeMap<(i64, Name), i64>,
}

impl Snapshot {
    pub fn of(people: Vec<(RowKey, Row)>, wall: Vec<(RowKey, Row)>) -> Snapshot {
        let person = |(key, row): (RowKey, Row)| {
            let [id] = ints(&key);
            let friends = numbers(&row, "friends").collect();
            let (status, visits) = (number(&row, "status").unwrap_or(-1), number(&row, "visits").unwrap_or(0));
            (id, Person { status, friends, visits, seen: names_in(&row, "seen") })
        };
        let post = |(key, row): (RowKey, Row)| {
            let [of, name] = ints(&key);
            ((of, name), number(&row, "by").unwrap_or(-1))
        };
        Snapshot { people: people.into_iter().map(person).collect(), wall: wall.into_iter().map(post).collect() }
    }

    /// The people who are never deleted, as far as they are there.
    pub fn staying(&self) -> impl Iterator<Item = (i64, &Person)> {
        self.people.range(..STAYING).map(|(id, person)| (*id, person))
    }

    /// The names in all rows.
    pub fn names(&self) -> Names {
        let mut names = Names::default();
        self.staying().for_each(|(_, person)| names.add(&person.seen));
        names
    }
}

/// The names in a set of a row.
pub fn names_in(row: &Row, column: &str) -> Names {
    numbers(row, column).collect()
}

fn numbers<'a>(row: &'a Row, column: &str) -> impl Iterator<Item = i64> + 'a {
    let set = match row.cell(ColumnId::of(column)) {
        Some(CellState::Set(set)) => Some(set),
        _ => None,
    };
    set.into_iter().flatten().filter_map(|value| match value {
        Value::Int(value) => Some(*value),
        _ => None,
    })
}
