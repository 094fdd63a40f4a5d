//! Reactive transactions of a follower: as the client's, on the mirror.

use std::collections::BTreeSet;

use iolite_machine::WallTime;
use iolite_values::Counter;
use iolite_wire::message::SubscriptionId;

use super::joining::Link;
use super::{Follower, FollowerOutput};
use crate::cache::{Demand, RowId};
use crate::reactive::{Finished, ReactionId, ReactionTurn};
use crate::transaction::{Closed, Random, Run, RunOf, Transaction};
use crate::view::{Reader, Unheld, View};

impl Follower {
    /// As [`crate::Client::register`].
    pub fn register(&mut self, view: View) -> ReactionId {
        self.reactions.register(view)
    }

    /// As [`crate::Client::reactions_looked_at`].
    pub fn reactions_looked_at(&self) -> u64 {
        self.reactions.looked_at()
    }

    /// As [`crate::Client::renew`].
    pub fn renew(&mut self, id: ReactionId) {
        self.reactions.renew(id);
    }

    /// As [`crate::Client::stop`].
    pub fn stop(&mut self, id: ReactionId) -> bool {
        self.cache.interests.settle(Demand::Reaction(id), &BTreeSet::new());
        let Some(stopped) = self.reactions.stop(id) else { return false };
        if stopped.makes_room() {
            self.reactions.get_room();
        }
        true
    }

    /// Begins the run that [`FollowerOutput::Run`] asked for.
    ///
    /// # Panics
    /// When it was not asked for: the host's mistake.
    pub fn begin(&mut self, of: RunOf) -> Run {
        assert_eq!(self.running, Some(of), "a host begins the run that it was asked for");
        let view = match of {
            RunOf::Reaction(id) => self.reactions.get(id).map(|reaction| reaction.view).unwrap_or_default(),
            RunOf::Mutation(_) | RunOf::Replay(_) => unreachable!("mutations and logs run at the leader"),
        };
        let random = Random::of(self.secret, Counter(0));
        Run::new(of, view, WallTime::default(), random)
    }

    /// The handle for one or more calls of a run.
    pub fn transaction<'a>(&'a self, run: &'a mut Run) -> Transaction<'a> {
        Transaction::new(&self.schema, self.reader(run.view), &self.documents, run)
    }

    pub(super) fn reader(&self, view: View) -> Reader<'_> {
        let pending = match view {
            View::Optimistic => Some(self.mirror.optimistic()),
            View::Durable => Some(self.mirror.durable()),
            View::Confirmed => None,
            // A tab that follows is not told yet how far its leader's commits are delivered.
            View::Delivered => return Reader::of_past(&self.cache, Unheld::Everything),
        };
        Reader::new(&self.cache, pending, None)
    }

    /// Ends a run. A run that was stopped does not count, whatever the closure did with the signal.
    ///
    /// # Panics
    /// When another run was begun: the host's mistake.
    pub fn finish(&mut self, run: Run, closed: Closed) {
        assert_eq!(self.running.take(), Some(run.of), "a host finishes the run that it began");
        let RunOf::Reaction(id) = run.of else { return };
        let missed = self.cache.interests.demand(Demand::Reaction(id), &run);
        if !run.is_stopped() {
            self.cache.interests.doubt(Demand::Reaction(id), &self.reactions.tables_left(id, &run));
        }
        match self.reactions.finish(id, run, closed, missed) {
            Finished::Gone => self.cache.interests.settle(Demand::Reaction(id), &BTreeSet::new()),
            Finished::Waits if self.cannot_come(id) => self.outputs.push_back(FollowerOutput::Unavailable(id)),
            Finished::Done | Finished::Waits => {}
            Finished::Failed(message) => {
                self.outputs.push_back(FollowerOutput::ReactionFailed { reaction: id, message });
            }
        }
    }

    /// As the client does: queries that came to be held farther than the reactions need them.
    pub(super) fn narrow(&mut self) -> (Vec<SubscriptionId>, Vec<RowId>) {
        self.cache.narrow(|demand, _| match demand {
            Demand::Reaction(reaction) => self.reactions.needs(reaction),
            Demand::Mutation(_) | Demand::Tab(_) | Demand::Log(_) | Demand::Kept(_) => {
                unreachable!("only reactions need anything here")
            }
        })
    }

    /// Whether the leader said so of something that this reaction waits for.
    fn cannot_come(&self, id: ReactionId) -> bool {
        let interests = self.unavailable.iter().filter_map(|own| self.cache.interests.interest(*own));
        let mut waiting = interests.map(|interest| self.reactions.waiting_for(interest));
        matches!(self.link, Link::Refused { .. }) || waiting.any(|waiting| waiting.contains(&id))
    }

    /// As [`crate::Client::set_reaction_turn`].
    pub fn set_reaction_turn(&mut self, turn: ReactionTurn) {
        self.reactions.set_turn(turn);
    }

    /// As [`crate::Client::reactions_wait`].
    pub fn reactions_wait(&self) -> bool {
        self.reactions.wait_for_turn()
    }

    /// Compares the reactions with what changed, and asks for the run of one whose answers are others now.
    pub(super) fn react(&mut self) -> bool {
        if std::mem::take(&mut self.compare_due) || !self.changed.is_nothing() {
            self.reactions.note_changes(std::mem::take(&mut self.changed));
        }
        if self.reactions.are_to_compare() {
            let mut reactions = std::mem::take(&mut self.reactions);
            reactions.compare(|view: View| self.reader(view));
            self.reactions = reactions;
        }
        let Some(id) = self.reactions.next_due() else { return false };
        self.running = Some(RunOf::Reaction(id));
        self.outputs.push_back(FollowerOutput::Run(RunOf::Reaction(id)));
        true
    }
}
