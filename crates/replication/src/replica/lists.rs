//! Lists by index: an operation on an index commutes with appends only while the index means the same element to both.
//!
//! The table of commutativity speaks of operations that are valid in the same state. A write at an index is valid where the list is longer than
//! that; and with timestamps out of order an append may come to stand before an element whose index was used. Both are seen to here.

use std::collections::BTreeMap;

use iolite_values::{Cell, CellState, ColumnId, Operation, RowKey, TableId, Timestamp, Write};

use super::Replica;

/// Where in the order of timestamps a transaction can stand. Later variants outweigh earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Where it was proposed.
    Free,
    /// Only above this.
    Above(Timestamp),
    /// Not as it is: it has to run again.
    Nowhere { at_least: Timestamp },
}

/// A list as a transaction's own operations find it.
#[derive(Clone, Copy)]
struct Length {
    /// As of the last commit.
    latest: usize,
    /// As of the proposed timestamp.
    proposed: usize,
}

impl Replica {
    pub(super) fn place_in_lists(&self, writes: &[Write], at: Timestamp) -> Place {
        let mut lengths: BTreeMap<&Cell, Length> = BTreeMap::new();
        let mut emptied: Vec<(TableId, &RowKey)> = Vec::new();
        let mut place = Place::Free;
        for write in writes {
            let cell = &write.cell;
            if cell.column == ColumnId::ROW {
                lengths.retain(|other, _| !other.is_changed_with(cell));
                emptied.push((cell.table, &cell.row));
            }
            let (Operation::Append { .. } | Operation::SetAt { .. }) = write.operation else { continue };
            let fresh = emptied.contains(&(cell.table, &cell.row));
            let length = lengths.entry(cell).or_insert_with(|| match fresh {
                true => Length { latest: 0, proposed: 0 },
                false => self.length_of(cell, at),
            });
            if let Operation::SetAt { index, .. } = write.operation {
                place = place.max(self.place_of_set_at(cell, index as usize, *length, at));
                continue;
            }
            place = place.max(self.place_of_append(cell, length.proposed, at));
            length.latest += 1;
            length.proposed += 1;
        }
        place
    }

    fn length_of(&self, cell: &Cell, at: Timestamp) -> Length {
        let Some(row) = self.versions.row(cell.table, &cell.row) else { return Length { latest: 0, proposed: 0 } };
        let latest = match row.latest().cell(cell.column) {
            Some(CellState::List(list)) => list.len(),
            Some(
                CellState::Row(_)
                | CellState::Scalar(_)
                | CellState::Register(_)
                | CellState::Counter(_)
                | CellState::Set(_)
                | CellState::Map(_)
                | CellState::Text(_)
                | CellState::Merged(_),
            )
            | None => 0,
        };
        let later = self.later_on(cell, at).filter(|(_, operation)| matches!(operation, Operation::Append { .. }));
        Length { latest, proposed: latest.saturating_sub(later.count()) }
    }

    /// The element has to be there, and at the proposed timestamp already.
    fn place_of_set_at(&self, cell: &Cell, index: usize, length: Length, at: Timestamp) -> Place {
        if index >= length.latest {
            return self.below_last_of(cell.table, &cell.row);
        }
        if index < length.proposed {
            return Place::Free;
        }
        self.later_on(cell, at).map(|(later, _)| Place::Above(later)).max().unwrap_or(Place::Free)
    }

    /// An append must not slip in before an element that a later transaction named by its index.
    fn place_of_append(&self, cell: &Cell, length: usize, at: Timestamp) -> Place {
        let moved = self
            .later_on(cell, at)
            .filter(|(_, operation)| matches!(operation, Operation::SetAt { index, .. } if *index as usize >= length));
        moved.map(|(later, _)| Place::Above(later)).max().unwrap_or(Place::Free)
    }

    /// What committed on this cell above `at`.
    fn later_on<'a>(&'a self, cell: &'a Cell, at: Timestamp) -> impl Iterator<Item = (Timestamp, &'a Operation)> {
        let versions = self.versions.row(cell.table, &cell.row).into_iter().flat_map(move |row| row.history_above(at));
        let own = versions.filter(|version| version.write().cell.column == cell.column);
        own.map(|version| (version.at, &version.write().operation))
    }
}
