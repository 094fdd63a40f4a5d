//! Pages: a log is a commit-ordered list of entries that is cut into rows.
//!
//! Invariant: whoever appends to a page has read that it is open, and whoever closes a page writes that, so of an append and a turn at once only one
//! commits as it is. An entry that turns the page is its last one: what a client appends behind it nevertheless, nobody replays.
//! Source: Iolite's own; Hercules has one server that appends.

use iolite_values::{
    Cell, CellState, KeyError, ListOrder, LogId, LogPages, Operation, Read, Row, RowKey, TableId, Value, Write,
};
use iolite_wire::logs::LogEntry;

/// Entries of a page. With so many it is turned.
pub const PAGE_ENTRIES_MAX: usize = 128;
/// Bytes of entries of a page. With so many it is turned.
pub const PAGE_BYTES_MAX: usize = 128 << 10;
/// Pages that are followed as one.
pub const BLOCK_PAGES: u64 = 8;

/// A page as somebody holds it.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    row: Option<&'a Row>,
    /// Entries on their way to it, and their bytes.
    ahead: (usize, usize),
    entries_max: usize,
}

impl<'a> Page<'a> {
    /// The row of the page, if there is one.
    pub fn of(row: Option<&'a Row>) -> Page<'a> {
        Page { row: row.filter(|row| row.exists()), ahead: (0, 0), entries_max: PAGE_ENTRIES_MAX }
    }

    /// The same, which is turned with so many entries.
    #[must_use]
    pub fn turned_with(self, entries_max: usize) -> Page<'a> {
        Page { entries_max, ..self }
    }

    /// The same, to which so many entries are on their way that its author appends before the next.
    #[must_use]
    pub fn behind(self, entries: usize, bytes: usize) -> Page<'a> {
        Page { ahead: (entries, bytes), ..self }
    }

    pub fn exists(&self) -> bool {
        self.row.is_some()
    }

    /// The bytes of an entry.
    pub fn entry(&self, place: u64) -> Option<&'a [u8]> {
        match self.entries().get(usize::try_from(place).ok()?)? {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub fn is_closed(&self) -> bool {
        let Some(row) = self.row else { return false };
        matches!(row.cell(LogPages::closed_column()), Some(CellState::Scalar(Value::Bool(true))))
    }

    fn entries(&self) -> &'a [Value] {
        match self.row.and_then(|row| row.cell(LogPages::entries_column())) {
            Some(CellState::List(entries)) => entries,
            _ => &[],
        }
    }

    /// Whether the next entry is to be the last one.
    fn is_full_with(&self, bytes: usize) -> bool {
        let own: usize = self.entries().iter().map(Value::size_bytes).sum();
        let (entries, ahead) = self.ahead;
        self.entries().len() + entries + 1 >= self.entries_max || own + ahead + bytes >= PAGE_BYTES_MAX
    }
}

/// The reads and writes that append an entry to an open page.
///
/// # Errors
/// [`KeyError::TooLong`]: the log's name and instance are too long for a key. The entry cannot be encoded: it is past its limit.
pub fn append_to(
    log: &LogId,
    number: u64,
    page: Page<'_>,
    entry: LogEntry,
) -> Result<(Vec<Read>, Vec<Write>), AppendError> {
    let key = log.page(number)?;
    let turns = page.is_full_with(entry.arguments.len() + entry.operation.len());
    let entry = LogEntry { turns, ..entry }.encode()?;
    Ok(PageCells::of(LogPages::table(), key).append(!page.exists(), entry, turns))
}

/// The cells of a page, in whatever table pages are.
#[derive(Clone, Debug)]
pub struct PageCells {
    life: Cell,
    entries: Cell,
    closed: Cell,
}

impl PageCells {
    /// The cells of the page with this key. The columns are those of [`LogPages`].
    pub fn of(table: TableId, page: RowKey) -> PageCells {
        let cell = |column| Cell { table, row: page.clone(), column };
        let (entries, closed) = (cell(LogPages::entries_column()), cell(LogPages::closed_column()));
        PageCells { life: Cell::row(table, page), entries, closed }
    }

    /// The reads and writes that append an entry to a page that is open. `is_new`: nothing was appended to it before. `turns`: nothing is appended
    /// to it any more.
    pub fn append(self, is_new: bool, entry: Vec<u8>, turns: bool) -> (Vec<Read>, Vec<Write>) {
        let PageCells { life, entries, closed } = self;
        let mut writes = Vec::new();
        if is_new {
            writes.push(Write { cell: life.clone(), operation: Operation::Create });
        }
        let append = Operation::Append { value: Value::Bytes(entry.into()), order: ListOrder::Commit };
        writes.push(Write { cell: entries, operation: append });
        if turns {
            writes.push(Write { cell: closed.clone(), operation: Operation::Put(Value::Bool(true)) });
        }
        let whole = |cell| Read::Cell { cell, element: iolite_values::Element::Whole };
        (vec![whole(life), whole(closed)], writes)
    }
}

/// Why an entry cannot be appended, whatever the page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    #[error("the name of the log and the instance are too long for a key: {0}")]
    Key(#[from] KeyError),
    #[error("an operation of a log and its arguments are too large for an entry: {0}")]
    Entry(#[from] iolite_wire::EncodeError),
}

#[cfg(test)]
mod tests {
    use iolite_values::Counter;

    use super::*;

    #[test]
    fn entries_on_their_way_to_a_page_count_as_if_they_were_there() {
        let log = LogId::new("sheet", &Value::Int(1)).expect("short");
        let closes = |page: Page<'_>| {
            let entry = LogEntry {
                origin: None,
                counter: Counter(1),
                called_at_micros: 0,
                seed: [0; 16],
                operation: "set".into(),
                version: 0,
                arguments: "{}".into(),
                turns: false,
            };
            let (_, writes) = append_to(&log, 0, page, entry).expect("it is small");
            writes.iter().any(|write| write.cell.column == LogPages::closed_column())
        };
        let page = Page::of(None);
        assert!(!closes(page) && !closes(page.behind(PAGE_ENTRIES_MAX - 2, 0)));
        assert!(closes(page.behind(PAGE_ENTRIES_MAX - 1, 0)));
        assert!(!closes(page.behind(1, PAGE_BYTES_MAX / 2)) && closes(page.behind(1, PAGE_BYTES_MAX)));
    }
}
