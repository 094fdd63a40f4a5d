//! Many interests at once: whether a change concerns any of them.
//!
//! Invariant: says of every cell what asking each of them would. Ranges that overlap are put together, so one look-up tells; what it takes does not grow with
//! their number.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::{Cell, ColumnId, Interest, KeyRange, RowKey, TableId};

#[derive(Clone, Debug, Default)]
pub struct Interests {
    tables: BTreeMap<TableId, OfTable>,
}

/// Those of one table.
#[derive(Clone, Debug, Default)]
struct OfTable {
    cells: BTreeMap<RowKey, BTreeSet<ColumnId>>,
    /// Ranges that do not touch, upper bounds by lower ones.
    ranges: BTreeMap<Arc<[u8]>, Option<Arc<[u8]>>>,
}

impl Interests {
    pub fn new<'a>(interests: impl IntoIterator<Item = &'a Interest>) -> Interests {
        let mut all = Interests::default();
        let mut ranges: Vec<(TableId, &KeyRange)> = Vec::new();
        for interest in interests {
            match interest {
                Interest::Cell(cell) => all.add_cell(cell),
                Interest::Range { table, range } => ranges.push((*table, range)),
                Interest::Query(query) => ranges.push((query.table, &query.keys)),
            }
        }
        ranges.sort_unstable();
        for (table, range) in ranges.into_iter().filter(|(_, range)| !range.is_empty()) {
            all.tables.entry(table).or_default().add_next(range);
        }
        all
    }

    /// Whether [`Interest::includes`] is true of any of them.
    pub fn include(&self, cell: &Cell) -> bool {
        self.tables.get(&cell.table).is_some_and(|own| own.has_cell(cell) || own.has_row(&cell.row))
    }

    fn add_cell(&mut self, cell: &Cell) {
        let own = self.tables.entry(cell.table).or_default();
        own.cells.entry(cell.row.clone()).or_default().insert(cell.column);
    }
}

impl OfTable {
    /// Takes a range that begins where the last one does, or behind.
    fn add_next(&mut self, range: &KeyRange) {
        let last = self.ranges.last_entry().filter(|last| last.get().as_ref().is_none_or(|end| range.lower <= *end));
        match last {
            None => drop(self.ranges.insert(range.lower.clone(), range.upper.clone())),
            Some(mut last) => {
                let end = last.get().clone().zip(range.upper.clone()).map(|(one, other)| one.max(other));
                last.insert(end);
            }
        }
    }

    fn has_cell(&self, cell: &Cell) -> bool {
        let columns = self.cells.get(&cell.row);
        columns.is_some_and(|own| cell.column == ColumnId::ROW || own.contains(&cell.column))
    }

    fn has_row(&self, key: &RowKey) -> bool {
        let up_to = (Bound::Unbounded, Bound::Included(key.as_bytes()));
        let below = self.ranges.range::<[u8], _>(up_to).next_back();
        below.is_some_and(|(_, upper)| upper.as_ref().is_none_or(|upper| key.as_bytes() < &**upper))
    }
}

#[cfg(test)]
mod tests {
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
