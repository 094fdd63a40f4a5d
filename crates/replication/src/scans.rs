//! Reads of more than one row, put together so that what was written is compared with all of them at once.
//!
//! Invariant: they say of every write what each of the reads would.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{KeyRange, KeyRanges, Read, TableId, Write, disturbs};

#[derive(Debug, Default)]
pub struct Scans<'a> {
    tables: BTreeMap<TableId, Scan<'a>>,
}

#[derive(Debug, Default)]
struct Scan<'a> {
    ranges: KeyRanges,
    queries: Vec<&'a Read>,
}

impl<'a> Scans<'a> {
    /// Of these reads, those of ranges of more than one row, and queries.
    pub fn of(reads: impl Iterator<Item = &'a Read>) -> Scans<'a> {
        let mut scans = Scans::default();
        let mut ranges = BTreeMap::<TableId, Vec<&KeyRange>>::new();
        for read in reads {
            match read {
                Read::Range { table, range } if !range.is_of_one_row() => {
                    ranges.entry(*table).or_default().push(range);
                }
                Read::Query(query) => scans.tables.entry(query.table).or_default().queries.push(read),
                Read::Range { .. } | Read::Cell { .. } => {}
            }
        }
        for (table, ranges) in ranges {
            scans.tables.entry(table).or_default().ranges = ranges.into_iter().collect();
        }
        scans
    }

    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Whether the writes of one transaction can change what any of them returned, and how often something was compared for that.
    pub fn are_disturbed_by(&self, writes: &[Write]) -> (bool, usize) {
        let mut looks = 1 + writes.len();
        let mut written = BTreeSet::new();
        for write in writes {
            let Some(scan) = self.tables.get(&write.cell.table) else { continue };
            if scan.ranges.contain(&write.cell.row) {
                return (true, looks);
            }
            if !scan.queries.is_empty() {
                written.insert(write.cell.table);
            }
        }
        // A query looks at all writes at once.
        for queries in written.iter().filter_map(|table| self.tables.get(table)).map(|scan| &scan.queries) {
            looks += queries.len() * writes.len();
            if queries.iter().any(|query| disturbs(writes, query)) {
                return (true, looks);
            }
        }
        (false, looks)
    }
}

/// The rows that those of these reads that are of more than one row may have looked at, by table.
pub fn rows_of_scans<'a>(reads: impl Iterator<Item = &'a Read>) -> BTreeMap<TableId, KeyRanges> {
    let mut ranges = BTreeMap::<TableId, Vec<KeyRange>>::new();
    for read in reads {
        let (table, range) = match read {
            Read::Range { table, range } if !range.is_of_one_row() => (*table, range.clone()),
            Read::Query(query) => (query.table, query.row_keys()),
            Read::Range { .. } | Read::Cell { .. } => continue,
        };
        ranges.entry(table).or_default().push(range);
    }
    ranges.into_iter().map(|(table, ranges)| (table, ranges.iter().collect())).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use iolite_values::{Cell, ColumnId, Operation, Query, RowKey, Value};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn key(number: u8) -> RowKey {
        RowKey::new(&[Value::Int(number.into())]).unwrap()
    }

    fn range(lower: u8, upper: Option<u8>) -> KeyRange {
        let bytes = |number| Arc::from(key(number).as_bytes());
        KeyRange { lower: bytes(lower), upper: upper.map(bytes) }
    }

    fn read() -> impl Strategy<Value = Read> {
        let rows = || (0_u8..20, prop::option::weighted(0.9, 0_u8..20)).prop_map(|(lower, upper)| range(lower, upper));
        let table = || (0_u32..2).prop_map(TableId);
        prop_oneof![
            4 => (table(), rows()).prop_map(|(table, range)| Read::Range { table, range }),
            1 => (table(), rows()).prop_map(|(table, rows)| Read::Query(Arc::new(Query::all(table, true).within(&rows)))),
        ]
    }

    fn writes() -> impl Strategy<Value = Vec<Write>> {
        let operation = prop_oneof![
            Just((ColumnId::ROW, Operation::Create)),
            Just((ColumnId::ROW, Operation::Delete)),
            Just((ColumnId(1), Operation::Add(1))),
        ];
        let write = |(table, row, (column, operation))| Write {
            cell: Cell { table: TableId(table), row: key(row), column },
            operation,
        };
        vec((0_u32..2, 0_u8..20, operation).prop_map(write), 0..4)
    }

    proptest! {
        #[test]
        fn they_are_disturbed_together_by_what_disturbs_one_of_them(reads in vec(read(), 0..8), writes in writes()) {
            let many = reads.iter().filter(|read| !matches!(read, Read::Range { range, .. } if range.is_of_one_row()));
            let expected = many.clone().any(|read| disturbs(&writes, read));
            prop_assert_eq!(Scans::of(reads.iter()).are_disturbed_by(&writes).0, expected);
            prop_assert_eq!(Scans::of(reads.iter()).is_empty(), many.count() == 0);
        }

        #[test]
        fn the_rows_of_scans_are_those_that_one_of_them_may_have_looked_at(reads in vec(read(), 0..8), row in 0_u8..20) {
            let looked_at = |read: &&Read| match read {
                Read::Range { table, range } => *table == TableId(1) && !range.is_of_one_row() && range.contains(&key(row)),
                Read::Query(query) => query.table == TableId(1) && query.row_keys().contains(&key(row)),
                Read::Cell { .. } => false,
            };
            let rows = rows_of_scans(reads.iter());
            let is_among = rows.get(&TableId(1)).is_some_and(|ranges| ranges.contain(&key(row)));
            prop_assert_eq!(is_among, reads.iter().any(|read| looked_at(&read)));
        }
    }

    #[test]
    fn ranges_of_ten_thousand_reads_are_compared_once_and_queries_each() {
        let table = TableId(1);
        let write =
            |row| Write { cell: Cell { table, row: key(row), column: ColumnId(1) }, operation: Operation::Add(1) };
        let ranges: Vec<Read> = (0..10_000).map(|_| Read::Range { table, range: range(3, Some(9)) }).collect();
        assert_eq!(Scans::of(ranges.iter()).are_disturbed_by(&[write(1), write(2)]), (false, 3));
        let query = |keys: KeyRange| Read::Query(Arc::new(Query::all(table, false).within(&keys)));
        let queries: Vec<Read> = (0..100).map(|_| query(range(3, Some(9)))).collect();
        assert_eq!(Scans::of(queries.iter()).are_disturbed_by(&[write(1), write(2)]), (false, 203));
    }

    /// What a query asks for comes by a later write of its table.
    #[test]
    fn queries_see_all_writes_of_their_table() {
        let table = TableId(1);
        let query = Read::Query(Arc::new(Query::all(table, true).within(&range(3, Some(9)))));
        let create =
            |row| Write { cell: Cell { table, row: key(row), column: ColumnId::ROW }, operation: Operation::Create };
        let scans = Scans::of([&query].into_iter());
        assert_eq!(scans.are_disturbed_by(&[create(1), create(2)]), (false, 5));
        assert_eq!(scans.are_disturbed_by(&[create(1), create(5)]), (true, 5));
    }
}
