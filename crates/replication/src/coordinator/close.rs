//! Closing one shard: raising its barrier at enough replicas, and finding out what committed below it.
//!
//! Invariants: the cursor moves only over what is settled: nothing else can commit at or below it; answers of two views are not put together.
//! Source: Iolite's own (docs/protocols/feed.md), model-checked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use iolite_machine::{Instant, Now};
use iolite_store::{Commit, TooOld};
use iolite_values::Timestamp;

use super::members::Work;
use super::pauses::Pauses;
use super::questions::{Purpose, Target};
use super::timers::Timer;
use super::{Coordinator, CoordinatorSettings, Session, lowest};
use crate::node::{Ask, Ballot, Closed, Detail, Outcome, ProposalId, ReplicaId, ShardId, View};

/// When a shard is closed again while something in it is undecided.
pub const CLOSE_PAUSES: Pauses = Pauses { first: Duration::from_millis(1), longest: Duration::from_millis(100) };

/// How long a Close waits for more than a majority to answer, if that has closed no further than was closed before, or is not complete as far as that.
pub const MORE_WITHIN: Duration = Duration::from_millis(20);

/// So many are taken over with one Close, the oldest first: the next Close waits behind what is asked of them, so replicas are not asked more than they answer.
pub const TAKEN_OVER_EACH_ROUND: usize = 256;

#[derive(Clone, Debug)]
pub(super) struct Closer {
    pub cursor: Timestamp,
    /// There is something here to be fetched.
    pub wanted: Timestamp,
    phase: Phase,
    /// Since when proposals at or below what was closed are undecided.
    undecided: BTreeMap<ProposalId, Instant>,
    /// Closes in a row that had to wait for something undecided.
    waits: u32,
    /// What was settled since this did not reach any replica: they are to be told again.
    repair_from: Option<Timestamp>,
    /// A majority of the replicas is complete as far as this.
    pub complete: Timestamp,
    /// Names of commits came without the commits: all are asked for everything.
    wants_whole: bool,
    idle_after: Duration,
    idle_after_min: Duration,
    idle_after_max: Duration,
}

#[derive(Clone, Debug)]
enum Phase {
    /// The next one comes with demand, or at this time.
    Idle(Instant),
    /// The next one comes at this time, not before: something is undecided.
    Pausing(Instant),
    Asked(Round),
}

/// One Close and its answers.
#[derive(Clone, Debug)]
struct Round {
    cursor: Timestamp,
    through: Timestamp,
    answers: BTreeMap<ReplicaId, (View, Closed)>,
    /// When a majority had answered.
    majority_at: Option<Instant>,
}

/// What the answers of a majority in one view say together.
struct Combined {
    through: Timestamp,
    commits: BTreeMap<Timestamp, Commit>,
    committed: BTreeSet<ProposalId>,
    given_up: BTreeSet<ProposalId>,
    undecided: BTreeMap<ProposalId, Arc<[ShardId]>>,
    /// The highest timestamp that was closed or that something committed at, as far as anybody told.
    latest: Timestamp,
    /// The highest timestamp that something committed at.
    last_commit: Timestamp,
    /// From where on it is complete.
    cursor: Timestamp,
    /// The furthest complete point.
    complete: Timestamp,
    /// How far a majority is complete.
    complete_at_majority: Timestamp,
}

impl Closer {
    pub fn new(settings: &CoordinatorSettings) -> Closer {
        Closer {
            cursor: Timestamp::ZERO,
            wanted: Timestamp::ZERO,
            phase: Phase::Idle(Instant::default()),
            undecided: BTreeMap::new(),
            waits: 0,
            repair_from: None,
            complete: Timestamp::ZERO,
            wants_whole: false,
            idle_after: settings.idle_close_after,
            idle_after_min: settings.idle_close_after,
            idle_after_max: settings.idle_close_after_max,
        }
    }

    /// Of a part of a shard that has ended. Returns when it wants to close.
    pub fn going_on(settings: &CoordinatorSettings, parent: &Closer, now: Instant) -> (Closer, Instant) {
        let mut closer = Closer::new(settings);
        let at = closer.begin(now, parent.cursor);
        (closer.wanted, closer.complete) = (parent.wanted, parent.complete);
        (closer, at)
    }

    /// Begins at `resolved`, whatever was before. Returns when it wants to close although nothing happens.
    pub fn begin(&mut self, now: Instant, resolved: Timestamp) -> Instant {
        (self.cursor, self.wanted) = (resolved, resolved);
        self.undecided.clear();
        self.repair_from = None;
        self.idle_after = self.idle_after_min;
        let at = now + self.idle_after;
        self.phase = Phase::Idle(at);
        at
    }

    /// Goes to `through`, and rests. Returns when it wants to close again, whatever happens.
    fn rest(&mut self, now: Instant, through: Timestamp, combined: &Combined) -> Instant {
        let from = self.cursor;
        let is_quiet = combined.commits.is_empty() && self.wanted <= combined.through;
        if through > from {
            self.cursor = through;
            self.waits = 0;
        }
        self.idle_after = match is_quiet {
            true => (self.idle_after * 2).min(self.idle_after_max),
            false => self.idle_after_min,
        };
        // Nothing came of it: not again at once.
        self.repair_from = (combined.complete < combined.cursor).then_some(combined.complete);
        let is_stuck = through <= from && self.wanted > from || self.repair_from.is_some();
        if !combined.undecided.is_empty() || is_stuck {
            let at = now + CLOSE_PAUSES.after(self.waits);
            self.phase = Phase::Pausing(at);
            self.waits += 1;
            return at;
        }
        let at = now + self.idle_after;
        self.phase = Phase::Idle(at);
        at
    }

    /// # Panics
    /// When an invariant of this module is broken.
    pub fn validate(&self, position: Timestamp) {
        assert!(self.cursor >= position, "the feed is further than one of its shards");
    }
}

impl Round {
    /// The view of the latest answer, and how many are of it.
    fn view(&self) -> Option<(View, usize)> {
        let view = self.answers.values().map(|(view, _)| *view).max()?;
        Some((view, self.answers.values().filter(|(own, _)| *own == view).count()))
    }

    /// Of a majority: those that closed furthest.
    fn combine(&self, view: View, majority: usize) -> Combined {
        let cursor = self.cursor;
        let of_view = || self.answers.values().filter(move |(own, _)| *own == view).map(|(_, closed)| closed);
        let through = reached_by(majority, of_view().map(|closed| closed.through)).unwrap_or(cursor);
        let within = |id: &&ProposalId| id.at <= through;
        let committed = of_view().flat_map(|closed| &closed.committed).filter(within).copied().collect();
        let given_up = of_view().flat_map(|closed| &closed.given_up).filter(within).copied().collect();
        let aborted: BTreeSet<ProposalId> = of_view().flat_map(|closed| &closed.aborted).copied().collect();
        let commits = of_view().flat_map(|closed| &closed.commits).filter(|commit| commit.at <= through);
        let commits = commits.map(|commit| (commit.at, commit.clone())).collect();
        let mut undecided = BTreeMap::new();
        for own in of_view().flat_map(|closed| &closed.undecided).filter(|own| own.id.at <= through) {
            let is_known = |ids: &BTreeSet<ProposalId>| ids.contains(&own.id);
            if !is_known(&committed) && !is_known(&given_up) && !is_known(&aborted) {
                undecided.insert(own.id, own.participants.clone());
            }
        }
        let latest = of_view().map(|closed| closed.barrier.max(closed.latest)).max().unwrap_or_default();
        let last_commit = of_view().map(|closed| closed.latest).max().unwrap_or_default();
        let complete = of_view().map(|closed| closed.complete).max().unwrap_or_default();
        let complete_at_majority = reached_by(majority, of_view().map(|closed| closed.complete)).unwrap_or_default();
        Combined {
            through,
            commits,
            committed,
            given_up,
            undecided,
            latest,
            last_commit,
            cursor,
            complete,
            complete_at_majority,
        }
    }
}

impl Coordinator {
    /// Closes every shard where something is wanted, if nothing is being closed there.
    pub(super) fn drive_closers(&mut self, now: Now) {
        let ready = |closer: &Closer| matches!(closer.phase, Phase::Idle(_)) && closer.wanted > closer.cursor;
        let wanting = self.closers.iter().filter(|(_, closer)| ready(closer));
        for (shard, wanted) in wanting.map(|(shard, closer)| (*shard, closer.wanted)).collect::<Vec<_>>() {
            self.close(now, shard, wanted);
        }
    }

    /// Outcomes have come: what waits for them need not wait longer.
    pub(super) fn close_again(&mut self, now: Now) {
        for closer in self.closers.values_mut() {
            if let Phase::Pausing(_) = closer.phase {
                closer.phase = Phase::Idle(now.instant);
            }
        }
    }

    pub(super) fn press_closer(&mut self, now: Now, shard: ShardId) {
        let idle = self.idle_close_at(now);
        let Some(closer) = self.closers.get_mut(&shard) else { return };
        match &closer.phase {
            Phase::Idle(at) | Phase::Pausing(at) if *at > now.instant => {
                let at = *at;
                self.set_timer(at, Timer::Closer(shard));
            }
            Phase::Idle(_) | Phase::Pausing(_) => {
                let through = idle.max(closer.wanted);
                self.close(now, shard, through);
            }
            Phase::Asked(_) => self.press_round(now, shard),
        }
    }

    /// What may be forgotten: replicas that were not told of it yet may have to ask other shards what became of a proposal.
    fn settled(&self) -> Timestamp {
        lowest(self.closers.values().map(|closer| closer.complete)).min(self.feed.position())
    }

    fn close(&mut self, now: Now, shard: ShardId, through: Timestamp) {
        let settled = self.settled();
        let near_first = self.members.by_distance(self.replicas(shard), Work::Rest);
        let Some(closer) = self.closers.get_mut(&shard).filter(|_| matches!(self.session, Session::Open { .. })) else {
            return;
        };
        let cursor = closer.repair_from.take().unwrap_or(closer.cursor);
        let wants_whole = closer.wants_whole;
        closer.phase = Phase::Asked(Round { cursor, through, answers: BTreeMap::new(), majority_at: None });
        for (place, replica) in near_first.into_iter().enumerate() {
            let detail = match (place, wants_whole) {
                (0, _) => Detail::Followed,
                (_, true) => Detail::Whole,
                (_, false) => Detail::Names,
            };
            self.ask(now, Target { shard, replica }, Purpose::Close, Ask::Close { through, cursor, settled, detail });
        }
    }

    pub(super) fn on_closed(&mut self, now: Now, from: Target, view: View, closed: Result<Closed, TooOld>) {
        let Ok(closed) = closed else { return self.open(now) };
        let majority = self.quorums(from.shard).majority();
        let Some(Closer { phase: Phase::Asked(round), .. }) = self.closers.get_mut(&from.shard) else { return };
        round.answers.insert(from.replica, (view, closed));
        if round.majority_at.is_none() && round.view().is_some_and(|(_, count)| count >= majority) {
            round.majority_at = Some(now.instant);
        }
        self.press_round(now, from.shard);
        let phase = self.closers.get(&from.shard).map(|closer| &closer.phase);
        if let Some(Phase::Asked(Round { majority_at: Some(at), .. })) = phase {
            self.set_timer(*at + MORE_WITHIN, Timer::Closer(from.shard));
        }
    }

    /// Asks those again who answered in an earlier view.
    pub(super) fn close_in_view(&mut self, now: Now, shard: ShardId, view: View) {
        let settled = self.settled();
        let Some(Closer { phase: Phase::Asked(round), .. }) = self.closers.get_mut(&shard) else { return };
        let (cursor, through) = (round.cursor, round.through);
        let earlier = round.answers.iter().filter(|(_, (own, _))| *own < view).map(|(replica, _)| *replica);
        let again: Vec<ReplicaId> = earlier.collect();
        round.answers.retain(|_, (own, _)| *own >= view);
        round.majority_at = None;
        for replica in again {
            let ask = Ask::Close { through, cursor, settled, detail: Detail::Whole };
            self.ask(now, Target { shard, replica }, Purpose::Close, ask);
        }
    }

    /// The shard has another group, which is closed from where the last one was.
    pub(super) fn close_in_epoch(&mut self, now: Now, shard: ShardId) {
        let Some(closer) = self.closers.get_mut(&shard) else { return };
        if let Phase::Asked(round) = &closer.phase {
            let (cursor, through) = (round.cursor, round.through);
            closer.repair_from = Some(cursor).filter(|cursor| *cursor < closer.cursor);
            self.close(now, shard, through);
        }
    }

    /// Goes on if a majority has answered in one view.
    fn press_round(&mut self, now: Now, shard: ShardId) {
        let quorums = self.quorums(shard);
        let Some(Closer { phase: Phase::Asked(round), .. }) = self.closers.get(&shard) else { return };
        let Some((view, count)) = round.view().filter(|(_, count)| *count >= quorums.majority()) else { return };
        let is_late = round.majority_at.is_some_and(|at| at + MORE_WITHIN <= now.instant);
        let combined = round.combine(view, quorums.majority());
        // One whose clock is behind closes less than was asked, and one that is not complete as far as the rest would keep all of them from forgetting. The
        // others may do without it.
        let is_enough = combined.through > round.cursor && combined.complete_at_majority >= round.cursor;
        if is_enough || count == quorums.members() || is_late {
            self.finish_round(now, shard, combined);
        }
    }

    fn finish_round(&mut self, now: Now, shard: ShardId, mut combined: Combined) {
        self.questions.drop_each(|question| question.to.shard == shard && question.purpose == Purpose::Close);
        // Of those that were decided here, a Commit is on the way to the replicas, which will tell; the rest is dead.
        combined.undecided.retain(|id, _| self.decided.get(id) != Some(&Outcome::Aborted));
        let Some(closer) = self.closers.get_mut(&shard) else { return };
        let from = closer.cursor;
        let bodiless = combined.committed.iter().find(|id| id.at > from && !combined.commits.contains_key(&id.at));
        closer.wants_whole = bodiless.is_some();
        let first_open = combined.undecided.keys().next().into_iter().chain(bodiless).min();
        let through = first_open.map_or(combined.through, |id| just_before(id.at).min(combined.through));
        closer.wanted = closer.wanted.max(combined.latest);
        closer.complete = closer.complete.max(combined.complete_at_majority);
        let at = closer.rest(now.instant, through, &combined);
        self.set_timer(at, Timer::Closer(shard));
        self.watch_undecided(now, shard, &combined);
        // Others have committed, and the feed is no further than the last shard.
        self.want(combined.last_commit);
        if through > combined.cursor {
            self.announce(shard, combined.cursor, through, &combined);
        }
        if through > from {
            let commits = combined.commits.into_values().filter(|commit| commit.at > from && commit.at <= through);
            self.advance_feed(shard, commits.collect());
        }
    }

    /// What stays undecided for too long is taken over.
    fn watch_undecided(&mut self, now: Now, shard: ShardId, combined: &Combined) {
        let Combined { undecided, cursor, complete, .. } = combined;
        let patience = self.settings.backup_after.max(self.members.farthest() * 3);
        let Some(closer) = self.closers.get_mut(&shard) else { return };
        // A round that began above it says nothing of it: the rounds that go back for replicas that were not told come in between.
        let is_below = |id: &ProposalId| id.at > *complete && id.at <= *cursor;
        closer.undecided.retain(|id, _| undecided.contains_key(id) || is_below(id));
        let mut overdue = Vec::new();
        for (id, participants) in undecided {
            let since = *closer.undecided.entry(*id).or_insert(now.instant);
            if since + patience <= now.instant {
                overdue.push((*id, participants.clone()));
            }
        }
        let mut begun = 0;
        for (id, participants) in overdue {
            match self.decided.get(&id).copied() {
                Some(outcome) => self.tell_again(shard, id, outcome),
                None if self.transactions.by_proposal(id).is_some() || self.backups.is_open(id) => {}
                None if begun == TAKEN_OVER_EACH_ROUND => {}
                None => {
                    self.take_over(now, id, &participants, Ballot::FIRST);
                    begun += 1;
                }
            }
        }
    }

    /// Its outcome was told, and lost.
    fn tell_again(&mut self, shard: ShardId, id: ProposalId, outcome: Outcome) {
        for replica in self.replicas(shard) {
            self.say(Target { shard, replica }, Ask::Outcome { id, outcome, proposal: None });
        }
    }

    /// Tells the replicas what is settled, so that they complete their own.
    fn announce(&mut self, shard: ShardId, from: Timestamp, through: Timestamp, combined: &Combined) {
        let replicas = self.replicas(shard);
        if replicas.len() == 1 && self.closers.len() == 1 {
            // It decides alone, and knows.
            return;
        }
        let all: BTreeSet<ProposalId> = combined.committed.union(&combined.given_up).copied().collect();
        let commits: Arc<[ProposalId]> = all.into_iter().filter(|id| id.at > from && id.at <= through).collect();
        for replica in replicas {
            self.say(Target { shard, replica }, Ask::Resolved { from, through, commits: commits.clone() });
        }
    }
}

/// How far so many of them have come.
fn reached_by(count: usize, points: impl Iterator<Item = Timestamp>) -> Option<Timestamp> {
    let mut points: Vec<Timestamp> = points.collect();
    points.sort_unstable_by(|a, b| b.cmp(a));
    points.get(count - 1).copied()
}

fn just_before(at: Timestamp) -> Timestamp {
    Timestamp::from_u64(at.as_u64().saturating_sub(1))
}
