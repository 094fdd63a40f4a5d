//! Queries that are held farther than anybody needs them: rows came in, or an app asks for less than before.
//!
//! Invariants: what is shown stays held, for a query goes only when another one is live that has all that was read of it; one that is narrowed has the spare
//! rows that a new one would have, and is not narrowed again before it has twice as many. So rows that come and go cost less than one row each.

use std::collections::BTreeSet;
use std::sync::Arc;

use iolite_values::{Direction, Interest, KeyRange, Query, Read, TableId};
use iolite_wire::message::SubscriptionId;

use super::bounds::query_bytes;
use super::{Demand, Interests, Progress};
use crate::transaction::Transaction;

/// What is read of a query: so many of its rows, from one end on.
struct Needed {
    range: KeyRange,
    direction: Direction,
    rows: usize,
}

impl Needed {
    /// With spare rows, as a query with a limit is asked for.
    fn rows_to_hold(&self) -> usize {
        self.rows + self.rows / 2 + Transaction::SPARE_ROWS
    }
}

impl Interests {
    /// The queries that may be held farther than they are needed, since this was last asked.
    pub(crate) fn take_doubtful(&mut self) -> Vec<SubscriptionId> {
        let mut doubtful = std::mem::take(&mut self.doubtful);
        doubtful.extend(self.live_queries.take_grown());
        let has_many = |id: &SubscriptionId| self.live_queries.count(*id) > 2 * Transaction::SPARE_ROWS;
        doubtful.into_iter().filter(has_many).collect()
    }

    /// `demand` does not read of these tables what it read before, so it may need less of queries that it has.
    pub(crate) fn doubt(&mut self, demand: Demand, tables: &BTreeSet<TableId>) {
        let all = self.by_demand.get(&demand).into_iter().flat_map(|all| all.iter().rev());
        for interest in all.take_while(|own| matches!(own, Interest::Query(_))) {
            let id = self.by_interest[interest].id;
            // This may also be the run that it is judged after.
            if self.unjudged.remove(&(demand, id)) || tables.contains(&interest.table()) {
                self.doubtful.insert(id);
            }
        }
    }

    /// It is not known what `demand` reads of it, until that has run.
    pub(crate) fn judge_after(&mut self, demand: Demand, id: SubscriptionId) {
        self.unjudged.insert((demand, id));
    }

    /// Who needs this query, which is there now, may need no wider one any more.
    pub(super) fn doubt_wider(&mut self, interest: &Interest) {
        let demands = self.by_interest.get(interest).into_iter().flat_map(|own| &own.demands);
        let needed = demands.filter_map(|demand| self.by_demand.get(demand));
        let queries = needed.flat_map(|all| all.iter().rev().take_while(|own| matches!(own, Interest::Query(_))));
        let wider = queries.filter(|own| own.covers(interest)).filter_map(|own| self.by_interest.get(own));
        self.doubtful.extend(wider.map(|own| own.id));
    }

    /// Who needs it.
    pub(crate) fn demands(&self, id: SubscriptionId) -> impl Iterator<Item = Demand> {
        let own = self.by_id.get(&id).and_then(|interest| self.by_interest.get(interest));
        own.into_iter().flat_map(|own| own.demands.iter().copied())
    }

    /// Lets a query be held no farther than these reads need it, which are all that are made of it. Where nothing narrower has them, that is asked for first.
    /// Returns the interest if it was given up.
    pub(crate) fn narrow<'a>(
        &mut self,
        id: SubscriptionId,
        reads: impl Iterator<Item = &'a Read>,
    ) -> Option<(SubscriptionId, Interest)> {
        let wide = self.by_id.get(&id)?.clone();
        let Interest::Query(query) = &wide else { return None };
        let needed = self.needed(id, query, reads)?;
        let part = Interest::Query(Arc::new(query.with_range(needed.range.clone())));
        let most = 2 * needed.rows_to_hold();
        let is_too_wide = self.live_queries.count(id) > most;
        let demands = &self.by_interest[&wide].demands;
        let live = self.live_queries.covering(&part).map(|own| Interest::Query(own.clone()));
        let narrower = live.filter(|own| *own != wide).find(|own| {
            let own = &self.by_interest[own];
            self.live_queries.count(own.id) <= most && (is_too_wide || demands.is_subset(&own.demands))
        });
        if let Some(narrower) = narrower {
            return Some(self.replace_by(&wide, &narrower));
        }
        if is_too_wide {
            self.ask_for_part(id, query, &part, &needed);
        }
        None
    }

    fn ask_for_part(&mut self, id: SubscriptionId, query: &Query, part: &Interest, needed: &Needed) {
        let demands: Vec<Demand> = self.demands(id).collect();
        let mut asked = demands.iter().filter_map(|demand| self.by_demand.get(demand)).flatten();
        let comes = asked.any(|own| own.covers(part) && self.by_interest[own].progress != Progress::Live);
        let Some(last) = self.live_queries.place(id, needed.direction, needed.rows_to_hold()) else { return };
        let narrow = query.with_range(query.range.ending_with(last.as_bytes(), needed.direction));
        let narrow = Interest::Query(Arc::new(narrow));
        let bytes = self.queries_bytes + query_bytes(&narrow);
        let is_full = self.by_interest.len() >= Self::TOTAL_MAX || bytes > Self::QUERIES_BYTES_MAX;
        if comes || is_full || self.by_interest.contains_key(&narrow) {
            return;
        }
        self.insert(narrow.clone(), None);
        for demand in demands {
            self.attach(&narrow, demand);
        }
    }

    /// Whoever needs one needs another from now on, and the first is given up.
    fn replace_by(&mut self, wide: &Interest, narrower: &Interest) -> (SubscriptionId, Interest) {
        for demand in self.by_interest[wide].demands.clone() {
            self.attach(narrower, demand);
            self.release(wide, demand);
        }
        (self.remove(wide), wide.clone())
    }

    /// None if nothing of it is, or something that is at neither end.
    fn needed<'a>(
        &mut self,
        id: SubscriptionId,
        query: &Query,
        reads: impl Iterator<Item = &'a Read>,
    ) -> Option<Needed> {
        let mut needed: Option<KeyRange> = None;
        for read in reads {
            self.reads_judged += 1;
            let range = match read {
                Read::Query(own) => query.covers(own).then(|| own.range.clone()),
                Read::Cell { .. } | Read::Range { .. } => self.live_queries.range_of_row(id, &read.interest()),
            };
            let Some(range) = range.filter(|range| !range.is_empty()) else { continue };
            let range = needed.map_or(range.clone(), |so_far| from_one_to_the_other(&so_far, &range));
            if range == query.range {
                // More than all of it nobody needs.
                return Some(Needed { range, direction: Direction::Ascending, rows: self.live_queries.count(id) });
            }
            needed = Some(range);
        }
        let range = needed?;
        let direction = if range.lower == query.range.lower {
            Direction::Ascending
        } else if range.upper == query.range.upper {
            Direction::Descending
        } else {
            return None;
        };
        let rows = self.live_queries.count_in(id, &range);
        Some(Needed { range, direction, rows })
    }
}

fn from_one_to_the_other(one: &KeyRange, other: &KeyRange) -> KeyRange {
    let lower = (&one.lower).min(&other.lower).clone();
    let upper = one.upper.as_ref().zip(other.upper.as_ref()).map(|(one, other)| one.max(other).clone());
    KeyRange { lower, upper }
}
