//! Trimming: pages of the outbox that all peers have are deleted.
//!
//! Invariant: the page of the last entry that a peer has said it has stays, and so does the page before the open one: who follows finds where it goes on, and
//! who starts finds the last entry.

use iolite_store::RowAt;
use iolite_values::{Cell, Operation, Timestamp, Write};
use iolite_wire::centres::Place;

use crate::tables;

/// Pages of one deletion.
const PAGES_AT_ONCE: u64 = 64;

/// Where the outbox begins.
#[derive(Clone, Debug)]
pub struct Trimming {
    /// The first page that is there.
    first: u64,
    /// One is on its way; or the feed has to come so far.
    waits: Option<Option<Timestamp>>,
}

impl Trimming {
    /// With the first page, if there is one.
    pub fn new(first: Option<&RowAt>) -> Trimming {
        let first = first.and_then(|row| tables::page_number(&row.key)).unwrap_or_default();
        Trimming { first, waits: None }
    }

    /// The deletion that is due: all peers have the outbox through `least`, and `open` is the page that takes entries.
    pub fn due(&mut self, least: Place, open: u64, position: Timestamp) -> Vec<Write> {
        let is_waiting = self.waits.is_some_and(|until| until.is_none_or(|at| at > position));
        let (end, _) = least.parts().unwrap_or_default();
        let end = end.min(open.saturating_sub(1)).min(self.first + PAGES_AT_ONCE);
        if is_waiting || end <= self.first {
            return Vec::new();
        }
        let pages = self.first..end;
        (self.first, self.waits) = (end, Some(None));
        let delete =
            |page| Write { cell: Cell::row(tables::outbox(), tables::page(page)), operation: Operation::Delete };
        pages.map(delete).collect()
    }

    /// The deletion has come to an end, which the feed shows at `at`. One that was not taken is made up for by the next start.
    pub fn ended(&mut self, at: Timestamp) {
        self.waits = Some(Some(at));
    }
}
