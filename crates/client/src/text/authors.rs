//! Who inserts: a number for each document.
//!
//! A document never forgets a unit, so it counts its author's units from 0 once. One that is made anew, because an edit was taken back or the row is another
//! one, would begin with the same names, and an edit that stands on the units of the first would fit the second. So it has another author.

use iolite_values::Author;

use crate::transaction::mix;

/// Draws authors, from numbers that no two lives of clients and tabs have together.
#[derive(Debug)]
pub(crate) enum Authors {
    /// Of a tab that has not edited anything yet: its documents are only read.
    Nobody,
    From {
        numbers: u64,
        drawn: u64,
    },
}

impl Authors {
    pub(crate) fn of(numbers: [u64; 4]) -> Authors {
        Authors::From { numbers: mixed(numbers), drawn: 0 }
    }

    pub(super) fn are_nobody(&self) -> bool {
        matches!(self, Authors::Nobody)
    }

    /// The next one. If two draw one author all the same, and use it in one text, the store commits only one of their first edits: see
    /// [`iolite_values::Element::Author`].
    pub(super) fn draw(&mut self) -> Author {
        match self {
            Authors::Nobody => Author(1),
            Authors::From { numbers, drawn } => {
                *drawn += 1;
                Author((mixed([*numbers, *drawn]) as u32).max(1))
            }
        }
    }
}

fn mixed<const N: usize>(numbers: [u64; N]) -> u64 {
    numbers.into_iter().fold(0, |mixed, number| mix(mixed ^ number))
}
