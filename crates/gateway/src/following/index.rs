//! Which sessions a change concerns.
//!
//! Invariant: a target is found for a cell exactly when its interest includes the cell. The work is in proportion to the matches, and not to
//! the sessions.

pub mod ranges;

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Cell, Interest, KeyRange, RowKey, TableId};
use iolite_wire::message::SubscriptionId;

use crate::SessionId;
use ranges::RangeIndex;

/// One subscription of one session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Target {
    pub session: SessionId,
    pub subscription: SubscriptionId,
}

/// All interests of all sessions that are told of changes, but for the queries whose answers are known (`queries.rs`). Queries of which they are not count
/// here as all rows that may be answers.
#[derive(Debug, Default)]
pub struct InterestIndex {
    cells: BTreeMap<(TableId, RowKey), BTreeSet<(Cell, Target)>>,
    ranges: BTreeMap<TableId, RangeIndex<Target>>,
}

impl InterestIndex {
    pub fn insert(&mut self, interest: &Interest, target: Target) {
        match interest {
            Interest::Cell(cell) => {
                let row = self.cells.entry((cell.table, cell.row.clone())).or_default();
                row.insert((cell.clone(), target));
            }
            Interest::Range { table, range } => {
                self.ranges.entry(*table).or_default().insert(range, target);
            }
            Interest::Query(query) => self.ranges.entry(query.table).or_default().insert(&query.keys, target),
        }
    }

    pub fn remove(&mut self, interest: &Interest, target: Target) {
        match interest {
            Interest::Cell(cell) => self.remove_cell(cell, target),
            Interest::Range { table, range } => self.remove_range(*table, range, target),
            Interest::Query(query) => self.remove_range(query.table, &query.keys, target),
        }
    }

    /// Calls `found` for every target whose interest includes the cell.
    pub fn matches(&self, cell: &Cell, mut found: impl FnMut(Target)) {
        let row = self.cells.get(&(cell.table, cell.row.clone())).into_iter().flatten();
        row.filter(|(own, _)| own.is_changed_with(cell)).for_each(|(_, target)| found(*target));
        if let Some(ranges) = self.ranges.get(&cell.table) {
            ranges.matches(cell.row.as_bytes()).for_each(found);
        }
    }

    /// Whether any target's interest includes the cell.
    pub fn has_match(&self, cell: &Cell) -> bool {
        let mut found = false;
        self.matches(cell, |_| found = true);
        found
    }

    pub fn contains(&self, interest: &Interest, target: Target) -> bool {
        match interest {
            Interest::Cell(cell) => {
                let row = self.cells.get(&(cell.table, cell.row.clone()));
                row.is_some_and(|row| row.contains(&(cell.clone(), target)))
            }
            Interest::Range { table, range } => {
                self.ranges.get(table).is_some_and(|ranges| ranges.contains(range, target))
            }
            Interest::Query(query) => {
                self.ranges.get(&query.table).is_some_and(|ranges| ranges.contains(&query.keys, target))
            }
        }
    }

    pub fn len(&self) -> usize {
        let ranges = self.ranges.values().map(RangeIndex::len).sum::<usize>();
        self.cells.values().map(BTreeSet::len).sum::<usize>() + ranges
    }

    fn remove_cell(&mut self, cell: &Cell, target: Target) {
        let place = (cell.table, cell.row.clone());
        let Some(row) = self.cells.get_mut(&place) else { return };
        row.remove(&(cell.clone(), target));
        if row.is_empty() {
            self.cells.remove(&place);
        }
    }

    fn remove_range(&mut self, table: TableId, range: &KeyRange, target: Target) {
        let Some(ranges) = self.ranges.get_mut(&table) else { return };
        ranges.remove(range, target);
        if ranges.is_empty() {
            self.ranges.remove(&table);
        }
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::{ColumnId, Value};

    use super::*;

    const TABLE: TableId = TableId(7);

    fn key(values: &[i64]) -> RowKey {
        RowKey::new(&values.iter().copied().map(Value::Int).collect::<Vec<_>>()).expect("short")
    }

    fn cell(row: &[i64], column: u32) -> Cell {
        Cell { table: TABLE, row: key(row), column: ColumnId(column) }
    }

    fn target(session: u64, subscription: u32) -> Target {
        Target { session: SessionId(session), subscription: SubscriptionId(subscription) }
    }

    fn found(index: &InterestIndex, cell: &Cell) -> Vec<Target> {
        let mut all = Vec::new();
        index.matches(cell, |target| all.push(target));
        all
    }

    fn interests() -> Vec<Interest> {
        let range = |values: &[i64]| {
            let values: Vec<Value> = values.iter().copied().map(Value::Int).collect();
            Interest::Range { table: TABLE, range: KeyRange::prefix(&values).expect("short") }
        };
        let other = Interest::Range { table: TableId(8), range: KeyRange::all() };
        let cells = [cell(&[1, 1], 5), cell(&[1, 1], 6), cell(&[1, 1], 0), cell(&[2, 1], 5)];
        cells
            .into_iter()
            .map(Interest::Cell)
            .chain([range(&[]), range(&[1]), range(&[2]), range(&[1, 1]), other])
            .collect()
    }

    #[test]
    fn targets_are_those_whose_interests_include_the_cell() {
        let mut index = InterestIndex::default();
        let interests = interests();
        for (number, interest) in interests.iter().enumerate() {
            index.insert(interest, target(1, u32::try_from(number).expect("small")));
        }
        for changed in [cell(&[1, 1], 5), cell(&[1, 1], 0), cell(&[1, 2], 5), cell(&[2, 1], 6), cell(&[3, 1], 5)] {
            let mut expected: Vec<Target> = (0..)
                .zip(&interests)
                .filter(|(_, interest)| interest.includes(&changed))
                .map(|(number, _)| target(1, number))
                .collect();
            let mut all = found(&index, &changed);
            all.sort_unstable();
            expected.sort_unstable();
            assert_eq!(all, expected, "{changed:?}");
        }
    }

    #[test]
    fn a_removed_interest_leaves_nothing_and_takes_no_other_with_it() {
        let mut index = InterestIndex::default();
        for interest in &interests() {
            index.insert(interest, target(1, 1));
            index.insert(interest, target(2, 1));
        }
        for interest in &interests() {
            index.remove(interest, target(1, 1));
            assert!(!index.contains(interest, target(1, 1)) && index.contains(interest, target(2, 1)));
            index.remove(interest, target(2, 1));
        }
        assert_eq!(index.len(), 0);
        assert!(index.cells.is_empty() && index.ranges.is_empty());
    }
}
