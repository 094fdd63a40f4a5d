//! Which of a client's interests hold what.
//!
//! Invariant: what is held is held by a live interest: itself, a range or a query that covers it; the life of a row also by any live cell of the row.

use std::collections::BTreeSet;

use iolite_values::{Cell, ColumnId, Direction, Interest, Query};
use iolite_wire::message::SubscriptionId;

use super::{Demand, Interests, Progress};
use crate::cache::RowId;

impl Interests {
    /// Whether it is held itself, and not only within another one.
    pub(crate) fn holds_itself(&self, interest: &Interest) -> bool {
        self.by_interest.get(interest).is_some_and(|own| own.progress == Progress::Live)
    }

    /// Whether everything of `interest` is held.
    pub(crate) fn holds(&self, interest: &Interest) -> bool {
        self.holds_itself(interest)
            || self.live_ranges.covering(interest).is_some()
            || self.live_queries.covering(interest).next().is_some()
            || self.holder_of_life(interest).is_some()
    }

    /// The same, but for what is held because a row is an answer of a query now: it may have become one.
    pub(crate) fn holds_without_answers(&self, interest: &Interest) -> bool {
        let by_all_rows = match interest {
            Interest::Range { table, range } => {
                self.live_queries.of_all_rows(*table).any(|query| query.row_keys().covers(range))
            }
            Interest::Cell(_) | Interest::Query(_) => false,
        };
        by_all_rows
            || self.holds_itself(interest)
            || self.live_ranges.covering(interest).is_some()
            || self.holder_of_life(interest).is_some()
    }

    /// Whether all of a row is held.
    pub(crate) fn holds_row(&self, id: &RowId) -> bool {
        self.live_queries.has_row(id) || self.live_ranges.covers_row(id)
    }

    /// The queries that bring all of a row.
    pub(crate) fn queries_with(&self, id: &RowId) -> BTreeSet<SubscriptionId> {
        self.live_queries.with_row(id).cloned().unwrap_or_default()
    }

    /// As far as the answer to a query is held from one end on.
    pub(crate) fn part_of(&self, query: &Query, direction: Direction) -> Option<Query> {
        self.live_queries.part_of(query, direction)
    }

    /// Whether a cell changes with what is live here. (The life of a row does, for each live cell of the row.)
    pub(crate) fn live_includes(&self, cell: &Cell) -> bool {
        if cell.column == ColumnId::ROW {
            return self.holds(&Interest::Cell(cell.clone()));
        }
        self.live_holds(cell)
    }

    /// Whether this very cell is held.
    pub(crate) fn live_holds(&self, cell: &Cell) -> bool {
        self.holds(&Interest::Cell(cell.clone()))
    }

    /// Whether `interest` is held for as long as `demand` needs it.
    pub(crate) fn holds_for(&self, demand: Demand, interest: &Interest) -> bool {
        let mut own = self.by_demand.get(&demand).into_iter().flatten();
        own.any(|own| self.brings(own, interest) && self.by_interest[own].progress == Progress::Live)
    }

    /// Whether something that `demand` needs, and that is not there yet, is to bring `interest`.
    pub(crate) fn awaits(&self, demand: Demand, interest: &Interest) -> bool {
        let Some(own) = self.by_demand.get(&demand) else { return false };
        let comes = |own: &Interest| self.by_interest[own].progress != Progress::Live;
        own.get(interest).is_some_and(comes) || own.iter().any(|own| own.covers(interest) && comes(own))
    }

    /// Whether all of `interest` comes with `own`: with any cell, the life of its row; with a query, its answers.
    fn brings(&self, own: &Interest, interest: &Interest) -> bool {
        let by_itself = match interest {
            Interest::Cell(cell) => !matches!(own, Interest::Query(_)) && own.includes(cell),
            Interest::Range { .. } | Interest::Query(_) => own.covers(interest),
        };
        by_itself
            || matches!(own, Interest::Query(query) if self.live_queries.covering(interest).any(|live| live == query))
    }

    /// Any live cell of a row brings the row's life with it.
    fn holder_of_life(&self, interest: &Interest) -> Option<&Interest> {
        let Interest::Cell(cell) = interest else { return None };
        if cell.column != ColumnId::ROW {
            return None;
        }
        let mut of_row = self.by_interest.range(interest..).take_while(|(own, _)| match own {
            Interest::Cell(own) => (own.table, &own.row) == (cell.table, &cell.row),
            Interest::Range { .. } | Interest::Query(_) => false,
        });
        of_row.find(|(_, subscribed)| subscribed.progress == Progress::Live).map(|(own, _)| own)
    }

    /// What has this interest asked for, or held, already. What is held comes before what is on its way, and what `demand` needs anyway before what it does
    /// not.
    pub(super) fn covering(&self, interest: &Interest, demand: Option<Demand>) -> Option<Interest> {
        if self.holds_itself(interest) {
            return Some(interest.clone());
        }
        let held = self.live_ranges.covering(interest);
        let held = held.or_else(|| self.query_with(interest, demand));
        let held = held.or_else(|| self.holder_of_life(interest).cloned());
        let held = held.or_else(|| self.local_with(interest).cloned());
        held.or_else(|| self.by_interest.contains_key(interest).then(|| interest.clone()))
    }

    fn query_with(&self, interest: &Interest, demand: Option<Demand>) -> Option<Interest> {
        let own = demand.and_then(|demand| self.by_demand.get(&demand));
        let mut first = None;
        for query in self.live_queries.covering(interest) {
            let found = Interest::Query(query.clone());
            if own.is_some_and(|own| own.contains(&found)) {
                return Some(found);
            }
            first = first.or(Some(found));
        }
        first
    }
}
