//! Rows as they were before the first own commit that is not delivered yet, of those that have changed since: the layer of the delivered view.
//!
//! Invariants: while it is kept, every change of a held row notes the row before it; read as a layer above the cache, it makes the state before the
//! oldest step that is kept. A step is what one advance brought.
//! Source: Hercules' Visible state (Lebeck 2020, section 3.4.4). Deviation: only rows that have changed are kept twice.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iolite_values::{Row, TableId, Timestamp, row_footprint};

use super::RowId;
use crate::view::Overlay;

#[derive(Debug, Default)]
pub(crate) struct Past {
    /// The advances whose changes can be taken off, oldest first, by their timestamps.
    steps: VecDeque<Step>,
    /// The oldest of each row.
    layer: Overlay,
    /// The states of later steps, oldest first.
    later: BTreeMap<RowId, VecDeque<Was>>,
    bytes: usize,
}

/// A row before a step.
#[derive(Debug)]
struct Was {
    row: Row,
    /// Whether all of it was known, so that it was an answer of what selected it.
    is_whole: bool,
}

#[derive(Debug, Default)]
struct Step {
    /// The last advance that it is of.
    at: Timestamp,
    /// The rows that it noted.
    rows: BTreeSet<RowId>,
    /// The tables of which it brought more than was held.
    loaded: BTreeSet<TableId>,
}

impl Past {
    /// Bytes of rows that are kept. Past it neighbouring steps become one, so that the view moves in larger strides.
    pub(crate) const BYTES_MAX: usize = 16 << 20;

    pub(crate) fn layer(&self) -> &Overlay {
        &self.layer
    }

    pub(crate) fn is_kept(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Begins to note what an advance changes.
    pub(crate) fn begin(&mut self, at: Timestamp) {
        if self.steps.back().is_none_or(|last| last.at < at) {
            self.steps.push_back(Step { at, ..Step::default() });
        }
    }

    /// Notes a row before it changes, once a step.
    pub(crate) fn note(&mut self, id: &RowId, before: Option<&Row>, is_whole: bool) {
        let Some(step) = self.steps.back_mut() else { return };
        if !step.rows.insert(id.clone()) {
            return;
        }
        let row = before.cloned().unwrap_or_default();
        self.bytes += row_footprint(&id.1, &row);
        if self.layer.row(id.0, &id.1).is_some() {
            self.later.entry(id.clone()).or_default().push_back(Was { row, is_whole });
        } else {
            self.layer.put(id.clone(), row, is_whole);
        }
        if self.bytes > Past::BYTES_MAX {
            self.join_last();
        }
    }

    /// More is held of a table than before, so the view cannot answer for it.
    pub(crate) fn note_loaded(&mut self, table: TableId) {
        if let Some(step) = self.steps.back_mut() {
            step.loaded.insert(table);
        }
    }

    /// Whether all that is held of a table now was held as of this state.
    pub(crate) fn tells_of(&self, table: TableId) -> bool {
        !self.steps.iter().any(|step| step.loaded.contains(&table))
    }

    /// Keeps only the steps from `first` on. Returns the rows that look different.
    pub(crate) fn keep_from(&mut self, first: Timestamp) -> BTreeSet<RowId> {
        let mut moved = BTreeSet::new();
        while self.steps.front().is_some_and(|step| step.at < first) {
            let Some(step) = self.steps.pop_front() else { break };
            for id in step.rows {
                self.drop_oldest(&id);
                moved.insert(id);
            }
        }
        moved
    }

    /// Ends the layer, which shows the cache as it is then. Returns the rows that look different.
    pub(crate) fn end(&mut self) -> BTreeSet<RowId> {
        let past = std::mem::take(self);
        past.steps.into_iter().flat_map(|step| step.rows).collect()
    }

    fn drop_oldest(&mut self, id: &RowId) {
        let next = self.later.get_mut(id).and_then(VecDeque::pop_front);
        if self.later.get(id).is_some_and(VecDeque::is_empty) {
            self.later.remove(id);
        }
        let gone = self.layer.take(id);
        if let Some(Was { row, is_whole }) = next {
            self.layer.put(id.clone(), row, is_whole);
        }
        self.bytes -= gone.map_or(0, |row| row_footprint(&id.1, &row));
    }

    /// Makes the last two steps one: of a row that both noted, the older state stays.
    fn join_last(&mut self) {
        if self.steps.len() < 2 {
            return;
        }
        let (Some(last), Some(before)) = (self.steps.pop_back(), self.steps.back_mut()) else { return };
        // It is taken off whole, so it ends with the later one.
        before.at = last.at;
        before.loaded.extend(last.loaded);
        for id in last.rows {
            if before.rows.insert(id.clone()) {
                continue;
            }
            let Some(later) = self.later.get_mut(&id) else { continue };
            self.bytes -= later.pop_back().map_or(0, |was| row_footprint(&id.1, &was.row));
            if later.is_empty() {
                self.later.remove(&id);
            }
        }
    }

    pub(crate) fn validate(&self) {
        let of_layer: usize = self.layer.rows().map(|((_, key), row)| row_footprint(key, row)).sum();
        let of_later =
            |(id, own): (&RowId, &VecDeque<Was>)| own.iter().map(|was| row_footprint(&id.1, &was.row)).sum::<usize>();
        assert_eq!(self.bytes, of_layer + self.later.iter().map(of_later).sum::<usize>(), "what is kept is counted");
        let noted: BTreeSet<&RowId> = self.steps.iter().flat_map(|step| &step.rows).collect();
        assert!(self.layer.rows().map(|(id, _)| id).eq(noted), "every row that a step noted is in the layer");
    }
}
