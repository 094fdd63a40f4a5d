//! Trimming: pages of the outbox that all peers have are deleted, and the oldest ones once the outbox is past its limit.
//!
//! Invariants:
//! - the page of the last entry that a peer has said it has stays, and so does the page before the open one: who follows finds where it goes on, and who
//!   starts finds the last entry;
//! - past the limit the first of these does not hold. A peer whose page is gone is *lost*: nothing is kept for it any more. The outbox itself remembers
//!   it, by where it begins.

use std::collections::VecDeque;

use iolite_store::RowAt;
use iolite_values::{Cell, Operation, Timestamp, Write};
use iolite_wire::centres::Place;

use crate::tables;
use crate::tail::{self, Tail};

/// Pages of one deletion.
const PAGES_AT_ONCE: u64 = 64;

/// Where the outbox begins, and how large its pages are.
#[derive(Clone, Debug)]
pub struct Trimming {
    /// The first page that is there.
    first: u64,
    /// Bytes of the entries of each page from the first one on. Of those that were there at the start it is the mean: only their sum is known.
    sizes: VecDeque<u64>,
    waits: Waits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    ForNothing,
    /// All pages before this one are being deleted.
    Asked(u64),
    /// The feed has to come so far.
    Until(Timestamp),
}

impl Trimming {
    /// With the first page, if there is one.
    pub fn new(first: Option<&RowAt>, tail: &Tail) -> Trimming {
        let number = first.and_then(|row| tables::page_number(&row.key)).unwrap_or_default();
        let bytes = tail.bytes().saturating_sub(first.map(tail::begins).unwrap_or_default());
        let pages = tail.page().saturating_sub(number) + 1;
        let sizes = (0..pages).map(|_| bytes.div_ceil(pages)).collect();
        Trimming { first: number, sizes, waits: Waits::ForNothing }
    }

    /// An entry has come with the feed.
    pub fn added(&mut self, place: Place, bytes: usize) {
        let index = (page_of(place).saturating_sub(self.first)) as usize;
        while self.sizes.len() <= index {
            self.sizes.push_back(0);
        }
        self.sizes[index] += bytes as u64;
    }

    /// Bytes of the entries that are kept, about.
    pub fn bytes(&self) -> u64 {
        self.sizes.iter().sum()
    }

    /// Whether a peer that has the outbox through a place does not find there where it goes on.
    pub fn lacks(&self, through: Place) -> bool {
        page_of(through) < self.first
    }

    /// The deletion that is due: all peers that count have the outbox through `least`, and `open` is the page that takes entries.
    pub fn due(&mut self, least: Place, open: u64, position: Timestamp, bytes_max: u64) -> Vec<Write> {
        let is_waiting = match self.waits {
            Waits::ForNothing => false,
            Waits::Asked(_) => true,
            Waits::Until(at) => at > position,
        };
        let end = page_of(least).max(self.first_within(bytes_max));
        let end = end.min(open.saturating_sub(1)).min(self.first + PAGES_AT_ONCE);
        if is_waiting || end <= self.first {
            return Vec::new();
        }
        self.waits = Waits::Asked(end);
        let delete =
            |page| Write { cell: Cell::row(tables::outbox(), tables::page(page)), operation: Operation::Delete };
        (self.first..end).map(delete).collect()
    }

    /// The first page from which on the outbox is within the limit.
    fn first_within(&self, bytes_max: u64) -> u64 {
        let (mut first, mut bytes) = (self.first, self.bytes());
        for size in &self.sizes {
            if bytes <= bytes_max {
                break;
            }
            (first, bytes) = (first + 1, bytes - size);
        }
        first
    }

    /// The deletion has come to an end, which the feed shows at `at`.
    pub fn ended(&mut self, is_done: bool, at: Timestamp) {
        if let (Waits::Asked(end), true) = (self.waits, is_done) {
            self.sizes.drain(..((end - self.first) as usize).min(self.sizes.len()));
            self.first = end;
        }
        self.waits = Waits::Until(at);
    }
}

/// The page of an entry. Before all entries: the first one.
fn page_of(place: Place) -> u64 {
    place.parts().map_or(0, |(page, _)| page)
}
