//! How mutations leave the queue.
//!
//! Invariant: an end that a restart could still undo is told only when it is stored.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::PersistId;
use iolite_values::{Attempt, Counter, Timestamp, map_of};
use iolite_wire::client_storage::StoredEnd;

use super::rows::KEPT_ATTEMPT;
use super::{Client, Disk};
use crate::cache::Demand;
use crate::interface::{MutationStatus, Output, Refused};
use crate::queue::{Copies, Entry, Foreseen, Mutation, MutationKind, Stage, Trail};
use crate::tabs::{Ticket, final_status};

/// A mutation that left the queue, and whose end nobody was told yet.
#[derive(Debug)]
pub(super) struct Ended {
    stored_with: PersistId,
    mutation: Mutation,
    attempt: Attempt,
    status: MutationStatus,
}

impl Disk {
    /// Whether a crash may bring back what was called before a mutation: it would be sent then, after that one. What was confirmed takes no effect again, but for
    /// another history that knows nothing of it.
    pub(super) fn may_come_back_before(&self, counter: Counter) -> bool {
        let other_history = self.done < self.ends_before_history;
        other_history || self.untold.iter().any(|ended| ended.mutation.counter < counter)
    }
}

impl Client {
    /// Removes a mutation from the queue. What ended without effect after it was promised to be sent is kept with its payload.
    pub(super) fn end(&mut self, counter: Counter, status: MutationStatus) {
        if let Some(entry) = self.queue.remove(counter) {
            self.note_ended(entry, status);
        }
    }

    /// The confirmed state contains these, the first of which may have been foreseen.
    pub(super) fn confirm(&mut self, contained: &[(Counter, Timestamp)], foreseen: Option<&Foreseen>) {
        let sunk = foreseen.map(|foreseen| self.queue.sink(foreseen, &self.cache)).unwrap_or_default();
        let mut sunk: BTreeMap<Counter, Entry> = map_of(sunk.into_iter().map(|entry| (entry.counter(), entry)));
        for (counter, at) in contained {
            if let Some(entry) = sunk.remove(counter).or_else(|| self.queue.remove(*counter)) {
                self.note_ended(entry, MutationStatus::Confirmed { at: *at });
            }
        }
    }

    pub(super) fn note_ended(&mut self, entry: Entry, status: MutationStatus) {
        let counter = entry.counter();
        self.cache.interests.settle(Demand::Mutation(counter), &BTreeSet::new());
        self.disk.changes.forget_mutation(counter);
        let refusal = match &status {
            MutationStatus::Rejected { reason } => Some((reason, true)),
            MutationStatus::Quarantined { reason } => Some((reason, false)),
            MutationStatus::Pending(_)
            | MutationStatus::Confirmed { .. }
            | MutationStatus::Cancelled { .. }
            | MutationStatus::Overruled => None,
        };
        if let Some((reason, by_app)) = refusal {
            self.keep_refused(&entry.mutation, reason, by_app);
        }
        self.keep_end_of(&entry.mutation, entry.copies, &status, !matches!(entry.stage, Stage::Called));
        let attempt = match entry.stage {
            Stage::Committed { attempt, .. } => attempt,
            Stage::Called | Stage::Saving(_) | Stage::Saved | Stage::Submitted(_) | Stage::Unanswered(_) => {
                entry.attempts
            }
        };
        // One that runs again may be kept by then, and end otherwise.
        let may_be_kept =
            refusal.is_some_and(|(_, by_app)| by_app) && self.schema.tables().any(|(_, table)| table.syncs());
        if comes_back(&entry, may_be_kept) {
            self.disk.due = true;
            let stored_with = self.disk.last.next();
            self.leader.note_withdrawn(counter);
            self.disk.untold.push_back(Ended { stored_with, mutation: entry.mutation, attempt, status });
        } else {
            self.tell_end(&entry.mutation, attempt, status);
        }
    }

    /// A kept call ended. That is told once it is stored, unless a commit of the store has it: a crash before would bring the call back.
    pub(super) fn note_kept_ended(
        &mut self,
        mutation: Mutation,
        copies: Copies,
        status: MutationStatus,
        is_committed: bool,
    ) {
        self.disk.changes.forget_mutation(mutation.counter);
        if let MutationStatus::Rejected { reason } = &status {
            self.keep_refused(&mutation, reason, true);
        }
        self.keep_end_of(&mutation, copies, &status, true);
        if is_committed {
            return self.tell_end(&mutation, KEPT_ATTEMPT, status);
        }
        self.leader.note_withdrawn(mutation.counter);
        self.tell_once_stored(mutation, status);
    }

    /// Tells of the end of a kept call once what this step has changed is stored.
    pub(super) fn tell_once_stored(&mut self, mutation: Mutation, status: MutationStatus) {
        self.disk.due = true;
        let stored_with = self.disk.last.next();
        self.disk.untold.push_back(Ended { stored_with, mutation, attempt: KEPT_ATTEMPT, status });
    }

    /// Tells of the ends that are stored now.
    pub(super) fn tell_stored_ends(&mut self) {
        while self.disk.untold.front().is_some_and(|ended| ended.stored_with <= self.disk.done) {
            if let Some(Ended { mutation, attempt, mut status, .. }) = self.disk.untold.pop_front() {
                // It had nothing to send. If the server's history was lost meanwhile, the state that is here counts.
                if let MutationStatus::Confirmed { at } = &mut status {
                    *at = (*at).min(self.cache.at());
                }
                self.tell_end(&mutation, attempt, status);
            }
        }
    }

    /// Whether the call of a ticket has ended, and its end waits for the disk.
    pub(super) fn will_tell(&self, ticket: Ticket) -> bool {
        self.disk.untold.iter().any(|ended| ended.mutation.ticket == Some(ticket))
    }

    /// Tells of an end that nobody here has heard of, unless it is told once it is stored. Returns whose it is.
    pub(super) fn tell_kept(&mut self, ticket: Ticket, end: &StoredEnd) -> Option<Counter> {
        let (counter, status) = (end.counter?, final_status(&end.how)?);
        if !self.will_tell(ticket) {
            self.outputs.push_back(Output::Mutation { counter, attempt: Attempt(0), status });
        }
        Some(counter)
    }

    fn tell_end(&mut self, mutation: &Mutation, attempt: Attempt, status: MutationStatus) {
        self.note_end(mutation, &status);
        self.outputs.push_back(Output::Mutation { counter: mutation.counter, attempt, status });
    }

    fn keep_refused(&mut self, mutation: &Mutation, reason: &str, by_app: bool) {
        let MutationKind::Named { name, arguments } = &mutation.kind else { return };
        let refused = Refused {
            counter: mutation.counter,
            name: name.clone(),
            arguments: arguments.clone(),
            called_at: mutation.called_at,
            ticket: mutation.ticket,
            reason: reason.into(),
            by_app,
        };
        self.disk.changes.refused(&refused.to_stored());
        self.leader.note_refused(mutation.counter);
        self.refused.insert(mutation.counter, refused);
    }
}

/// Whether a restart would find it pending and send it. What was sent before ends the same way again, because the store has recorded that.
fn comes_back(entry: &Entry, may_be_kept: bool) -> bool {
    let named = matches!(entry.mutation.kind, MutationKind::Named { .. });
    named && (entry.trail == Trail::None || may_be_kept) && !matches!(entry.stage, Stage::Called)
}
