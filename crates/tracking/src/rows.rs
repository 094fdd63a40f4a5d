//! The rows that a task has read, and why it cannot decide yet.
//!
//! Invariant: a task decides on rows of one timestamp. After a conflict it reads all of them again.

use iolite_store::RowAt;
use iolite_values::{Bucket, Interest, KeyRange, Row, Timestamp};

use crate::tables::{Place, Unreadable, objects_of};

/// The rows that one request reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Row(Place),
    /// All objects of a bucket.
    Bucket(Bucket),
}

/// Rows as of one timestamp.
#[derive(Debug)]
pub struct Rows {
    pub at: Timestamp,
    read: Vec<(Place, Option<Row>)>,
    /// The objects of a bucket.
    objects: Vec<RowAt>,
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

impl Wanted {
    pub fn interest(&self) -> Interest {
        match self {
            Wanted::Row(place) => Interest::Range { table: place.table, range: KeyRange::one(&place.key) },
            Wanted::Bucket(bucket) => objects_of(*bucket),
        }
    }
}

impl Rows {
    pub fn new(at: Timestamp) -> Rows {
        Rows { at, read: Vec::new(), objects: Vec::new() }
    }

    pub fn add(&mut self, wanted: Wanted, rows: Vec<RowAt>) {
        match wanted {
            Wanted::Row(place) => self.read.push((place, rows.into_iter().next().map(|row| row.row))),
            Wanted::Bucket(_) => self.objects = rows,
        }
    }

    /// The row at a place, if it has been read. None: there is no row.
    pub fn get(&self, place: &Place) -> Result<Option<&Row>, Undecided> {
        let read = self.read.iter().find(|(own, _)| own == place);
        read.map(|(_, row)| row.as_ref()).ok_or_else(|| Undecided::Unread(place.clone()))
    }

    /// The places that were read after the first one, which the task is about.
    pub fn others(&self) -> impl Iterator<Item = &Place> {
        self.read.iter().skip(1).map(|(place, _)| place)
    }

    pub fn objects(&self) -> &[RowAt] {
        &self.objects
    }
}
