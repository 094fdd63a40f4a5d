//! Opening: which history the shards have, which life of this coordinator it is, and where the feed can begin.
//!
//! Invariant: when the store is open, a majority of every shard refuses what earlier lives of this coordinator propose, and the proposals of this one
//! are above everything that those can still commit. `Ready` is said when the feed has passed all that was acknowledged to anyone before, but for
//! what lies further ahead of the replicas' clocks than they follow.
//! Source: client recovery in TAPIR (TOCS 2018) 3.2.3.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Now;
use iolite_store::Event;
use iolite_values::{StoreIncarnation, Timestamp};

use super::members::Work;
use super::questions::{Purpose, Target};
use super::timers::Timer;
use super::{Coordinator, CoordinatorOutput, Session, lowest};
use crate::ir::Quorums;
use crate::node::{Ask, Group, MessageId, Opened, ReplicaId, ShardId, Term};

#[derive(Clone, Debug, Default)]
pub(super) struct Opening {
    /// What replicas say, by the history that they have: nothing of two can be put together.
    opened: BTreeMap<StoreIncarnation, AtShards>,
    /// None before the history and the term are known.
    begun: Option<Beginning>,
}

type AtShards = BTreeMap<ShardId, BTreeMap<ReplicaId, Opened>>;

/// Registering in one history.
#[derive(Clone, Debug)]
struct Beginning {
    store: StoreIncarnation,
    by: BTreeMap<ShardId, BTreeSet<ReplicaId>>,
    /// Those that have another history now.
    gone: BTreeSet<Target>,
}

impl Opening {
    pub fn store(&self) -> Option<StoreIncarnation> {
        self.begun.as_ref().map(|begun| begun.store)
    }

    /// Returns those that have told of another history.
    fn hear(&mut self, from: Target, store: StoreIncarnation, opened: Opened) -> Vec<Target> {
        for shards in self.opened.values_mut() {
            if let Some(replicas) = shards.get_mut(&from.shard) {
                replicas.remove(&from.replica);
            }
        }
        self.opened.entry(store).or_default().entry(from.shard).or_default().insert(from.replica, opened);
        let others = self.opened.iter().filter(|(known, _)| **known != store).flat_map(|(_, shards)| shards);
        let others = others.flat_map(|(shard, replicas)| replicas.keys().map(|replica| (*shard, *replica)));
        others.map(|(shard, replica)| Target { shard, replica }).collect()
    }
}

impl Coordinator {
    /// Begins anew. Open requests go on afterwards, and find out for themselves what the history that is there then makes of them.
    pub(super) fn open(&mut self, now: Now) {
        self.session = Session::Opening(Opening::default());
        let feed = |purpose: &Purpose| match purpose {
            Purpose::Open | Purpose::Begin | Purpose::Close => true,
            Purpose::Vote { .. }
            | Purpose::Backup(_)
            | Purpose::Reading { .. }
            | Purpose::Validation(_)
            | Purpose::Acknowledge(_) => false,
        };
        self.questions.drop_each(|question| feed(&question.purpose));
        for shard in self.shards() {
            self.ask_all(now, shard, &Purpose::Open, &Ask::Open);
        }
    }

    pub(super) fn shards(&self) -> Vec<ShardId> {
        self.closers.keys().copied().collect()
    }

    pub(super) fn on_opened(
        &mut self,
        now: Now,
        shard: ShardId,
        from: ReplicaId,
        store: StoreIncarnation,
        opened: Opened,
    ) {
        let Session::Opening(opening) = &mut self.session else { return };
        if opening.begun.is_some() {
            return;
        }
        let others = opening.hear(Target { shard, replica: from }, store, opened);
        let opened = opening.opened.get(&store).cloned().unwrap_or_default();
        let is_enough = self
            .shards()
            .iter()
            .all(|shard| opened.get(shard).is_some_and(|answers| answers.len() >= self.quorums(*shard).majority()));
        let terms = opened.values().flat_map(BTreeMap::values).map(|opened| opened.term);
        let last = terms.max().unwrap_or_default();
        if is_enough {
            return self.begin_term(now, store, last);
        }
        for to in others {
            self.open_again(now, to);
        }
    }

    /// It may have come back with another history since it answered. There may be two for a while, so it is asked only after a pause.
    fn open_again(&mut self, now: Now, to: Target) {
        if !self.questions.is_any(|question| question.purpose == Purpose::Open && question.to == to) {
            self.questions.add(
                now.instant,
                to,
                self.members.round_trip(to.replica, Work::Rest),
                Purpose::Open,
                Ask::Open,
            );
        }
    }

    /// Registers as the life after `last`.
    fn begin_term(&mut self, now: Now, store: StoreIncarnation, last: Term) {
        let Session::Opening(opening) = &mut self.session else { return };
        opening.begun = Some(Beginning { store, by: BTreeMap::new(), gone: BTreeSet::new() });
        if self.term <= last {
            self.take_term(last);
        }
        self.questions.drop_each(|question| matches!(question.purpose, Purpose::Open | Purpose::Begin));
        for shard in self.shards() {
            self.ask_all(now, shard, &Purpose::Begin, &Ask::Begin);
        }
    }

    pub(super) fn on_begun(&mut self, now: Now, shard: ShardId, from: ReplicaId) {
        let Session::Opening(opening) = &mut self.session else { return };
        let Some(begun) = &mut opening.begun else { return };
        begun.by.entry(shard).or_default().insert(from);
        let begun = begun.by.clone();
        let is_enough = self
            .shards()
            .iter()
            .all(|shard| begun.get(shard).is_some_and(|replicas| replicas.len() >= self.quorums(*shard).majority()));
        if is_enough {
            self.serve(now);
        }
    }

    fn serve(&mut self, now: Now) {
        let Session::Opening(opening) = &self.session else { return };
        let Some(store) = opening.store() else { return };
        let opened = opening.opened.get(&store).cloned().unwrap_or_default();
        let furthest = |answers: &BTreeMap<ReplicaId, Opened>| answers.values().map(|opened| opened.complete).max();
        let resolved = lowest(opened.values().filter_map(furthest));
        // Whatever was acknowledged to anyone before is at or below the latest that one of any majority has.
        let latest = opened.values().flat_map(BTreeMap::values).map(|opened| opened.latest).max();
        self.questions.drop_each(|question| matches!(question.purpose, Purpose::Begin));
        self.session = Session::Open { store };
        self.proposals.begin();
        self.begin_feed(now, resolved);
        // Nobody closes beyond the limit, and what was prepared there, by a clock that was wrong, may be nothing.
        let opens_at = latest.unwrap_or_default().min(self.proposals.limit());
        self.opens_at = Some(opens_at);
        self.want(opens_at);
        self.tell_ready();
        self.send_all_again(now);
        self.begin_waiting(now);
    }

    /// Who has opened the store sees all that was acknowledged before.
    pub(super) fn tell_ready(&mut self) {
        let Session::Open { store } = self.session else { return };
        let resolved = self.feed.position();
        if self.opens_at.take_if(|at| *at <= resolved).is_some() {
            self.emit(CoordinatorOutput::Event(Event::Ready { store, resolved }));
        }
    }

    fn begin_feed(&mut self, now: Now, resolved: Timestamp) {
        self.feed.begin(resolved);
        self.decided.retain(|id, _| id.at > resolved);
        self.obstacles.forget_through(resolved);
        for (shard, closer) in &mut self.closers {
            let idle_at = closer.begin(now.instant, resolved);
            self.timers.set(idle_at, Timer::Closer(*shard));
        }
    }

    /// Another life has registered. While opening that is an earlier start of this very process, or a chance meeting: once more, above it. Later
    /// it is another process under the same id.
    pub(super) fn on_superseded(&mut self, now: Now, id: MessageId, term: Term) {
        match &self.session {
            Session::Opening(opening) => {
                if let Some(store) = opening.store().filter(|_| self.term <= term) {
                    self.begin_term(now, store, term);
                }
            }
            Session::Open { .. } if term > self.term => {
                self.emit(CoordinatorOutput::Superseded { term });
            }
            // The lives met in this term, and a new epoch of a shard began with the record of one that knew the other life.
            Session::Open { .. } if term == self.term && id.number > self.term_since => self.take_term(term),
            Session::Open { .. } => {}
        }
    }

    /// The one after `last`.
    fn take_term(&mut self, last: Term) {
        self.term = Term(last.0 + 1);
        self.term_since = self.questions.last_number();
    }

    pub(super) fn on_wrong_store(&mut self, now: Now, from: Target, actual: StoreIncarnation) {
        let group = self.settings.shards.group(from.shard);
        match &mut self.session {
            Session::Open { store } if *store != actual => self.open(now),
            Session::Opening(Opening { begun: Some(begun), .. }) if begun.store != actual => {
                begun.gone.insert(from);
                let stays = |replica: &&ReplicaId| !begun.gone.contains(&Target { replica: **replica, ..from });
                let has_majority =
                    |group: &Group| group.members().iter().filter(stays).count() >= Quorums::of(group).majority();
                // One alone may be what is left of another history.
                if group.is_some_and(|group| !has_majority(group)) {
                    self.open(now);
                }
            }
            Session::Open { .. } | Session::Opening(_) => {}
        }
    }
}
