//! The end of this data centre's outbox, as the feed has it.
//!
//! Invariant: a place is a page and an index in the page's list, so every gateway of the data centre, and every later life, gives an entry the same place.

use std::sync::Arc;

use iolite_logs::{PAGE_BYTES_MAX, PAGE_ENTRIES_MAX, Page, PageCells};
use iolite_store::{Commit, RowAt};
use iolite_values::{Cell, CellState, ListOrder, LogPages, Operation, Read, Value, Write};
use iolite_wire::centres::{OutboxEntry, Place};

use crate::tables;

/// The page that takes entries, and the last entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    page: u64,
    entries: u64,
    bytes: usize,
    /// Bytes of the entries of all pages before this one, those that were deleted among them.
    begins: u64,
    last: Place,
    /// The last entry that is no mark, when the pages were read. If all that were read are marks, the last one of them.
    last_transaction: Place,
}

/// Entries on their way to a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    pub entries: usize,
    pub bytes: usize,
}

/// The writes that append an entry.
#[derive(Clone, Debug)]
pub struct Append {
    pub page: u64,
    pub reads: Vec<Read>,
    pub writes: Vec<Write>,
}

impl Tail {
    /// After the last pages, in order: two at least, if there are so many, because the last one may be empty.
    pub fn of(last_pages: &[RowAt]) -> Tail {
        let start = Place::START;
        let mut tail = Tail { page: 0, entries: 0, bytes: 0, begins: 0, last: start, last_transaction: start };
        for row in last_pages {
            let Some(number) = tables::page_number(&row.key) else { continue };
            (tail.page, tail.entries, tail.bytes, tail.begins) = (number, 0, 0, begins(row));
            let page = Page::of(Some(&row.row));
            while let Some(entry) = page.entry(tail.entries) {
                tail.add(entry.len());
                if !matches!(OutboxEntry::decode(entry), Ok(OutboxEntry::Seen(_))) {
                    tail.last_transaction = tail.last;
                }
            }
            if page.is_closed() {
                tail.turn();
            }
        }
        if tail.last_transaction == start {
            tail.last_transaction = tail.last;
        }
        tail
    }

    /// The last entry by which anything may have been shown, when the pages were read: peers owe each other no news of marks, so nobody may wait for one.
    pub fn last_transaction(&self) -> Place {
        self.last_transaction
    }

    pub fn last(&self) -> Place {
        self.last
    }

    pub fn page(&self) -> u64 {
        self.page
    }

    /// Bytes of all entries that were ever appended.
    pub fn bytes(&self) -> u64 {
        self.begins + self.bytes as u64
    }

    /// Takes a commit of the feed. Returns the entry that it has appended, if it has.
    pub fn fold(&mut self, commit: &Commit) -> Option<(Place, Arc<[u8]>)> {
        let mut appended = None;
        for write in commit.writes.iter().filter(|write| write.cell.table == tables::outbox()) {
            if let Operation::Append { value: Value::Bytes(bytes), order: ListOrder::Commit } = &write.operation {
                self.add(bytes.len());
                appended = Some((self.last, bytes.clone()));
            } else if write.cell.column == LogPages::closed_column() {
                self.turn();
            }
        }
        appended
    }

    /// How an entry is appended to the page that takes entries, behind those that are on their way to it.
    pub fn append(&self, ahead: Ahead, entry: Vec<u8>) -> Append {
        let entries = self.entries as usize + ahead.entries + 1;
        let bytes = entry.len();
        let turns = entries >= PAGE_ENTRIES_MAX || self.bytes + ahead.bytes + bytes >= PAGE_BYTES_MAX;
        let cells = PageCells::of(tables::outbox(), tables::page(self.page));
        let (reads, mut writes) = cells.append(self.last == Place::START, entry, turns);
        if turns {
            // The next page is there before anybody appends to it: those who do are not in each other's way.
            let next = Cell::row(tables::outbox(), tables::page(self.page + 1));
            let bytes = Value::Int((self.bytes() + (ahead.bytes + bytes) as u64) as i64);
            let begins = Cell { column: tables::begins_column(), ..next.clone() };
            writes.push(Write { cell: next, operation: Operation::Create });
            writes.push(Write { cell: begins, operation: Operation::Put(bytes) });
        }
        Append { page: self.page, reads, writes }
    }

    fn add(&mut self, bytes: usize) {
        self.last = Place::new(self.page, self.entries);
        self.entries += 1;
        self.bytes += bytes;
    }

    fn turn(&mut self) {
        (self.page, self.entries, self.bytes, self.begins) = (self.page + 1, 0, 0, self.bytes());
    }
}

/// Bytes of the entries of all pages before this one. It was written when the page before was turned, by who turned it: entries that were on their way
/// to that page then count, wherever they came to stand. So it may be a page's worth too much.
pub fn begins(page: &RowAt) -> u64 {
    match page.row.cell(tables::begins_column()) {
        Some(CellState::Scalar(Value::Int(bytes))) => u64::try_from(*bytes).unwrap_or_default(),
        _ => 0,
    }
}
