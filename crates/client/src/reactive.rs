//! Reactive transactions: they read only, on one snapshot, and run again when an answer that they had is another now.
//!
//! Invariants: a run sees one snapshot of its view; the read set is that of the latest run; when nothing is left to do, every reaction has run
//! on the last state of what it reads, or waits for data that is on its way. Where the host holds reactions back, that is so after each turn that it
//! gives them.
//! Source: Diamond's reactive transactions (Zhang 2017, sections 3.2.3 and 3.3.3).

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Digest, Interest, Read, TableId};

use crate::cache::{Demand, Need, Needs, TooManyInterests};
use crate::transaction::{Closed, Missed, Run, Stopped};
use crate::view::{Changed, Reader, View};

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

    /// Another one needs nothing any more.
    fn get_room(&mut self) {
        match self.state {
            ReactionState::Crowded if self.crowded <= crate::Client::CROWDED_MAX => self.state = ReactionState::Due,
            // It had room for a while.
            ReactionState::Done => self.crowded = 0,
            ReactionState::Crowded | ReactionState::Due | ReactionState::Missing(_) | ReactionState::Failed => {}
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Reactions {
    reactions: BTreeMap<ReactionId, Reaction>,
    last: u64,
    /// How often something changed, or may have.
    changes: u64,
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
        let is_due = |reaction: &Reaction| matches!(reaction.state, ReactionState::Due);
        let is_unseen = self.is_unseen && !self.reactions.is_empty();
        self.turn != ReactionTurn::Always && (is_unseen || self.reactions.values().any(is_due))
    }

    pub(crate) fn register(&mut self, view: View) -> ReactionId {
        self.last += 1;
        let id = ReactionId(self.last);
        let (state, read) = (ReactionState::Due, Vec::new());
        self.reactions.insert(id, Reaction { view, state, read, misses: 0, crowded: 0, awaited: true });
        id
    }

    /// Makes a reaction run again although nothing changed: its closure is another one now, or data that failed to come is asked for again.
    pub(crate) fn renew(&mut self, id: ReactionId) {
        if let Some(reaction) = self.reactions.get_mut(&id) {
            reaction.state = ReactionState::Due;
            reaction.misses = 0;
            reaction.awaited = true;
        }
    }

    /// Makes all run again that have run, whatever they would answer.
    pub(crate) fn run_again(&mut self) {
        for reaction in self.reactions.values_mut() {
            if let ReactionState::Done = reaction.state {
                reaction.state = ReactionState::Due;
            }
        }
    }

    pub(crate) fn stop(&mut self, id: ReactionId) -> Option<Reaction> {
        self.reactions.remove(&id)
    }

    /// There may be room for those that failed for want of it.
    pub(crate) fn get_room(&mut self) {
        self.reactions.values_mut().for_each(Reaction::get_room);
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
                reaction.state = ReactionState::Missing(stopped);
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
            reaction.read = run.reads.into_iter().collect();
        }
        reaction.state = state;
        finished
    }

    /// The reactions that wait for an interest.
    pub(crate) fn waiting_for(&self, interest: &Interest) -> Vec<ReactionId> {
        let waits = |reaction: &Reaction| match &reaction.state {
            ReactionState::Missing(stopped) => stopped.missed.iter().any(|missed| interest.covers(&missed.interest)),
            ReactionState::Due | ReactionState::Done | ReactionState::Crowded | ReactionState::Failed => false,
        };
        self.reactions.iter().filter(|(_, reaction)| waits(reaction)).map(|(id, _)| *id).collect()
    }

    /// Whether this reaction waits for data.
    pub(crate) fn waits(&self, id: ReactionId) -> bool {
        self.reactions.get(&id).is_some_and(|own| matches!(own.state, ReactionState::Missing(_)))
    }

    /// What this reaction waits for cannot be had. False when it waits for nothing.
    pub(crate) fn give_up(&mut self, id: ReactionId) -> bool {
        let waiting = self.reactions.get_mut(&id).filter(|own| matches!(own.state, ReactionState::Missing(_)));
        waiting.map(|reaction| reaction.state = ReactionState::Failed).is_some()
    }

    /// There is no room for what this reaction reads. False when it has failed already.
    pub(crate) fn crowd_out(&mut self, id: ReactionId) -> bool {
        let is_going = |own: &&mut Reaction| !matches!(own.state, ReactionState::Crowded | ReactionState::Failed);
        let Some(reaction) = self.reactions.get_mut(&id).filter(is_going) else { return false };
        reaction.state = ReactionState::Crowded;
        reaction.crowded += 1;
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

    /// Those that wait for data.
    pub(crate) fn missing(&self) -> impl Iterator<Item = ReactionId> {
        let missing = |reaction: &Reaction| matches!(reaction.state, ReactionState::Missing(_));
        self.reactions.iter().filter(move |(_, reaction)| missing(reaction)).map(|(id, _)| *id)
    }

    pub(crate) fn uses_durable_view(&self) -> bool {
        self.reactions.values().any(|reaction| reaction.view == View::Durable)
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
        for (id, reaction) in &mut self.reactions {
            let reader = reader(reaction.view);
            let due = match &reaction.state {
                ReactionState::Due | ReactionState::Crowded | ReactionState::Failed => false,
                ReactionState::Missing(stopped) if reader.has_come(stopped) => true,
                ReactionState::Missing(stopped) => {
                    let is_other = reader.is_another_state(Demand::Reaction(*id), stopped, &changed);
                    reaction.misses = if is_other { 0 } else { reaction.misses };
                    is_other
                }
                ReactionState::Done => {
                    let concerned = all && reaction.read.iter().any(|(read, _)| changed.concerns(read));
                    concerned && !reader.would_repeat(Demand::Reaction(*id), &reaction.read)
                }
            };
            if due {
                reaction.state = ReactionState::Due;
            }
        }
        if all {
            self.is_unseen = false;
        } else {
            self.unseen = changed;
        }
    }

    /// Another number whenever something changed, or may have.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// One that may run now. Without one, the turn is over.
    pub(crate) fn next_due(&mut self) -> Option<ReactionId> {
        let awaited_only = match self.turn {
            ReactionTurn::Waits => return None,
            ReactionTurn::Awaited => true,
            ReactionTurn::Always | ReactionTurn::All => false,
        };
        let runs =
            |reaction: &Reaction| matches!(reaction.state, ReactionState::Due) && (reaction.awaited || !awaited_only);
        let next = self.reactions.iter().find(|(_, reaction)| runs(reaction)).map(|(id, _)| *id);
        if next.is_none() && self.turn != ReactionTurn::Always {
            self.turn = ReactionTurn::Waits;
        }
        next
    }
}
