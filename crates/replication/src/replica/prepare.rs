//! Prepare: this replica's own vote on a proposal.
//!
//! Invariant: a proposal is validated once; asked again, it gets the recorded vote. (Flaw 5: the published rule answers for a transaction, whatever
//! attempt and timestamp it was.)
//! Source: TAPIR (TOCS 2018) 5.2.1, Figure 8, keyed by proposal.

use std::sync::Arc;

use iolite_machine::{Now, PersistId};
use iolite_store::Refusal;

use super::{Replica, record};
use crate::broken::Broken;
use crate::ir::Entry;
use crate::journal::JournalRecord;
use crate::node::{Answer, Ballot, Objection, Outcome, Proposal, ProposalId, Vote, Voted};

impl Replica {
    pub(super) fn on_prepare(
        &mut self,
        now: Now,
        proposal: Arc<Proposal>,
        after: Option<ProposalId>,
    ) -> (PersistId, Answer) {
        if let Some(dead) = after {
            self.on_outcome(dead, Outcome::Aborted, None);
        }
        if self.decides_alone(&proposal) {
            return self.decide_alone(now, &proposal);
        }
        let id = proposal.id;
        if let Some(known) = self.standing_of(id).or_else(|| self.answer_as_published(id)) {
            return (self.persisted, known);
        }
        let accepted = Entry::voted(Some(proposal.clone()), Vote::Ok, None);
        let validated = self.validate_proposal(now, &proposal);
        let accepting = validated.and_then(|()| written(&accepted, id));
        self.votes.count(&accepting);
        let (entry, record) = match accepting {
            Ok(record) => (accepted, Some(record)),
            Err(objection) => {
                self.note_attempt(&proposal, &objection);
                (Entry::voted(None, Vote::No, Some(objection)), None)
            }
        };
        let answer = Answer::Voted(entry.answer(self.standing.view()));
        if !is_too_far_ahead(&entry) && !self.is_ending() {
            match record {
                Some(record) => {
                    self.persist_bytes(record);
                    self.set_entry(id, entry);
                }
                None => self.enter(id, entry),
            }
        }
        // Whatever the answer says rests on records up to now.
        (self.persisted, answer)
    }

    /// The answer for another proposal of the same transaction.
    fn answer_as_published(&self, id: ProposalId) -> Option<Answer> {
        if self.settings.broken != Broken::AnswerForTransaction {
            return None;
        }
        let same = self.prepared.ids().find(|other| other.transaction == id.transaction)?;
        self.standing_of(same)
    }

    /// What is known of a proposal, in the record or from before what is in it.
    pub(super) fn standing_of(&self, id: ProposalId) -> Option<Answer> {
        if let Some(entry) = self.record.get(id) {
            return Some(Answer::Voted(entry.answer(self.standing.view())));
        }
        let settled = |vote, outcome| Voted {
            view: self.standing.view(),
            vote,
            finalised: None,
            promised: Ballot::FIRST,
            outcome: Some(outcome),
            objection: None,
            proposal: None,
        };
        if self.versions.logged_at(id.at).is_some_and(|logged| logged.commit.transaction == id.transaction) {
            return Some(Answer::Voted(settled(Vote::Ok, Outcome::Committed)));
        }
        if id.at > self.complete() {
            None
        } else if id.at > self.versions.low_watermark() {
            Some(Answer::Voted(settled(Vote::No, Outcome::Aborted)))
        } else {
            Some(Answer::TooOld { low_watermark: self.versions.low_watermark() })
        }
    }

    /// A kindness to the next attempt: see `attempts`.
    pub(super) fn note_attempt(&mut self, proposal: &Proposal, objection: &Objection) {
        let at_least = match objection {
            // Nobody has looked at the snapshot of a transaction that read nothing.
            Objection::Retry { .. } | Objection::Busy { .. } => proposal.snapshot.min(self.barrier),
            Objection::Conflict { at_least } => *at_least,
            Objection::Completed(_) | Objection::Forgotten | Objection::Refused(_) => return,
        };
        if proposal.is_home {
            self.attempts.note(proposal.id.transaction, proposal.id.attempt, at_least);
        }
    }
}

/// The record of a vote, which has to fit into the journal.
fn written(entry: &Entry, id: ProposalId) -> Result<Vec<u8>, Objection> {
    record::encode(&JournalRecord::Entry(entry.recorded(id))).map_err(Objection::Refused)
}

/// Of these nothing is recorded: it would stay until the feed gets there.
fn is_too_far_ahead(entry: &Entry) -> bool {
    matches!(entry.objection, Some(Objection::Refused(Refusal::TooFarAhead { .. })))
}
