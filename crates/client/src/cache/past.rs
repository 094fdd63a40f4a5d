//! Rows as they were before the first own commit that is not delivered yet, of those that have changed since: the layer of the delivered view.
//!
//! Invariants: while the past of a domain is kept, every change of a held row of the domain notes the row before it; read as a layer above the cache, the
//! notes make the state before the oldest step that is kept. A domain is all strong tables together, or one log. A step is what one advance brought, or
//! one entry of a log.
//! Source: Hercules' Visible state (Lebeck 2020, section 3.4.4). Deviation: only rows that have changed are kept twice.

mod domains;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iolite_values::{Interest, KeyRange, LaneNumber, LogPages, Row, RowKey, TableId, Timestamp, row_footprint, set_of};

use super::RowId;
use crate::view::Overlay;
use domains::Domains;

#[derive(Debug, Default)]
pub(crate) struct Past {
    /// The steps that can be taken off, of each domain by its lane, oldest first. No list is empty.
    steps: BTreeMap<LaneNumber, VecDeque<Step>>,
    domains: Domains,
    /// The oldest of each row. Domains share no row.
    layer: Overlay,
    /// The states of later steps, oldest first.
    later: BTreeMap<RowId, VecDeque<Was>>,
    bytes: usize,
}

/// When a step was, among those of its domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    /// The advance up to a timestamp.
    pub(crate) fn advance(to: Timestamp) -> Moment {
        Moment(to.as_u64())
    }

    /// The entry of a log that has so many before it.
    pub(crate) fn entry(index: u64) -> Moment {
        Moment(index)
    }
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
    /// The last that it is of.
    at: Moment,
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

    pub(crate) fn is_kept(&self, domain: LaneNumber) -> bool {
        self.steps.contains_key(&domain)
    }

    /// The rows within these are a domain of their own from now on.
    pub(crate) fn add_log(&mut self, log: LaneNumber, ranges: &[Interest]) {
        self.domains.add(log, ranges);
    }

    /// Forgets a log. What it kept goes first.
    pub(crate) fn remove_log(&mut self, log: LaneNumber) {
        self.end(log);
        self.domains.remove(log);
    }

    /// Begins to note what an advance or an entry changes.
    pub(crate) fn begin(&mut self, domain: LaneNumber, at: Moment) {
        let steps = self.steps.entry(domain).or_default();
        if steps.back().is_none_or(|last| last.at < at) {
            steps.push_back(Step { at, ..Step::default() });
        }
    }

    /// Notes a row before it changes, once a step.
    pub(crate) fn note(&mut self, id: &RowId, before: Option<&Row>, is_whole: impl FnOnce() -> bool) {
        // Apps read no pages, and a page is far larger than an entry.
        if self.steps.is_empty() || id.0 == LogPages::table() {
            return;
        }
        let domain = self.domains.of(id);
        let Some(step) = self.steps.get_mut(&domain).and_then(VecDeque::back_mut) else { return };
        if !step.rows.insert(id.clone()) {
            return;
        }
        let (row, is_whole) = (before.cloned().unwrap_or_default(), is_whole());
        self.bytes += row_footprint(&id.1, &row);
        if self.layer.row(id.0, &id.1).is_some() {
            self.later.entry(id.clone()).or_default().push_back(Was { row, is_whole });
        } else {
            self.layer.put(id.clone(), row, is_whole);
        }
        if self.bytes > Past::BYTES_MAX {
            self.make_room(domain);
        }
    }

    /// More is held of a strong table than before, so the view cannot answer for it.
    pub(crate) fn note_loaded(&mut self, table: TableId) {
        if let Some(step) = self.steps.get_mut(&LaneNumber::STRONG).and_then(VecDeque::back_mut) {
            step.loaded.insert(table);
        }
    }

    /// Whether all that is held of a table now was held as of this state.
    pub(crate) fn tells_of(&self, table: TableId) -> bool {
        !self.steps.values().flatten().any(|step| step.loaded.contains(&table))
    }

    /// Whether an interest is in one row, of which only a part was held as of this state, or nothing.
    pub(crate) fn has_in_part(&self, interest: &Interest) -> bool {
        let (id, is_of_one) = match interest {
            Interest::Cell(cell) => ((cell.table, cell.row.clone()), true),
            Interest::Range { table, range } => {
                let key = RowKey::bound(&range.lower);
                let is_of_one = *range == KeyRange::one(&key);
                ((*table, key), is_of_one)
            }
            Interest::Query(_) => return false,
        };
        is_of_one && self.layer.row(id.0, &id.1).is_some() && !self.layer.made(&id)
    }

    /// Keeps only the steps of a domain from `first` on. Returns the rows that look different.
    pub(crate) fn keep_from(&mut self, domain: LaneNumber, first: Moment) -> BTreeSet<RowId> {
        let mut moved = BTreeSet::new();
        let mut steps = self.steps.remove(&domain).unwrap_or_default();
        while steps.front().is_some_and(|step| step.at < first) {
            for id in steps.pop_front().map(|step| step.rows).unwrap_or_default() {
                self.drop_oldest(&id);
                moved.insert(id);
            }
        }
        if !steps.is_empty() {
            self.steps.insert(domain, steps);
        }
        moved
    }

    /// Ends the layer of a domain, whose rows look as the cache has them then. Returns those that look different.
    pub(crate) fn end(&mut self, domain: LaneNumber) -> BTreeSet<RowId> {
        let moved: BTreeSet<RowId> =
            set_of(self.steps.remove(&domain).into_iter().flatten().flat_map(|step| step.rows));
        for id in &moved {
            self.drop_all(id);
        }
        moved
    }

    /// Ends the layers of all domains. Returns the rows that look different.
    pub(crate) fn end_all(&mut self) -> BTreeSet<RowId> {
        let kept: Vec<LaneNumber> = self.steps.keys().copied().collect();
        kept.into_iter().flat_map(|domain| self.end(domain)).collect()
    }

    /// Forgets all that a row was.
    pub(crate) fn forget(&mut self, id: &RowId) {
        for step in self.steps.values_mut().flatten() {
            step.rows.remove(id);
        }
        self.drop_all(id);
    }

    fn drop_all(&mut self, id: &RowId) {
        let later = self.later.remove(id).into_iter().flatten().map(|was| was.row);
        let rows = later.chain(self.layer.take(id));
        self.bytes -= rows.map(|row| row_footprint(&id.1, &row)).sum::<usize>();
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

    /// Joins steps of the domain that grows, or of another one if it has only one.
    fn make_room(&mut self, domain: LaneNumber) {
        let has_two = |domain: &LaneNumber| self.steps.get(domain).is_some_and(|steps| steps.len() > 1);
        let others = self.steps.keys().copied();
        if let Some(domain) = [domain].into_iter().chain(others).find(has_two) {
            self.join_last(domain);
        }
    }

    /// Makes the last two steps one: of a row that both noted, the older state stays.
    fn join_last(&mut self, domain: LaneNumber) {
        let Some(steps) = self.steps.get_mut(&domain) else { return };
        let (Some(last), Some(before)) = (steps.pop_back(), steps.back_mut()) else { return };
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
        let mut noted = BTreeSet::new();
        for (domain, steps) in &self.steps {
            assert!(!steps.is_empty(), "a domain of which nothing is kept has no list");
            let rows = steps.iter().flat_map(|step| &step.rows);
            noted.extend(rows.inspect(|id| assert_eq!(self.domains.of(id), *domain, "a row is of one domain")));
        }
        assert!(self.layer.rows().map(|(id, _)| id).eq(noted), "every row that a step noted is in the layer");
    }
}
