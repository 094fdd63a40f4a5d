//! The record of this replica: entries, and what they make of rows and completion records.
//!
//! Invariants: `prepared` is the record's entries that are OK without outcome; what has the outcome Committed is applied; an outcome stays.

use std::sync::Arc;

use iolite_values::Timestamp;

use super::Replica;
use crate::broken::Broken;
use crate::ir::Entry;
use crate::journal::JournalRecord;
use crate::node::{Outcome, Proposal, ProposalId, RecordedEntry, Vote};
use crate::versions::Logged;
use iolite_store::{Completion, CompletionDecision};

impl Replica {
    /// Commit or Abort. One of a proposal that is not here, without the proposal, has to be found out in another way: by closing the feed.
    pub(super) fn on_outcome(&mut self, id: ProposalId, outcome: Outcome, proposal: Option<Arc<Proposal>>) {
        if id.at <= self.complete() || self.versions.has_commit_at(id.at) {
            return;
        }
        let known = self.record.get(id).cloned();
        if known.is_none() && outcome == Outcome::Aborted {
            // A Prepare may still come; whoever closes the feed then knows that it is dead.
            return;
        }
        let mut entry = known.unwrap_or_else(|| Entry::voted(None, Vote::No, None));
        entry.proposal = entry.proposal.or(proposal);
        if outcome == Outcome::Committed && entry.proposal.is_none() || entry.outcome == Some(outcome) {
            return;
        }
        assert!(entry.outcome.is_none(), "Commit and Abort of one proposal: {id:?}");
        entry.outcome = Some(outcome);
        entry.vote = match outcome {
            Outcome::Committed => Vote::Ok,
            Outcome::Aborted => Vote::No,
        };
        if let Some(proposal) = entry.proposal.as_ref().filter(|own| own.is_home && outcome == Outcome::Aborted) {
            self.attempts.note(id.transaction, id.attempt, proposal.snapshot.min(self.complete()));
        }
        self.enter(id, entry);
    }

    /// Records where this replica stands with a proposal from now on.
    pub(super) fn enter(&mut self, id: ProposalId, entry: Entry) {
        let mut recorded = entry.recorded(id);
        // What is in the journal need not be written again.
        if self.record.get(id).is_some_and(|known| known.proposal.is_some()) {
            recorded.proposal = None;
        }
        let after = self.persist(&JournalRecord::Entry(recorded));
        if entry.outcome.is_some() && self.is_alone() {
            // The complete point of a group of one goes on by itself, and a crash is not to take it back.
            self.complete_after = after;
        }
        self.set_entry(id, entry);
    }

    /// The same without the journal: for recovery.
    pub(super) fn set_recorded(&mut self, recorded: RecordedEntry) {
        let id = recorded.id;
        let mut entry = Entry::from(recorded);
        if entry.proposal.is_none() {
            entry.proposal = self.record.get(id).and_then(|known| known.proposal.clone());
        }
        self.set_entry(id, entry);
    }

    pub(super) fn set_entry(&mut self, id: ProposalId, entry: Entry) {
        let entry = if self.has_applied(id) { entry.known_to_have_committed() } else { entry };
        if entry.is_prepared() {
            if self.prepared.get(id).is_none()
                && let Some(proposal) = &entry.proposal
            {
                self.prepared.insert(proposal.clone());
            }
        } else {
            self.prepared.remove(id);
        }
        if entry.outcome == Some(Outcome::Committed)
            && let Some(proposal) = &entry.proposal
        {
            self.apply(Logged::of(proposal));
            self.note_reader(proposal);
        }
        self.record.set(id, entry);
    }

    fn has_applied(&self, id: ProposalId) -> bool {
        let is_it = |logged: &Logged| (logged.commit.transaction, logged.attempt) == (id.transaction, id.attempt);
        self.versions.logged_at(id.at).is_some_and(is_it)
    }

    /// Makes a decided transaction part of the rows and the completion records. The record may not know yet what a peer or the journal told.
    pub(super) fn apply(&mut self, logged: Logged) {
        let (id, at) = (logged.commit.transaction, logged.commit.at);
        let decision = match logged.is_abort {
            false => CompletionDecision::Committed,
            true => CompletionDecision::Aborted,
        };
        let completion = Completion { attempt: logged.attempt, at, decision };
        if logged.is_home {
            self.attempts.forget(id);
            if self.settings.broken != Broken::NoCompletionRecords {
                self.clients.complete(id, completion);
            }
        }
        self.note_configuration(&logged);
        self.followers.note(at);
        let proposal = ProposalId { at, transaction: id, attempt: logged.attempt };
        self.versions.apply(logged).expect("validation compares every operation with its cell's type");
        self.close_applied(proposal);
    }

    /// Takes a proposal that has committed from among the open ones.
    pub(super) fn close_applied(&mut self, id: ProposalId) {
        if let Some(entry) = self.prepared.remove(id).and_then(|_| self.record.get(id).cloned()) {
            self.record.set(id, entry.known_to_have_committed());
        }
    }

    /// The same of all, after many commits came at once.
    pub(super) fn close_all_applied(&mut self) {
        let applied = self.prepared.ids().filter(|id| self.has_applied(*id));
        for id in applied.collect::<Vec<_>>() {
            self.close_applied(id);
        }
    }

    /// What it read must not change at or below its timestamp. At or below the barrier nothing can.
    pub(super) fn note_reader(&mut self, proposal: &Arc<Proposal>) {
        if proposal.id.at > self.barrier && !proposal.reads.is_empty() {
            self.readers.insert(proposal.clone());
        }
    }

    /// Drops what is settled from the record.
    pub(super) fn forget_settled(&mut self, through: Timestamp) {
        for id in self.record.settle(through) {
            self.prepared.remove(id);
        }
    }

    /// # Panics
    /// When an invariant of this module is broken.
    pub(super) fn validate_record(&self) {
        for (id, entry) in self.record.iter() {
            assert!(id.at > self.complete() || self.is_alone(), "what is settled is in the record still");
            let is_indexed = self.prepared.get(id).is_some();
            let is_prepared = entry.is_prepared() && entry.proposal.is_some();
            assert_eq!(is_indexed, is_prepared, "the prepared are the record's: {id:?}");
            assert!(!is_prepared || !self.has_applied(id), "an applied proposal is open still: {id:?}");
            if entry.outcome == Some(Outcome::Committed) {
                assert!(self.versions.has_commit_at(id.at), "a commit that was not applied");
            }
        }
        assert!(self.readers.ids().all(|id| id.at > self.barrier), "a reader at or below the barrier was kept");
        // In a larger group, one may be there by its own vote, and another by the group's, which settles that the first is dead.
        if self.settings.broken == Broken::Nothing && self.is_alone() {
            for own in self.prepared.iter() {
                let mut others = self.prepared.touching(own);
                assert!(!others.any(|other| crate::tapir::conflict(own, other)), "two that conflict are prepared");
            }
        }
    }
}
