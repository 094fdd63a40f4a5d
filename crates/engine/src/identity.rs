//! The numbers by which a store, its records and its files are known.

use std::fmt;

/// One life of a store. A new directory gets a new one, and so does a restore from a backup, so that whoever remembers a
/// position of another life notices. The caller draws it at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u128);

impl fmt::Display for Incarnation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

/// The place of a record in the whole life of a store: 1, 2, 3 and so on, across restarts, without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl Position {
    /// The position of a store's first record.
    pub const FIRST: Position = Position(1);

    pub fn next(self) -> Position {
        Position(self.0 + 1)
    }
}

/// The number of a segment, and of the checkpoint that starts there: 1, 2, 3 and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SegmentNumber(pub u64);

impl SegmentNumber {
    pub const FIRST: SegmentNumber = SegmentNumber(1);

    pub fn next(self) -> SegmentNumber {
        SegmentNumber(self.0 + 1)
    }
}
