//! Reads through layers: a transaction's own writes, pending mutations, confirmed state.
//!
//! Invariant: all layers stand on the cache at one timestamp, so whatever is read together belongs together.

use iolite_values::{Cell, CellState, Digest, Direction, Interest, KeyRange, Read, Row, RowKey, TableId};

use super::{Answer, Changed, Overlay};
use crate::cache::{Cache, Demand, Past};
use crate::transaction::{Missed, Stopped};

/// Looks at the data through a stack of layers.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    pub(super) cache: &'a Cache,
    /// Rows that kept calls have written, in tables that sync. No other pending mutation writes these tables.
    kept: Option<&'a Overlay>,
    pending: Option<&'a Overlay>,
    own: Option<&'a Overlay>,
    pub(super) unheld: Unheld<'a>,
}

/// The part of the cache for which a view cannot answer.
#[derive(Clone, Copy)]
pub(crate) enum Unheld<'a> {
    Nothing,
    /// Tables of which more was loaded than was held as of the view, and rows that were held in part then.
    Loaded(&'a Past),
    Everything,
}

impl Unheld<'_> {
    fn has(self, table: TableId) -> bool {
        match self {
            Unheld::Nothing => false,
            Unheld::Loaded(past) => !past.tells_of(table),
            Unheld::Everything => true,
        }
    }

    /// Whether the view cannot answer for an interest that the cache holds.
    fn hides(self, interest: &Interest, cache: &Cache) -> bool {
        let is_in_part = match self {
            Unheld::Nothing | Unheld::Everything => false,
            Unheld::Loaded(past) => past.has_in_part(interest) && !cache.interests.holds_without_answers(interest),
        };
        is_in_part || self.has(interest.table())
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn new(cache: &'a Cache, pending: Option<&'a Overlay>, own: Option<&'a Overlay>) -> Reader<'a> {
        Reader { cache, kept: None, pending, own, unheld: Unheld::Nothing }
    }

    /// The same, where kept calls are seen.
    pub(crate) fn over_kept(self, kept: Option<&'a Overlay>) -> Reader<'a> {
        Reader { kept, ..self }
    }

    /// The state that a layer makes of the cache, but for tables that it cannot tell of.
    pub(crate) fn of_past(cache: &'a Cache, unheld: Unheld<'a>) -> Reader<'a> {
        Reader { unheld, ..Reader::new(cache, Some(cache.past.layer()), None) }
    }

    /// The same, under the writes of a transaction.
    pub(crate) fn with_own(self, own: &'a Overlay) -> Reader<'a> {
        Reader { own: Some(own), ..self }
    }

    /// Whether the cache can answer for all of this interest.
    pub fn holds(&self, interest: &Interest) -> bool {
        !self.cannot_tell(interest) && self.cache.interests.holds(interest)
    }

    /// Whether this is of a log that is joined.
    pub(crate) fn has_local(&self, interest: &Interest) -> bool {
        self.cache.interests.local_with(interest).is_some()
    }

    /// Whether the view has no answer about a table, whatever is held.
    pub(super) fn cannot_tell_of(&self, table: TableId) -> bool {
        self.unheld.has(table)
    }

    /// Whether the view has no answer about an interest, whatever is held.
    pub(super) fn cannot_tell(&self, interest: &Interest) -> bool {
        self.unheld.hides(interest, self.cache)
    }

    /// Whether the answer rests on one row that a pending mutation created or deleted, so that all of it is known though nothing of it need be held.
    fn is_made_below(&self, interest: &Interest) -> bool {
        self.pending.into_iter().chain(self.kept).any(|layer| layer.makes(interest))
    }

    /// Whether all of this interest can be answered for: by what is held, or by the pending mutation that makes the row.
    pub(crate) fn knows(&self, interest: &Interest) -> bool {
        self.holds(interest) || !self.cannot_tell(interest) && self.is_made_below(interest)
    }

    /// Whether all that a run missed is known, or at least not on its way any more: then the run asks for what it still misses.
    pub(crate) fn has_come(&self, stopped: &Stopped) -> bool {
        let has_come = |Missed { interest, first: _ }: &Missed| {
            self.knows(interest) || !self.cannot_tell(interest) && !self.cache.interests.is_on_its_way(interest)
        };
        stopped.missed.iter().all(has_come)
    }

    /// Whether a stopped run would see something else now than it did, and so may miss something else, or nothing.
    pub(crate) fn is_another_state(&self, demand: Demand, stopped: &Stopped, changed: &Changed) -> bool {
        let is_other = |(read, digest): &(Read, Digest)| {
            changed.concerns(read) && self.tells_of(demand, read) && self.digest(read) != *digest
        };
        stopped.reads.iter().any(is_other)
    }

    /// The row as far as it is held; `None` if it holds nothing.
    pub fn row(&self, table: TableId, key: &RowKey) -> Option<&'a Row> {
        let layered = self.layers().find_map(|layer| layer.row(table, key));
        layered.or_else(|| self.cache.row(table, key)).filter(|row| !row.is_empty())
    }

    pub fn cell(&self, cell: &Cell) -> Option<&'a CellState> {
        self.row(cell.table, &cell.row).and_then(|row| row.cell(cell.column))
    }

    /// Rows of a range that hold anything, in key order or against it.
    pub fn range(
        &self,
        table: TableId,
        range: &'a KeyRange,
        reverse: bool,
    ) -> impl Iterator<Item = (&'a RowKey, &'a Row)> {
        let own = self.own.into_iter().flat_map(move |layer| layer.range(table, range));
        let pending = self.pending.into_iter().flat_map(move |layer| layer.range(table, range));
        let kept = self.kept.into_iter().flat_map(move |layer| layer.range(table, range));
        let confirmed = self.cache.range(table, range);
        let layers: [Box<dyn Iterator<Item = (&'a RowKey, &'a Row)> + 'a>; 4] = if reverse {
            [Box::new(own.rev()), Box::new(pending.rev()), Box::new(kept.rev()), Box::new(confirmed.rev())]
        } else {
            [Box::new(own), Box::new(pending), Box::new(kept), Box::new(confirmed)]
        };
        Merged { layers: layers.map(Iterator::peekable), reverse }.filter(|(_, row)| !row.is_empty())
    }

    /// A digest of what a read returns here: equal answers have equal digests.
    pub(crate) fn digest(&self, read: &Read) -> Digest {
        let mut answer = Answer::default();
        match read {
            Read::Cell { cell, element } => answer.cell(self.row(cell.table, &cell.row), cell.column, element),
            Read::Range { table, range } => {
                for (key, row) in self.range(*table, range, false) {
                    answer.row(key, row);
                }
            }
            Read::Query(query) => {
                for (_, key, row) in self.answers(query, Direction::Ascending, usize::MAX) {
                    answer.row(key, row);
                }
            }
        }
        answer.digest()
    }

    /// Whether reads would be answered as they were: all of them can be, for as long as `demand` needs them or a pending mutation makes the row, and equally. (A row that left the query which
    /// brought it may be held for somebody else, who can give it up.)
    pub(crate) fn would_repeat(&self, demand: Demand, reads: &[(Read, Digest)]) -> bool {
        reads.iter().all(|(read, digest)| self.tells_of(demand, read) && self.digest(read) == *digest)
    }

    /// Whether `demand` would be told if the answer changed: by what is held for it, or by the pending mutation that makes the row.
    pub(crate) fn tells_of(&self, demand: Demand, read: &Read) -> bool {
        let interest = read.interest();
        if self.cannot_tell(&interest) {
            return false;
        }
        self.cache.interests.holds_for(demand, &interest) || self.is_made_below(&interest)
    }

    /// Whether the row was created and not deleted since.
    pub fn exists(&self, table: TableId, key: &RowKey) -> bool {
        self.row(table, key).is_some_and(Row::exists)
    }

    pub(super) fn layers(&self) -> impl Iterator<Item = &'a Overlay> {
        self.own.into_iter().chain(self.pending).chain(self.kept)
    }
}

/// Merges layers that are each in key order; of equal keys the uppermost layer's row is given.
struct Merged<'a, I: Iterator<Item = (&'a RowKey, &'a Row)>> {
    layers: [std::iter::Peekable<I>; 4],
    reverse: bool,
}

impl<'a, I: Iterator<Item = (&'a RowKey, &'a Row)>> Iterator for Merged<'a, I> {
    type Item = (&'a RowKey, &'a Row);

    fn next(&mut self) -> Option<Self::Item> {
        let heads = self.layers.iter_mut().filter_map(|layer| layer.peek().map(|(key, _)| *key));
        let key = if self.reverse { heads.max() } else { heads.min() }?;
        let mut found = None;
        for layer in &mut self.layers {
            if layer.peek().is_some_and(|(head, _)| *head == key) {
                let item = layer.next();
                found = found.or(item);
            }
        }
        found
    }
}
