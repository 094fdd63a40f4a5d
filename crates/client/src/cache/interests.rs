//! What the client subscribes to, who needs it, and how far along it is.
//!
//! Invariants: an interest that somebody needs is never given up; one that nobody needs stays for a while, so that a screen that comes back
//! finds its data, and the least recently used goes first; the sets `wanted`, `idle` and `by_demand` say of each interest what it says itself. A query of which
//! the first rows were asked for is, once they are there, the query up to where they reach; `turned` are those which either are stored as live, or are
//! live, not both.

mod bounds;
mod holding;
mod local;
mod narrowing;
mod pieces;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_values::{Cell, ColumnId, Interest, KeyRange, LaneNumber, Read, RowKey, TableId, set_of};
use iolite_wire::limits;
use iolite_wire::message::{First, SubscriptionId};

pub use bounds::TooManyInterests;
use bounds::query_bytes;
pub(crate) use narrowing::{Need, with_spare};

use super::live_queries::LiveQueries;
use super::live_ranges::LiveRanges;
use crate::transaction::{Missed, Run};

/// Who needs an interest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Demand {
    Mutation(iolite_values::Counter),
    Reaction(crate::ReactionId),
    Tab(crate::TabId),
    /// A log, by its lane.
    Log(LaneNumber),
    /// Kept calls of a table that syncs.
    Kept(TableId),
}

#[derive(Debug)]
struct Subscribed {
    id: SubscriptionId,
    progress: Progress,
    /// Only so much of a query is needed.
    first: Option<First>,
    /// Whether no gateway feeds it: what it holds is made here.
    is_local: bool,
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
    by_demand: BTreeMap<Demand, BTreeSet<Interest>>,
    wanted: BTreeSet<SubscriptionId>,
    /// Those that nobody needs, the least recently used first.
    idle: BTreeMap<(u64, SubscriptionId), Interest>,
    /// Of all queries.
    queries_bytes: usize,
    live_ranges: LiveRanges,
    pub(super) live_queries: LiveQueries,
    /// Queries of which less may be needed than before.
    doubtful: BTreeSet<SubscriptionId>,
    /// Those that cannot be judged before somebody has run who needs them.
    unjudged: BTreeSet<(Demand, SubscriptionId)>,
    /// Reads that were looked at to say how far a query is needed.
    pub(crate) reads_judged: u64,
    /// Subscriptions in whose place others came.
    superseded: Vec<SubscriptionId>,
    /// Those that began or ended to be live since they were last stored, an even number of times taken as never.
    turned: BTreeSet<Interest>,
    /// The interests that no gateway feeds.
    locals: Vec<Interest>,
    next_id: u32,
    uses: u64,
}

impl Interests {
    /// Interests that stay subscribed although nobody needs them.
    pub const IDLE_MAX: usize = 256;
    /// All interests. A gateway takes no more, and a client that resumes names all of them at once.
    pub const TOTAL_MAX: usize = limits::SUBSCRIPTIONS.most;
    /// The queries among them. A gateway takes some more, for those that grow when it answers.
    pub const QUERIES_BYTES_MAX: usize = 768 * 1024;

    pub(super) fn restored(interests: Vec<Interest>) -> Interests {
        let mut own = Interests::default();
        for interest in interests {
            own.insert(interest.clone(), None);
            own.set_progress(&interest, Progress::Live);
        }
        own.turned.clear();
        own
    }

    /// Of an empty cache, beside which these are stored as live.
    pub(crate) fn stored_in_vain(interests: Vec<Interest>) -> Interests {
        Interests { turned: interests.into_iter().collect(), ..Interests::default() }
    }

    /// What has to be stored as live that is not, or the other way round.
    pub(crate) fn turned(&self) -> &BTreeSet<Interest> {
        &self.turned
    }

    /// The same, which is stored now.
    pub(crate) fn take_turned(&mut self) -> BTreeSet<Interest> {
        std::mem::take(&mut self.turned)
    }

    /// Notes that `demand` needs `interest`, if nothing that it has covers it, or so much of it. Returns what it needs for it.
    pub(crate) fn require(&mut self, interest: &Interest, first: Option<First>, demand: Demand) -> Interest {
        let covering = self.covering(interest, Some(demand)).unwrap_or_else(|| interest.clone());
        match self.by_interest.get_mut(&covering) {
            None => self.insert(covering.clone(), first),
            Some(own) if own.progress == Progress::Wanted => own.first = more(own.first, first),
            // If what is on its way is not enough, it is asked for again once it is there.
            Some(_) => {}
        }
        self.attach(&covering, demand);
        covering
    }

    /// `demand` needs this from now on, which is known.
    fn attach(&mut self, interest: &Interest, demand: Demand) {
        self.uses += 1;
        let subscribed = self.by_interest.get_mut(interest).expect("it is known");
        self.idle.remove(&(subscribed.used, subscribed.id));
        // One more that needs it does not make it needed less, but for the first after a while.
        if subscribed.demands.is_empty() {
            self.doubtful.insert(subscribed.id);
        }
        subscribed.demands.insert(demand);
        subscribed.used = self.uses;
        self.by_demand.entry(demand).or_default().insert(interest.clone());
    }

    /// Keeps subscribed what a run read, and asks for what it missed, which is returned.
    ///
    /// # Errors
    /// [`TooManyInterests`], and nothing has changed.
    pub(crate) fn demand(&mut self, demand: Demand, run: &Run) -> Result<Vec<Missed>, TooManyInterests> {
        let missed: Vec<Missed> = run.missed.iter().cloned().collect();
        let missing = missed.iter().map(|missed| missed.interest.clone());
        let mut needed: BTreeSet<Interest> = set_of(run.reads.keys().map(Read::interest).chain(missing));
        self.check_room_for(needed.iter())?;
        for missed in &missed {
            self.require(&missed.interest, missed.first, demand);
        }
        // Queries first: rows that they hold need nothing else.
        let read: Vec<Interest> = run.reads.keys().map(Read::interest).rev().collect();
        for interest in read {
            needed.insert(self.require(&interest, None, demand));
        }
        if !run.is_stopped() {
            self.settle(demand, &needed);
        }
        Ok(missed)
    }

    /// `demand` needs only `kept` from now on. Interests that nobody needs become idle.
    pub(crate) fn settle(&mut self, demand: Demand, kept: &BTreeSet<Interest>) {
        let Some(own) = self.by_demand.get(&demand) else { return };
        let gone: Vec<Interest> = own.iter().filter(|own| !covers_one_of(own, kept)).cloned().collect();
        for interest in gone {
            self.release(&interest, demand);
        }
    }

    fn release(&mut self, interest: &Interest, demand: Demand) {
        if let Some(own) = self.by_demand.get_mut(&demand) {
            own.remove(interest);
            if own.is_empty() {
                self.by_demand.remove(&demand);
            }
        }
        let Some(subscribed) = self.by_interest.get_mut(interest) else { return };
        subscribed.demands.remove(&demand);
        self.unjudged.remove(&(demand, subscribed.id));
        match (subscribed.demands.is_empty(), subscribed.progress) {
            (false, _) => drop(self.doubtful.insert(subscribed.id)),
            // Nothing of it is here, or on its way.
            (true, Progress::Wanted) => drop(self.remove(interest)),
            (true, Progress::Requested | Progress::Live) => {
                self.idle.insert((subscribed.used, subscribed.id), interest.clone());
            }
        }
    }

    /// Gives up the one that was used least recently of those that nobody needs.
    pub(super) fn drop_first_idle(&mut self) -> Option<(SubscriptionId, Interest)> {
        let interest = self.idle.values().next()?.clone();
        Some((self.remove(&interest), interest))
    }

    /// Whether there are any that nobody needs.
    pub(super) fn has_idle(&self) -> bool {
        !self.idle.is_empty()
    }

    /// The last one that was asked for, of those of a kind that are live and needed by such only.
    pub(super) fn last_live(
        &self,
        is_of_kind: impl Fn(&Interest) -> bool,
        such: impl Fn(&Demand) -> bool,
    ) -> Option<SubscriptionId> {
        let of_kind = self.by_interest.iter().filter(|(interest, _)| is_of_kind(interest)).map(|(_, own)| own);
        let fed = of_kind.filter(|own| !own.is_local);
        let live = fed.filter(|own| own.progress == Progress::Live && !own.demands.is_empty());
        live.filter(|own| own.demands.iter().all(&such)).map(|own| own.id).max()
    }

    /// What is to be asked for now; it counts as requested.
    pub(crate) fn take_wanted(&mut self) -> Vec<(SubscriptionId, Interest)> {
        let wanted = std::mem::take(&mut self.wanted).into_iter();
        let wanted: Vec<(SubscriptionId, Interest)> =
            wanted.filter_map(|id| self.by_id.get(&id).map(|interest| (id, interest.clone()))).collect();
        for (_, interest) in &wanted {
            self.set_progress(interest, Progress::Requested);
        }
        wanted
    }

    /// The interests that are held and that a gateway feeds.
    pub fn live(&self) -> impl Iterator<Item = (SubscriptionId, &Interest)> {
        let fed = self.by_interest.iter().filter(|(_, subscribed)| !subscribed.is_local);
        let live = fed.filter(|(_, subscribed)| subscribed.progress == Progress::Live);
        live.map(|(interest, subscribed)| (subscribed.id, interest))
    }

    /// The interests that somebody needs and that a gateway feeds, whatever became of them.
    pub(crate) fn needed(&self) -> impl Iterator<Item = (SubscriptionId, Interest)> {
        let needed = self.by_interest.iter().filter(|(_, own)| !own.is_local && !own.demands.is_empty());
        needed.map(|(interest, own)| (own.id, interest.clone()))
    }

    /// Whether all of a subscription is held.
    pub(crate) fn is_live(&self, id: SubscriptionId) -> bool {
        let own = self.by_id.get(&id).and_then(|interest| self.by_interest.get(interest));
        own.is_some_and(|own| own.progress == Progress::Live)
    }

    /// The first interests, whatever became of them.
    pub(crate) fn first(&self) -> impl Iterator<Item = (SubscriptionId, &Interest)> {
        self.by_id.iter().map(|(id, interest)| (*id, interest))
    }

    /// These were asked for already.
    pub(crate) fn mark_requested(&mut self, ids: &[SubscriptionId]) {
        for id in ids.iter().filter(|id| self.wanted.contains(id)).copied().collect::<Vec<_>>() {
            if let Some(interest) = self.by_id.get(&id).cloned() {
                self.set_progress(&interest, Progress::Requested);
            }
        }
    }

    /// How much is needed of a query, if not all.
    pub(crate) fn first_rows(&self, id: SubscriptionId) -> Option<First> {
        self.by_id.get(&id).and_then(|interest| self.by_interest.get(interest)?.first)
    }

    /// Whether anything was asked for that is not there.
    pub(crate) fn any_requested(&self) -> bool {
        self.by_interest.values().any(|own| !own.is_local && own.progress == Progress::Requested)
    }

    /// Whether this was asked for, or is to be, and is not there.
    pub(crate) fn is_on_its_way(&self, interest: &Interest) -> bool {
        let interest = self.local_with(interest).unwrap_or(interest);
        self.by_interest.get(interest).is_some_and(|own| own.progress != Progress::Live)
    }

    /// The subscriptions that are of no use any more, because another one brings the same.
    pub(super) fn take_superseded(&mut self) -> Vec<SubscriptionId> {
        std::mem::take(&mut self.superseded)
    }

    pub(crate) fn interest(&self, id: SubscriptionId) -> Option<&Interest> {
        self.by_id.get(&id)
    }

    /// The session is gone: what was requested is wanted again.
    pub(crate) fn session_lost(&mut self) {
        let fed = self.by_interest.iter().filter(|(_, own)| !own.is_local);
        let requested = fed.filter(|(_, own)| own.progress == Progress::Requested);
        let requested: Vec<Interest> = requested.map(|(interest, _)| interest.clone()).collect();
        for interest in requested {
            self.set_progress(&interest, Progress::Wanted);
        }
        self.drop_idle_wanted();
    }

    /// What nobody needs is not asked for again.
    fn drop_idle_wanted(&mut self) {
        let idle = self.idle.iter().filter(|((_, id), _)| self.wanted.contains(id));
        for interest in idle.map(|(_, interest)| interest.clone()).collect::<Vec<_>>() {
            self.remove(&interest);
        }
    }

    pub(crate) fn all_wanted_again(&mut self) {
        self.live_ranges.clear();
        self.live_queries.clear();
        self.wanted.clear();
        for (interest, subscribed) in &mut self.by_interest {
            if subscribed.is_local {
                subscribed.progress = Progress::Requested;
                continue;
            }
            self.wanted.insert(subscribed.id);
            if std::mem::replace(&mut subscribed.progress, Progress::Wanted) == Progress::Live {
                turn(&mut self.turned, interest);
            }
        }
        self.drop_idle_wanted();
    }

    /// The interest that has this number, which is live from now on, as far as it reaches.
    pub(crate) fn mark_live(&mut self, id: SubscriptionId, reaches: Option<&KeyRange>) -> Option<Interest> {
        let mut interest = self.by_id.get(&id)?.clone();
        if let (Interest::Query(query), Some(reaches)) = (&interest, reaches) {
            let part = Interest::Query(Arc::new(query.with_range(reaches.within(&query.range))));
            self.rename(&interest, &part);
            interest = part;
        }
        self.set_progress(&interest, Progress::Live);
        Some(interest)
    }

    /// A subscription is to another interest than was asked for. If there was one to that already, this one takes its place.
    fn rename(&mut self, from: &Interest, to: &Interest) {
        if from == to {
            return;
        }
        let Some(mut own) = self.by_interest.remove(from) else { return };
        self.queries_bytes = self.queries_bytes - query_bytes(from) + query_bytes(to);
        if own.progress == Progress::Live {
            self.forget_live(from, own.id);
            own.progress = Progress::Requested;
        }
        let mut renamed = own.demands.clone();
        if let Some(other) = self.by_interest.get(to).map(|other| other.demands.clone()) {
            let id = self.remove(to);
            self.superseded.push(id);
            own.demands.extend(other);
        }
        for demand in std::mem::take(&mut renamed) {
            let needs = self.by_demand.entry(demand).or_default();
            needs.remove(from);
            needs.insert(to.clone());
        }
        self.idle.remove(&(own.used, own.id));
        if own.demands.is_empty() {
            self.idle.insert((own.used, own.id), to.clone());
        }
        own.first = None;
        self.by_id.insert(own.id, to.clone());
        self.by_interest.insert(to.clone(), own);
    }

    /// It is to be asked for again; nothing of it is held until then.
    pub(super) fn want_again(&mut self, id: SubscriptionId) -> Option<Interest> {
        let interest = self.by_id.get(&id)?.clone();
        self.set_progress(&interest, Progress::Wanted);
        self.drop_idle_wanted();
        Some(interest)
    }

    /// It cannot be had. Returns who needed it.
    pub(super) fn take_out(&mut self, id: SubscriptionId) -> Option<(Interest, BTreeSet<Demand>)> {
        let interest = self.by_id.get(&id)?.clone();
        let demands = self.by_interest.get(&interest)?.demands.clone();
        // What was requested may be idle by now, and then nothing else takes it out.
        self.set_progress(&interest, Progress::Wanted);
        if demands.is_empty() {
            self.remove(&interest);
        }
        for demand in &demands {
            self.release(&interest, *demand);
        }
        Some((interest, demands))
    }

    fn insert(&mut self, interest: Interest, first: Option<First>) {
        self.next_id += 1;
        let id = SubscriptionId(self.next_id);
        self.by_id.insert(id, interest.clone());
        self.wanted.insert(id);
        self.queries_bytes += query_bytes(&interest);
        self.idle.insert((self.uses, id), interest.clone());
        let subscribed = Subscribed {
            id,
            progress: Progress::Wanted,
            first,
            is_local: false,
            demands: BTreeSet::new(),
            used: self.uses,
        };
        self.by_interest.insert(interest, subscribed);
    }

    fn set_progress(&mut self, interest: &Interest, progress: Progress) {
        let Some(subscribed) = self.by_interest.get_mut(interest) else { return };
        let before = std::mem::replace(&mut subscribed.progress, progress);
        let id = subscribed.id;
        match progress {
            Progress::Wanted => drop(self.wanted.insert(id)),
            Progress::Requested | Progress::Live => drop(self.wanted.remove(&id)),
        }
        match (before, progress) {
            (Progress::Live, Progress::Live) => {}
            (Progress::Live, Progress::Wanted | Progress::Requested) => self.forget_live(interest, id),
            (Progress::Wanted | Progress::Requested, Progress::Live) => self.note_live(interest, id),
            (Progress::Wanted | Progress::Requested, Progress::Wanted | Progress::Requested) => {}
        }
    }

    fn note_live(&mut self, interest: &Interest, id: SubscriptionId) {
        self.note_turned(interest);
        match interest {
            Interest::Range { .. } => self.live_ranges.insert(interest),
            Interest::Query(query) => {
                self.live_queries.insert(id, query);
                self.doubt_wider(interest);
            }
            Interest::Cell(_) => {}
        }
    }

    fn note_turned(&mut self, interest: &Interest) {
        if !self.locals.contains(interest) {
            turn(&mut self.turned, interest);
        }
    }

    /// Call it when `interest` is live no more, or gone.
    fn forget_live(&mut self, interest: &Interest, id: SubscriptionId) {
        self.note_turned(interest);
        match interest {
            Interest::Range { .. } => {}
            Interest::Query(_) => return self.live_queries.remove(id),
            Interest::Cell(_) => return,
        }
        let live = self.by_interest.iter().filter(|(_, own)| own.progress == Progress::Live);
        self.live_ranges.remove(interest, live.map(|(interest, _)| interest));
    }

    fn remove(&mut self, interest: &Interest) -> SubscriptionId {
        let subscribed = self.by_interest.remove(interest).expect("only known interests are removed");
        self.by_id.remove(&subscribed.id);
        self.queries_bytes -= query_bytes(interest);
        self.wanted.remove(&subscribed.id);
        self.doubtful.remove(&subscribed.id);
        self.unjudged.retain(|(_, id)| *id != subscribed.id);
        self.idle.remove(&(subscribed.used, subscribed.id));
        if subscribed.progress == Progress::Live {
            self.forget_live(interest, subscribed.id);
        }
        subscribed.id
    }

    pub(super) fn validate(&self) {
        for (interest, own) in &self.by_interest {
            assert_eq!(self.by_id.get(&own.id), Some(interest));
            assert_eq!(self.wanted.contains(&own.id), own.progress == Progress::Wanted);
            assert_eq!(self.idle.contains_key(&(own.used, own.id)), own.demands.is_empty());
            assert!(!own.demands.is_empty() || own.progress != Progress::Wanted, "somebody needs what is wanted");
            let known = |demand| self.by_demand.get(demand).is_some_and(|all| all.contains(interest));
            assert!(own.demands.iter().all(known), "a demand knows its interests");
            assert_eq!(self.locals.contains(interest), own.is_local);
        }
        assert_eq!(self.by_id.len(), self.by_interest.len());
        assert_eq!(self.queries_bytes, self.by_interest.keys().map(query_bytes).sum::<usize>());
        assert!(self.idle.len() <= self.by_interest.len() && self.wanted.len() <= self.by_interest.len());
        let demanded: usize = self.by_interest.values().map(|own| own.demands.len()).sum();
        assert_eq!(
            demanded,
            self.by_demand.values().map(BTreeSet::len).sum::<usize>(),
            "an interest knows its demands"
        );
    }
}

fn turn(turned: &mut BTreeSet<Interest>, interest: &Interest) {
    if !turned.remove(interest) {
        turned.insert(interest.clone());
    }
}

/// The more of two wishes for a query's first rows. From both ends: what was wished first, for the other one asks again when this is there.
fn more(one: Option<First>, other: Option<First>) -> Option<First> {
    let (one, other) = (one?, other?);
    Some(if one.direction == other.direction { one.max(other) } else { one })
}

fn covers_one_of(own: &Interest, others: &BTreeSet<Interest>) -> bool {
    let (table, range) = match own {
        Interest::Range { table, range } => (*table, range.clone()),
        // With any cell comes the life of its row.
        Interest::Cell(cell) => {
            let life = Interest::Cell(Cell::row(cell.table, cell.row.clone()));
            return others.contains(own) || others.contains(&life);
        }
        Interest::Query(query) if query.has_all_rows() => (query.table, query.row_keys()),
        Interest::Query(_) => {
            let mut queries = others.iter().rev().take_while(|other| matches!(other, Interest::Query(_)));
            return queries.any(|other| own.covers(other));
        }
    };
    let first_cell = Cell { table, row: RowKey::bound(&range.lower), column: ColumnId(0) };
    let first_range = KeyRange { lower: range.lower.clone(), upper: None };
    let begins_in = |other: &&Interest| match other {
        Interest::Cell(cell) => cell.table == table && range.contains(&cell.row),
        // An empty range begins nowhere, and covers at most itself.
        Interest::Range { table: other, range: inner } => {
            *other == table && range.upper.as_ref().is_none_or(|upper| inner.lower < *upper)
        }
        Interest::Query(_) => false,
    };
    let cells = others.range(Interest::Cell(first_cell)..).take_while(begins_in);
    let ranges = others.range(Interest::Range { table, range: first_range }..).take_while(begins_in);
    let queries = others.iter().rev().take_while(|other| matches!(other, Interest::Query(_)));
    others.contains(own) || cells.chain(ranges).chain(queries).any(|other| own.covers(other))
}
