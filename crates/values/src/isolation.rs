//! Isolation: how far a transaction is kept apart from others at the same time.
//!
//! Invariant: what is guarded of a transaction rests on the transaction alone, so client, gateway and store agree on it.
//! Source: Diamond's levels and validation matrix (Zhang 2017, Tables 3.3 and 3.4). Deviations: docs/decisions/0016-what-each-level-guards.md.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Cell, ColumnId, Element, KeyRange, Read, RowKey, TableId, Write, observes};

/// What a strong table promises. The later, the more. A transaction has the highest of the tables that it touches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Isolation {
    ReadCommitted,
    Snapshot,
    StrictSerializable,
}

/// Where a transaction may stand among others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Level {
    /// After everything that was reported before it was submitted.
    #[default]
    Strict,
    /// It may have read a past that others have changed since, also if that was reported before it was submitted: it stands where that was true.
    /// Nothing of this can be told from the transaction's own reads and writes, and timestamps are an order of everything at both levels.
    Serializable,
    /// Its reads are of one snapshot, and nobody has changed since what it changes.
    Snapshot,
    /// What it reads was committed. What it puts stands in the order of timestamps, without conflict.
    ReadCommitted,
}

impl Isolation {
    pub const ALL: [Isolation; 3] = [Isolation::StrictSerializable, Isolation::Snapshot, Isolation::ReadCommitted];

    /// As schemas spell it.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::StrictSerializable => "strict-serializable",
            Isolation::Snapshot => "snapshot",
            Isolation::ReadCommitted => "read-committed",
        }
    }

    pub fn level(self) -> Level {
        match self {
            Isolation::StrictSerializable => Level::Strict,
            Isolation::Snapshot => Level::Snapshot,
            Isolation::ReadCommitted => Level::ReadCommitted,
        }
    }
}

impl Level {
    /// Of a transaction's reads, those that have to be true still when it commits: at the two serial levels all; of a snapshot the parts that it
    /// writes itself; and at every level whether the rows that it writes exist, and whether an author is its own.
    pub fn guarded<'a>(self, reads: &'a [Read], writes: &[Write]) -> Cow<'a, [Read]> {
        match self {
            Level::Strict | Level::Serializable => Cow::Borrowed(reads),
            Level::Snapshot => Cow::Owned(narrowed(reads, writes, Part::Own)),
            Level::ReadCommitted => Cow::Owned(narrowed(reads, writes, Part::Life)),
        }
    }

    /// Whether a write of this transaction and one of another, at the level `other`, conflict if they do not commute. If not, the timestamps put them in order.
    pub fn orders_writes(self, other: Level) -> bool {
        self != Level::ReadCommitted || other != Level::ReadCommitted
    }

    /// Whether it matters that others have written what it writes since its snapshot, although it did not read that.
    pub fn guards_writes(self) -> bool {
        self == Level::Snapshot
    }
}

/// Which part of a row that it writes a transaction has read.
#[derive(Clone, Copy)]
enum Part {
    /// What it writes, and whether the row exists.
    Own,
    /// Whether the row exists, and how many units of a text have the author that it claims: no timestamp puts two units of one number in order.
    Life,
}

fn narrowed(reads: &[Read], writes: &[Write], part: Part) -> Vec<Read> {
    let mut written: BTreeMap<(TableId, &RowKey), Vec<&Write>> = BTreeMap::new();
    for write in writes {
        written.entry((write.cell.table, &write.cell.row)).or_default().push(write);
    }
    let mut guarded = BTreeSet::new();
    for read in reads {
        let Read::Cell { cell, element } = read else { continue };
        let Some(own) = written.get(&(cell.table, &cell.row)) else { continue };
        let is_written = || own.iter().any(|write| observes(read, write));
        let is_guarded = match part {
            Part::Own => is_written(),
            Part::Life => matches!(element, Element::Author(_)) && is_written(),
        };
        if cell.column == ColumnId::ROW || is_guarded {
            guarded.insert(read.clone());
        }
    }
    for (table, row) in written.into_keys() {
        let within = reads.iter().filter_map(|read| part_with(read, table, row));
        guarded.extend(within.map(|read| match part {
            Part::Own => read,
            Part::Life => Read::Cell { cell: Cell::row(table, row.clone()), element: Element::Whole },
        }));
    }
    guarded.into_iter().collect()
}

/// The part of a range or a query with this row only, if it lies there.
fn part_with(read: &Read, table: TableId, row: &RowKey) -> Option<Read> {
    match read {
        Read::Cell { .. } => None,
        Read::Range { table: own, range } => {
            (*own == table && range.contains(row)).then(|| Read::Range { table, range: KeyRange::one(row) })
        }
        Read::Query(query) => (query.table == table && query.keys.contains(row))
            .then(|| Read::Query(Arc::new(query.within(&KeyRange::one(row))))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Author, Edit, Insertion, Operation, Unit, Value};

    const TABLE: TableId = TableId(1);

    fn key(number: i64) -> RowKey {
        RowKey::new(&[Value::Int(number)]).expect("short")
    }

    fn cell(row: i64, column: u32) -> Cell {
        Cell { table: TABLE, row: key(row), column: ColumnId(column) }
    }

    fn read(row: i64, column: u32) -> Read {
        Read::Cell { cell: cell(row, column), element: Element::Whole }
    }

    fn put(row: i64, column: u32) -> Write {
        Write { cell: cell(row, column), operation: Operation::Put(Value::Int(1)) }
    }

    fn range(range: KeyRange) -> Read {
        Read::Range { table: TABLE, range }
    }

    #[test]
    fn a_serial_level_guards_all_that_was_read() {
        let reads = [read(1, 1), range(KeyRange::all())];
        for level in [Level::Strict, Level::Serializable] {
            assert_eq!(level.guarded(&reads, &[]), reads.as_slice());
        }
    }

    #[test]
    fn a_snapshot_guards_what_is_read_and_written() {
        let reads = [read(1, 0), read(1, 1), read(1, 2), read(2, 1), range(KeyRange::all())];
        let guarded = Level::Snapshot.guarded(&reads, &[put(1, 1)]);
        assert_eq!(*guarded, [read(1, 0), read(1, 1), range(KeyRange::one(&key(1)))]);
        assert!(
            Level::Snapshot.guarded(&reads, &[]).is_empty(),
            "who writes nothing has one snapshot, and no conflict"
        );
    }

    #[test]
    fn a_snapshot_guards_of_a_set_the_members_that_it_changes() {
        let member = |text: &str| Read::Cell { cell: cell(1, 1), element: Element::Member(Value::from(text)) };
        let insert = Write { cell: cell(1, 1), operation: Operation::Insert(Value::from("a")) };
        assert_eq!(*Level::Snapshot.guarded(&[member("a"), member("b")], &[insert]), [member("a")]);
    }

    #[test]
    fn read_committed_guards_the_life_of_rows_that_are_written() {
        let reads = [read(1, 0), read(1, 1), read(2, 0), range(KeyRange::one(&key(1))), range(KeyRange::one(&key(3)))];
        assert_eq!(*Level::ReadCommitted.guarded(&reads, &[put(1, 1), put(1, 2)]), [read(1, 0)]);
    }

    #[test]
    fn read_committed_guards_the_author_that_an_edit_claims() {
        let author = |number| Read::Cell { cell: cell(1, 1), element: Element::Author(Author(number)) };
        let edit = Edit { inserted: Some(insertion(7)), removed: Vec::new() };
        let edit = Write { cell: cell(1, 1), operation: Operation::Edit(edit.into()) };
        let reads = [read(1, 1), author(7), author(8)];
        assert_eq!(*Level::ReadCommitted.guarded(&reads, &[edit]), [author(7)]);
    }

    fn insertion(author: u64) -> Insertion {
        Insertion { first: Unit::new(Author(author), 0), left: None, right: None, text: "a".into() }
    }

    #[test]
    fn of_a_query_the_rows_that_are_written_are_guarded() {
        let query = |keys| Read::Query(Arc::new(crate::Query::all(TABLE, false).within(&keys)));
        let reads = [read(1, 1), query(KeyRange::all())];
        let one = KeyRange::one(&key(1));
        assert_eq!(*Level::Snapshot.guarded(&reads, &[put(1, 1)]), [read(1, 1), query(one)]);
        assert_eq!(*Level::ReadCommitted.guarded(&reads, &[put(1, 1)]), [read(1, 0)]);
        assert!(Level::Snapshot.guarded(&reads, &[]).is_empty());
    }

    #[test]
    fn what_is_guarded_is_guarded_once_more_alike() {
        let query = Read::Query(Arc::new(crate::Query::all(TABLE, false)));
        let reads = [read(1, 0), read(1, 1), range(KeyRange::all()), query];
        for level in [Level::Strict, Level::Snapshot, Level::ReadCommitted] {
            let once = level.guarded(&reads, &[put(1, 1)]).into_owned();
            assert_eq!(*level.guarded(&once, &[put(1, 1)]), *once, "{level:?}");
        }
    }

    #[test]
    fn isolation_is_ordered_by_what_it_promises() {
        assert!(Isolation::ALL.is_sorted_by(|a, b| a > b));
    }
}
