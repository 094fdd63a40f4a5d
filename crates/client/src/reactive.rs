//! Reactive transactions: they read only, on one snapshot, and run again when an answer that they had is another now.
//!
//! Invariants: the sets `due`, `missing` and `were_crowded`, the number `durable` and the index `readers` say what the reactions say; a run sees one snapshot
//! of its view; the read set is that of the latest run; when nothing is left to do, every reaction has run
//! on the last state of what it reads, or waits for data that is on its way. Where the host holds reactions back, that is so after each turn that it
//! gives them.
//! Source: Diamond's reactive transactions (Zhang 2017, sections 3.2.3 and 3.3.3).

mod readers;

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Digest, Interest, Read, TableId};

use crate::cache::{Demand, Need, Needs, TooManyInterests};
use crate::transaction::{Closed, Missed, Run, Stopped};
use crate::view::{Changed, Reader, View};

use readers::Readers;

/// A registered reactive transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReactionId(pub u64);

#[derive(Debug)]
pub(crate) struct Reaction {
    pub(crate) view: View,
    pub(crate) state: ReactionState,
    /// What its last run read that was not stopped, and saw.
    read: Vec<(Read, Digest)>,
    /// Runs in a row that missed something, each when what the one before it missed had come.
    pub(crate) misses: u32,
    /// How often in a row there was no room for what it reads.
    crowded: u32,
    /// Whether it has no result since it was registered, or waits for data.
    awaited: bool,
}

/// A host says with it which reactions may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReactionTurn {
    /// All, whenever something changed.
    #[default]
    Always,
    /// None before the host gives them a turn.
    Waits,
    /// The ones whose first result or whose data is awaited, until none is due. Then they wait again.
    Awaited,
    /// All, until none is due. Then they wait again.
    All,
}

#[derive(Debug)]
pub(crate) enum ReactionState {
    Due,
    /// It cannot run to its end before what it missed is held, or what it saw is another.
    Missing(Stopped),
    Done,
    /// There was no room for what it reads. It runs again when another one needs nothing any more, here or in another tab.
    Crowded,
    /// It failed, and is left alone until it is registered again.
    Failed,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finished {
    /// The reaction was stopped meanwhile.
    Gone,
    Done,
    /// It waits for data.
    Waits,
    /// The message is for the developer.
    Failed(String),
}

impl Reaction {
    /// Whether it needed anything, so that there is more room without it.
    pub(crate) fn makes_room(&self) -> bool {
        !matches!(self.state, ReactionState::Crowded | ReactionState::Failed)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Reactions {
    reactions: BTreeMap<ReactionId, Reaction>,
    due: BTreeSet<ReactionId>,
    /// The reactions that wait for data.
    missing: BTreeSet<ReactionId>,
    /// The reactions for which there was no room, the last time or some times in a row before.
    were_crowded: BTreeSet<ReactionId>,
    /// The reads of the reactions that are done.
    readers: Readers,
    /// How many look at the durable view.
    durable: usize,
    last: u64,
    /// How often something changed, or may have.
    changes: u64,
    /// How many were looked at for that.
    looked_at: u64,
    turn: ReactionTurn,
    /// Changes that they were not compared with yet.
    unseen: Changed,
    is_unseen: bool,
}

impl Reactions {
    /// Says which may run from now on. A turn of all goes on when those whose data is awaited get theirs.
    pub(crate) fn set_turn(&mut self, turn: ReactionTurn) {
        if (self.turn, turn) != (ReactionTurn::All, ReactionTurn::Awaited) {
            self.turn = turn;
        }
    }

    /// Whether the host is to give them a turn.
    pub(crate) fn wait_for_turn(&self) -> bool {
        let is_unseen = self.is_unseen && !self.reactions.is_empty();
        self.turn != ReactionTurn::Always && (is_unseen || !self.due.is_empty())
    }

    pub(crate) fn register(&mut self, view: View) -> ReactionId {
        self.last += 1;
        let id = ReactionId(self.last);
        let (state, read) = (ReactionState::Due, Vec::new());
        self.reactions.insert(id, Reaction { view, state, read, misses: 0, crowded: 0, awaited: true });
        self.due.insert(id);
        self.durable += usize::from(view == View::Durable);
        id
    }

    /// Makes a reaction run again although nothing changed: its closure is another one now, or data that failed to come is asked for again.
    pub(crate) fn renew(&mut self, id: ReactionId) {
        if let Some(reaction) = self.reactions.get_mut(&id) {
            (reaction.misses, reaction.awaited) = (0, true);
            self.set_state(id, ReactionState::Due);
        }
    }

    /// Makes all run again that have run, whatever they would answer.
    pub(crate) fn run_again(&mut self) {
        let done = self.reactions.iter().filter(|(_, reaction)| matches!(reaction.state, ReactionState::Done));
        for id in done.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.set_state(id, ReactionState::Due);
        }
    }

    pub(crate) fn stop(&mut self, id: ReactionId) -> Option<Reaction> {
        let stopped = self.reactions.remove(&id)?;
        self.forget_state(id, &stopped);
        self.were_crowded.remove(&id);
        self.durable -= usize::from(stopped.view == View::Durable);
        Some(stopped)
    }

    /// Gives a reaction another state.
    fn set_state(&mut self, id: ReactionId, state: ReactionState) {
        let Some(mut reaction) = self.reactions.remove(&id) else { return };
        self.forget_state(id, &reaction);
        reaction.state = state;
        match &reaction.state {
            ReactionState::Due => drop(self.due.insert(id)),
            ReactionState::Missing(_) => drop(self.missing.insert(id)),
            ReactionState::Done => self.readers.add(id, &reaction.read),
            ReactionState::Crowded | ReactionState::Failed => {}
        }
        if reaction.crowded > 0 {
            self.were_crowded.insert(id);
        }
        self.reactions.insert(id, reaction);
    }

    fn forget_state(&mut self, id: ReactionId, reaction: &Reaction) {
        match reaction.state {
            ReactionState::Due => drop(self.due.remove(&id)),
            ReactionState::Missing(_) => drop(self.missing.remove(&id)),
            ReactionState::Done => self.readers.remove(id, &reaction.read),
            ReactionState::Crowded | ReactionState::Failed => {}
        }
    }

    /// There may be room for those that failed for want of it: another one needs nothing any more.
    pub(crate) fn get_room(&mut self) {
        for id in self.were_crowded.clone() {
            let Some(reaction) = self.reactions.get_mut(&id) else { continue };
            match reaction.state {
                ReactionState::Crowded if reaction.crowded <= crate::Client::CROWDED_MAX => {
                    self.set_state(id, ReactionState::Due);
                }
                // It had room for a while.
                ReactionState::Done => {
                    reaction.crowded = 0;
                    self.were_crowded.remove(&id);
                }
                ReactionState::Crowded | ReactionState::Due | ReactionState::Missing(_) | ReactionState::Failed => {}
            }
        }
    }

    pub(crate) fn get(&self, id: ReactionId) -> Option<&Reaction> {
        self.reactions.get(&id)
    }

    /// Takes what came of a run that missed `missed`.
    pub(crate) fn finish(
        &mut self,
        id: ReactionId,
        run: Run,
        closed: Closed,
        missed: Result<Vec<Missed>, TooManyInterests>,
    ) -> Finished {
        let Some(reaction) = self.reactions.get_mut(&id) else { return Finished::Gone };
        reaction.misses = if run.is_stopped() { reaction.misses + 1 } else { 0 };
        reaction.awaited = run.is_stopped();
        let too_many = reaction.misses > crate::Client::MISSES_MAX;
        let (state, finished) = match (missed, closed) {
            (Err(error), _) => {
                reaction.crowded += 1;
                (ReactionState::Crowded, Finished::Failed(error.to_string()))
            }
            (Ok(_), _) if too_many => (ReactionState::Failed, Finished::Failed(crate::Client::MISSES_TOO_MANY.into())),
            (Ok(missed), _) if run.is_stopped() => {
                let stopped = Stopped { missed, reads: run.reads.into_iter().collect() };
                self.set_state(id, ReactionState::Missing(stopped));
                return Finished::Waits;
            }
            (Ok(_), Closed::Returned) => (ReactionState::Done, Finished::Done),
            // It runs again when what it read changes: an app that trips over some data recovers with the data.
            (Ok(_), Closed::Aborted(message) | Closed::Failed(message)) => {
                (ReactionState::Done, Finished::Failed(message))
            }
            (Ok(_), Closed::Unknown) => (ReactionState::Failed, Finished::Failed("there is no such closure".into())),
        };
        if let ReactionState::Done = state {
            self.note_read(id, run.reads.into_iter().collect());
        }
        self.set_state(id, state);
        finished
    }

    /// Notes what the last run read that was not stopped.
    fn note_read(&mut self, id: ReactionId, read: Vec<(Read, Digest)>) {
        let Some(reaction) = self.reactions.get_mut(&id) else { return };
        let before = std::mem::replace(&mut reaction.read, read);
        if let ReactionState::Done = reaction.state {
            self.readers.remove(id, &before);
            self.readers.add(id, &reaction.read);
        }
    }

    /// The reactions that wait for an interest.
    pub(crate) fn waiting_for(&self, interest: &Interest) -> Vec<ReactionId> {
        let waits = |reaction: &Reaction| match &reaction.state {
            ReactionState::Missing(stopped) => stopped.missed.iter().any(|missed| interest.covers(&missed.interest)),
            ReactionState::Due | ReactionState::Done | ReactionState::Crowded | ReactionState::Failed => false,
        };
        self.missing.iter().filter(|id| self.reactions.get(id).is_some_and(waits)).copied().collect()
    }

    /// Whether this reaction waits for data.
    pub(crate) fn waits(&self, id: ReactionId) -> bool {
        self.reactions.get(&id).is_some_and(|own| matches!(own.state, ReactionState::Missing(_)))
    }

    /// What this reaction waits for cannot be had. False when it waits for nothing.
    pub(crate) fn give_up(&mut self, id: ReactionId) -> bool {
        let waits = self.waits(id);
        if waits {
            self.set_state(id, ReactionState::Failed);
        }
        waits
    }

    /// There is no room for what this reaction reads. False when it has failed already.
    pub(crate) fn crowd_out(&mut self, id: ReactionId) -> bool {
        let is_going = |own: &&mut Reaction| !matches!(own.state, ReactionState::Crowded | ReactionState::Failed);
        let Some(reaction) = self.reactions.get_mut(&id).filter(is_going) else { return false };
        reaction.crowded += 1;
        self.set_state(id, ReactionState::Crowded);
        true
    }

    /// What a reaction's last run read, if it has nothing left to run for. Queries come first: they tell more than rows.
    pub(crate) fn needs(&self, id: ReactionId) -> Option<Needs<'_>> {
        let reaction = self.reactions.get(&id)?;
        match reaction.state {
            ReactionState::Done => Some(Box::new(reaction.read.iter().rev().map(|(read, _)| Need::Read(read)))),
            ReactionState::Due | ReactionState::Missing(_) | ReactionState::Crowded | ReactionState::Failed => None,
        }
    }

    /// The tables of what a reaction has read and does not read in this run.
    pub(crate) fn tables_left(&self, id: ReactionId, run: &Run) -> BTreeSet<TableId> {
        let read = self.reactions.get(&id).into_iter().flat_map(|reaction| &reaction.read);
        let left = read.map(|(read, _)| read).filter(|read| !run.reads.contains_key(read));
        left.map(|read| read.interest().table()).collect()
    }

    /// The reactions that wait for data.
    pub(crate) fn missing(&self) -> impl Iterator<Item = ReactionId> {
        self.missing.iter().copied()
    }

    pub(crate) fn uses_durable_view(&self) -> bool {
        self.durable > 0
    }

    /// Something changed, or may have.
    pub(crate) fn note_changes(&mut self, changed: Changed) {
        self.changes += 1;
        if !self.reactions.is_empty() {
            self.unseen.merge(changed);
            self.is_unseen = true;
        }
    }

    /// Whether some may run now that were not compared with what changed.
    pub(crate) fn are_to_compare(&self) -> bool {
        self.is_unseen && self.turn != ReactionTurn::Waits
    }

    /// Marks as due what may run now, if it read something that changed and would get another answer, or waited for data that has come.
    pub(crate) fn compare<'a>(&mut self, reader: impl Fn(View) -> Reader<'a>) {
        let changed = std::mem::take(&mut self.unseen);
        let all = matches!(self.turn, ReactionTurn::Always | ReactionTurn::All);
        let concerned = if all { self.concerned(&changed) } else { self.missing.clone() };
        for id in concerned {
            self.looked_at += 1;
            let Some(reaction) = self.reactions.get_mut(&id) else { continue };
            let reader = reader(reaction.view);
            let due = match &reaction.state {
                ReactionState::Due | ReactionState::Crowded | ReactionState::Failed => false,
                ReactionState::Missing(stopped) if reader.has_come(stopped) => true,
                ReactionState::Missing(stopped) => {
                    let is_other = reader.is_another_state(Demand::Reaction(id), stopped, &changed);
                    reaction.misses = if is_other { 0 } else { reaction.misses };
                    is_other
                }
                ReactionState::Done => {
                    let concerned = reaction.read.iter().any(|(read, _)| changed.concerns(read));
                    concerned && !reader.would_repeat(Demand::Reaction(id), &reaction.read)
                }
            };
            if due {
                self.set_state(id, ReactionState::Due);
            }
        }
        if all {
            self.is_unseen = false;
        } else {
            self.unseen = changed;
        }
    }

    /// The reactions that wait, and those that a change may concern.
    fn concerned(&self, changed: &Changed) -> BTreeSet<ReactionId> {
        let mut found = self.missing.clone();
        match changed {
            Changed::Everything => found.extend(self.reactions.keys()),
            Changed::Rows(rows) => rows.iter().for_each(|row| self.readers.collect(row, &mut found)),
        }
        found
    }

    /// Another number whenever something changed, or may have.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// How many reactions were looked at because something changed.
    pub(crate) fn looked_at(&self) -> u64 {
        self.looked_at
    }

    /// One that may run now. Without one, the turn is over.
    pub(crate) fn next_due(&mut self) -> Option<ReactionId> {
        let awaited_only = match self.turn {
            ReactionTurn::Waits => return None,
            ReactionTurn::Awaited => true,
            ReactionTurn::Always | ReactionTurn::All => false,
        };
        let runs = |id: &&ReactionId| !awaited_only || self.reactions.get(id).is_some_and(|reaction| reaction.awaited);
        let next = self.due.iter().find(runs).copied();
        if next.is_none() && self.turn != ReactionTurn::Always {
            self.turn = ReactionTurn::Waits;
        }
        next
    }

    pub(crate) fn validate(&self) {
        for (id, reaction) in &self.reactions {
            assert_eq!(self.due.contains(id), matches!(reaction.state, ReactionState::Due));
            assert_eq!(self.missing.contains(id), matches!(reaction.state, ReactionState::Missing(_)));
            assert!(reaction.crowded == 0 || self.were_crowded.contains(id), "who lacked room gets some");
        }
        let durable = self.reactions.values().filter(|reaction| reaction.view == View::Durable).count();
        assert_eq!(self.durable, durable, "the durable view is kept while somebody looks at it");
    }
}
