//! What the client subscribes to, who needs it, and how far along it is.
//!
//! Invariants: an interest that somebody needs is never given up; one that nobody needs stays for a while, so that a screen that comes back
//! finds its data, and the least recently used goes first.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Cell, ColumnId, Interest, Read, TableId};
use iolite_wire::message::SubscriptionId;

use crate::transaction::Run;

/// Who needs an interest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Demand {
    Mutation(iolite_values::Counter),
    Reaction(crate::ReactionId),
    Tab(crate::TabId),
}

#[derive(Debug)]
struct Subscribed {
    id: SubscriptionId,
    progress: Progress,
    demands: BTreeSet<Demand>,
    used: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// To be asked for when a session can take it.
    Wanted,
    Requested,
    /// Held, as of the cache's timestamp.
    Live,
}

/// All interests of a client.
#[derive(Debug, Default)]
pub struct Interests {
    by_interest: BTreeMap<Interest, Subscribed>,
    by_id: BTreeMap<SubscriptionId, Interest>,
    /// Live ranges by table, for the question whether something is held.
    live_ranges: BTreeMap<TableId, Vec<Interest>>,
    next_id: u32,
    uses: u64,
}

impl Interests {
    /// Interests that stay subscribed although nobody needs them.
    pub const IDLE_MAX: usize = 256;

    pub(super) fn restored(interests: Vec<Interest>) -> Interests {
        let mut own = Interests::default();
        for interest in interests {
            own.insert(interest, Progress::Live);
        }
        own
    }

    /// Notes that `demand` needs `interest`, if nothing that it has covers it.
    pub(crate) fn require(&mut self, interest: &Interest, demand: Demand) {
        self.uses += 1;
        let uses = self.uses;
        let covering = self.covering(interest).unwrap_or_else(|| interest.clone());
        if !self.by_interest.contains_key(&covering) {
            self.insert(covering.clone(), Progress::Wanted);
        }
        if let Some(subscribed) = self.by_interest.get_mut(&covering) {
            subscribed.demands.insert(demand);
            subscribed.used = uses;
        }
    }

    /// Keeps subscribed what a run read, and asks for what it missed, which is returned.
    pub(crate) fn demand(&mut self, demand: Demand, run: &Run) -> Vec<Interest> {
        let missed: Vec<Interest> = run.missed.iter().cloned().collect();
        let needed: Vec<Interest> = run.reads.keys().map(Read::interest).chain(missed.iter().cloned()).collect();
        for interest in &needed {
            self.require(interest, demand);
        }
        if !run.is_stopped() {
            self.settle(demand, &needed);
        }
        missed
    }

    /// `demand` needs only `kept` from now on. Interests that nobody needs become idle.
    pub(crate) fn settle(&mut self, demand: Demand, kept: &[Interest]) {
        for (interest, subscribed) in &mut self.by_interest {
            if subscribed.demands.contains(&demand) && !kept.iter().any(|kept| interest.covers(kept)) {
                subscribed.demands.remove(&demand);
            }
        }
    }

    /// Gives up the least recently used interests that nobody needs, past `idle_max`.
    pub(crate) fn drop_idle(&mut self, idle_max: usize) -> Vec<(SubscriptionId, Interest)> {
        let idle = self.by_interest.iter().filter(|(_, subscribed)| subscribed.demands.is_empty());
        let mut idle: Vec<(u64, Interest)> = idle.map(|(interest, own)| (own.used, interest.clone())).collect();
        idle.sort();
        let surplus = idle.len().saturating_sub(idle_max);
        idle.into_iter().take(surplus).map(|(_, interest)| (self.remove(&interest), interest)).collect()
    }

    /// What is to be asked for now; it counts as requested.
    pub(crate) fn take_wanted(&mut self) -> Vec<(SubscriptionId, Interest)> {
        let wanted = self.by_interest.iter_mut().filter(|(_, subscribed)| subscribed.progress == Progress::Wanted);
        let request = |(interest, subscribed): (&Interest, &mut Subscribed)| {
            subscribed.progress = Progress::Requested;
            (subscribed.id, interest.clone())
        };
        wanted.map(request).collect()
    }

    pub fn live(&self) -> impl Iterator<Item = (SubscriptionId, &Interest)> {
        let live = self.by_interest.iter().filter(|(_, subscribed)| subscribed.progress == Progress::Live);
        live.map(|(interest, subscribed)| (subscribed.id, interest))
    }

    /// The first interests, whatever became of them.
    pub(crate) fn first(&self, count: usize) -> Vec<(SubscriptionId, Interest)> {
        self.by_id.iter().take(count).map(|(id, interest)| (*id, interest.clone())).collect()
    }

    /// These were asked for already.
    pub(crate) fn mark_requested(&mut self, ids: &[SubscriptionId]) {
        for id in ids {
            let known = self.by_id.get(id).and_then(|interest| self.by_interest.get_mut(interest));
            if let Some(subscribed) = known.filter(|subscribed| subscribed.progress == Progress::Wanted) {
                subscribed.progress = Progress::Requested;
            }
        }
    }

    pub(crate) fn interest(&self, id: SubscriptionId) -> Option<&Interest> {
        self.by_id.get(&id)
    }

    /// The session is gone: what was requested is wanted again.
    pub(crate) fn session_lost(&mut self) {
        for subscribed in self.by_interest.values_mut() {
            if subscribed.progress == Progress::Requested {
                subscribed.progress = Progress::Wanted;
            }
        }
    }

    pub(crate) fn all_wanted_again(&mut self) {
        self.live_ranges.clear();
        for subscribed in self.by_interest.values_mut() {
            subscribed.progress = Progress::Wanted;
        }
    }

    /// The interest that has this number, which is live from now on.
    pub(crate) fn mark_live(&mut self, id: SubscriptionId) -> Option<Interest> {
        let interest = self.by_id.get(&id)?.clone();
        let subscribed = self.by_interest.get_mut(&interest)?;
        if subscribed.progress != Progress::Live {
            subscribed.progress = Progress::Live;
            self.note_live(&interest);
        }
        Some(interest)
    }

    /// Whether everything of `interest` is held.
    pub(crate) fn holds(&self, interest: &Interest) -> bool {
        let exact = self.by_interest.get(interest).is_some_and(|subscribed| subscribed.progress == Progress::Live);
        exact || self.live_range_covering(interest).is_some() || self.life_is_held(interest)
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

    /// Any live cell of a row brings the row's life with it.
    fn life_is_held(&self, interest: &Interest) -> bool {
        let Interest::Cell(cell) = interest else { return false };
        if cell.column != ColumnId::ROW {
            return false;
        }
        let from = Interest::Cell(cell.clone());
        let of_row = self.by_interest.range(from..).take_while(|(own, _)| match own {
            Interest::Cell(own) => (own.table, &own.row) == (cell.table, &cell.row),
            Interest::Range { .. } => false,
        });
        of_row.into_iter().any(|(_, subscribed)| subscribed.progress == Progress::Live)
    }

    fn covering(&self, interest: &Interest) -> Option<Interest> {
        if self.by_interest.contains_key(interest) {
            return Some(interest.clone());
        }
        self.live_range_covering(interest).cloned()
    }

    fn live_range_covering(&self, interest: &Interest) -> Option<&Interest> {
        self.live_ranges.get(&interest.table())?.iter().find(|range| range.covers(interest))
    }

    fn insert(&mut self, interest: Interest, progress: Progress) {
        self.next_id += 1;
        let id = SubscriptionId(self.next_id);
        self.by_id.insert(id, interest.clone());
        let subscribed = Subscribed { id, progress, demands: BTreeSet::new(), used: self.uses };
        self.by_interest.insert(interest.clone(), subscribed);
        if progress == Progress::Live {
            self.note_live(&interest);
        }
    }

    fn note_live(&mut self, interest: &Interest) {
        if let Interest::Range { table, .. } = interest {
            self.live_ranges.entry(*table).or_default().push(interest.clone());
        }
    }

    fn remove(&mut self, interest: &Interest) -> SubscriptionId {
        if let Some(ranges) = self.live_ranges.get_mut(&interest.table()) {
            ranges.retain(|range| range != interest);
        }
        let subscribed = self.by_interest.remove(interest).expect("only known interests are removed");
        self.by_id.remove(&subscribed.id);
        subscribed.id
    }
}
