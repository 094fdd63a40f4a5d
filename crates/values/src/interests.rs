//! Many interests at once: whether a change concerns any of them.
//!
//! Invariant: says of every cell what asking each of them would. One look-up tells; what it takes does not grow with their number.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Cell, ColumnId, Interest, KeyRange, KeyRanges, RowKey, TableId};

#[derive(Clone, Debug, Default)]
pub struct Interests {
    tables: BTreeMap<TableId, OfTable>,
}

/// Those of one table.
#[derive(Clone, Debug, Default)]
struct OfTable {
    cells: BTreeMap<RowKey, BTreeSet<ColumnId>>,
    ranges: KeyRanges,
}

impl Interests {
    pub fn new<'a>(interests: impl IntoIterator<Item = &'a Interest>) -> Interests {
        let mut all = Interests::default();
        let mut ranges: BTreeMap<TableId, Vec<&KeyRange>> = BTreeMap::new();
        for interest in interests {
            match interest {
                Interest::Cell(cell) => all.add_cell(cell),
                Interest::Range { table, range } => ranges.entry(*table).or_default().push(range),
                Interest::Query(query) => ranges.entry(query.table).or_default().push(&query.keys),
            }
        }
        for (table, ranges) in ranges {
            all.tables.entry(table).or_default().ranges = ranges.into_iter().collect();
        }
        all
    }

    /// Whether [`Interest::includes`] is true of any of them.
    pub fn include(&self, cell: &Cell) -> bool {
        self.tables.get(&cell.table).is_some_and(|own| own.has_cell(cell) || own.ranges.contain(&cell.row))
    }

    fn add_cell(&mut self, cell: &Cell) {
        let own = self.tables.entry(cell.table).or_default();
        own.cells.entry(cell.row.clone()).or_default().insert(cell.column);
    }
}

impl OfTable {
    fn has_cell(&self, cell: &Cell) -> bool {
        let columns = self.cells.get(&cell.row);
        columns.is_some_and(|own| cell.column == ColumnId::ROW || own.contains(&cell.column))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::{Query, Value};

    fn key(number: u8) -> RowKey {
        RowKey::new(&[Value::Int(number.into())]).expect("short")
    }

    fn cell() -> impl Strategy<Value = Cell> {
        let column = prop_oneof![Just(ColumnId::ROW), (1u32..3).prop_map(ColumnId)];
        (1u32..3, 0u8..12, column).prop_map(|(table, row, column)| Cell {
            table: TableId(table),
            row: key(row),
            column,
        })
    }

    /// Empty ones are among them, and such as end where others begin.
    fn range() -> impl Strategy<Value = KeyRange> {
        let upper = prop_oneof![4 => (0u8..12).prop_map(|row| Some(key(row).as_bytes().into())), 1 => Just(None)];
        (0u8..12, upper).prop_map(|(row, upper)| KeyRange { lower: key(row).as_bytes().into(), upper })
    }

    fn interest() -> impl Strategy<Value = Interest> {
        prop_oneof![
            cell().prop_map(Interest::Cell),
            (1u32..3, range()).prop_map(|(table, range)| Interest::Range { table: TableId(table), range }),
            (1u32..3, range()).prop_map(|(table, keys)| {
                Interest::Query(Arc::new(Query { keys, ..Query::all(TableId(table), false) }))
            }),
        ]
    }

    proptest! {
        #[test]
        fn together_they_include_what_any_of_them_does(
            interests in prop::collection::vec(interest(), 0..8),
            cells in prop::collection::vec(cell(), 1..20),
        ) {
            let all = Interests::new(&interests);
            for cell in cells {
                let any = interests.iter().any(|own| own.includes(&cell));
                prop_assert_eq!(all.include(&cell), any, "{:?}", cell);
            }
        }
    }
}
