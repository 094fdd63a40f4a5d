//! The rows that a task has read, and why it cannot decide yet.
//!
//! Invariant: a task decides on rows of one timestamp. After a conflict it reads all of them again.

use iolite_values::{Row, Timestamp};

use crate::tables::{Place, Unreadable};

/// Rows as of one timestamp.
#[derive(Debug)]
pub struct Rows {
    pub at: Timestamp,
    read: Vec<(Place, Option<Row>)>,
}

/// Why a task cannot decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// This row has to be read first.
    Unread(Place),
    Unreadable,
}

impl From<Unreadable> for Undecided {
    fn from(_: Unreadable) -> Undecided {
        Undecided::Unreadable
    }
}

impl Rows {
    pub fn new(at: Timestamp) -> Rows {
        Rows { at, read: Vec::new() }
    }

    pub fn add(&mut self, place: Place, row: Option<Row>) {
        self.read.push((place, row));
    }

    /// The row at a place, if it has been read. None: there is no row.
    pub fn get(&self, place: &Place) -> Result<Option<&Row>, Undecided> {
        let read = self.read.iter().find(|(own, _)| own == place);
        read.map(|(_, row)| row.as_ref()).ok_or_else(|| Undecided::Unread(place.clone()))
    }

    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.read.iter().map(|(place, _)| place)
    }
}
