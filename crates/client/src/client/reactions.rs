//! Reactive transactions: registered, compared with what changed, run.

use std::collections::BTreeSet;

use super::Client;
use crate::cache::Demand;
use crate::reactive::{ReactionId, ReactionTurn};
use crate::tabs::TabId;
use crate::transaction::RunOf;
use crate::view::View;

impl Client {
    /// Registers a reactive transaction, which the app keeps under the id. Its closure is asked for with the next polls.
    pub fn register(&mut self, view: View) -> ReactionId {
        if view == View::Durable && !self.reactions.uses_durable_view() {
            // It is kept only while somebody looks at it.
            self.compare_due = true;
        }
        self.reactions.register(view)
    }

    /// How many reactions were compared with what changed: a change looks at those that it may concern, and at those that wait for data.
    pub fn reactions_looked_at(&self) -> u64 {
        self.reactions.looked_at()
    }

    /// Makes a reaction run again: its closure is another one now.
    pub fn renew(&mut self, id: ReactionId) {
        self.reactions.renew(id);
    }

    /// Ends a reaction. False when there is none of this id.
    pub fn stop(&mut self, id: ReactionId) -> bool {
        self.cache.interests.settle(Demand::Reaction(id), &BTreeSet::new());
        let Some(stopped) = self.reactions.stop(id) else { return false };
        if stopped.makes_room() {
            self.note_room(None);
        }
        true
    }

    /// What a reaction here needed, or a tab, is room for others here and in the other tabs.
    pub(super) fn note_room(&mut self, by: Option<TabId>) {
        self.reactions.get_room();
        self.leader.note_room(by);
    }

    /// Says which reactions may run from now on. A host that gives them turns, and holds them back at other times, gets back from what an app calls
    /// before they run.
    pub fn set_reaction_turn(&mut self, turn: ReactionTurn) {
        self.reactions.set_turn(turn);
    }

    /// Whether reactions that are held back may have to run.
    pub fn reactions_wait(&self) -> bool {
        self.reactions.wait_for_turn()
    }

    /// Compares the reactions with what changed, and asks for the run of one whose answers are others now.
    pub(super) fn react(&mut self) -> bool {
        self.changed.add(self.queue.take_touched());
        if std::mem::take(&mut self.compare_due) || !self.changed.is_nothing() {
            self.reactions.note_changes(std::mem::take(&mut self.changed));
        }
        if self.reactions.are_to_compare() {
            if self.reactions.uses_durable_view() {
                self.durable = self.queue.durable_overlay(&self.cache);
            }
            let mut reactions = std::mem::take(&mut self.reactions);
            reactions.compare(|view: View| self.reader(view));
            self.reactions = reactions;
        }
        let Some(id) = self.reactions.next_due() else { return false };
        self.ask_to_run(RunOf::Reaction(id));
        true
    }
}
