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

/// Something for which a query is needed.
pub(crate) enum Need<'a> {
    /// What is read of it.
    Read(&'a Read),
    /// What a tab that follows was given: its spare rows are among it.
    Given(&'a Interest),
}

impl Need<'_> {
    fn interest(&self) -> Interest {
        match self {
            Need::Read(read) => read.interest(),
            Need::Given(interest) => (*interest).clone(),
        }
    }
}

/// So many rows, and as many more as make up for some that leave.
pub(crate) fn with_spare(rows: usize) -> usize {
    rows.saturating_add(rows / 2).saturating_add(Transaction::SPARE_ROWS)
}

/// What is needed of a query: a part of its range that begins at one end, and how many rows are held for it.
struct Extent {
    range: KeyRange,
    direction: Direction,
    rows: usize,
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

    /// Lets a query be held no farther than this needs it, which is all that anybody needs of it. Where nothing narrower has them, that is asked for first.
    /// Returns the interest if it was given up.
    pub(crate) fn narrow<'a>(
        &mut self,
        id: SubscriptionId,
        needs: impl Iterator<Item = Need<'a>>,
    ) -> Option<(SubscriptionId, Interest)> {
        let wide = self.by_id.get(&id)?.clone();
        let Interest::Query(query) = &wide else { return None };
        let needed = self.extent(id, query, needs)?;
        let part = Interest::Query(Arc::new(query.with_range(needed.range.clone())));
        let most = needed.rows.saturating_mul(2);
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

    fn ask_for_part(&mut self, id: SubscriptionId, query: &Query, part: &Interest, needed: &Extent) {
        let demands: Vec<Demand> = self.demands(id).collect();
        let mut asked = demands.iter().filter_map(|demand| self.by_demand.get(demand)).flatten();
        let comes = asked.any(|own| own.covers(part) && self.by_interest[own].progress != Progress::Live);
        let Some(last) = self.live_queries.place(id, needed.direction, needed.rows) else { return };
        // The last row of what a tab was given may have left.
        let range = joined(Some(query.range.ending_with(last.as_bytes(), needed.direction)), &needed.range);
        let narrow = Interest::Query(Arc::new(query.with_range(range)));
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

    /// None if nothing of it is needed, or something that is at neither end.
    fn extent<'a>(
        &mut self,
        id: SubscriptionId,
        query: &Query,
        needs: impl Iterator<Item = Need<'a>>,
    ) -> Option<Extent> {
        let (mut read, mut all): (Option<KeyRange>, Option<KeyRange>) = (None, None);
        for need in needs {
            self.reads_judged += 1;
            let interest = need.interest();
            let range = match &interest {
                Interest::Query(own) => query.covers(own).then(|| own.range.clone()),
                Interest::Cell(_) | Interest::Range { .. } => self.live_queries.range_of(id, &interest),
            };
            let Some(range) = range.filter(|range| !range.is_empty()) else { continue };
            if let Need::Read(_) = need {
                read = Some(joined(read, &range));
            }
            let range = joined(all, &range);
            if range == query.range {
                // More than all of it nobody needs.
                let rows = with_spare(self.live_queries.count(id));
                return Some(Extent { range, direction: Direction::Ascending, rows });
            }
            all = Some(range);
        }
        let range = all?;
        let (direction, read) = if range.lower == query.range.lower {
            (Direction::Ascending, read.map(|read| KeyRange { lower: range.lower.clone(), ..read }))
        } else if range.upper == query.range.upper {
            (Direction::Descending, read.map(|read| KeyRange { upper: range.upper.clone(), ..read }))
        } else {
            return None;
        };
        let for_reads = read.map_or(0, |read| with_spare(self.live_queries.count_in(id, &read)));
        let rows = for_reads.max(self.live_queries.count_in(id, &range));
        Some(Extent { range, direction, rows })
    }
}

/// From the beginning of the first one to the end of the last one.
fn joined(so_far: Option<KeyRange>, range: &KeyRange) -> KeyRange {
    let Some(one) = so_far else { return range.clone() };
    let lower = (&one.lower).min(&range.lower).clone();
    let upper = one.upper.as_ref().zip(range.upper.as_ref()).map(|(one, other)| one.max(other).clone());
    KeyRange { lower, upper }
}
