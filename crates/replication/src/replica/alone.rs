//! A replica that is the whole group of the only shard that a proposal touches: accepting it is deciding it, by one record.

use std::sync::Arc;

use iolite_machine::{Now, PersistId};
use iolite_values::Timestamp;

use super::Replica;
use super::record;
use crate::ir::Entry;
use crate::journal::JournalRecord;
use crate::node::{Answer, Ballot, Effect, Objection, Outcome, Proposal, ProposalId, Vote, Voted};
use crate::versions::Logged;

impl Replica {
    /// What is in the record comes from a larger group that this replica is left of.
    pub(super) fn decides_alone(&self, proposal: &Proposal) -> bool {
        self.is_alone() && proposal.participants.len() == 1 && self.record.get(proposal.id).is_none()
    }

    /// Before others join: they take the record, and what is complete here.
    pub(super) fn record_what_was_decided_alone(&mut self) {
        self.raise_barrier(self.highest());
        let complete = self.complete();
        let above = self.versions.logged(complete, Timestamp::MAX);
        let above = above.expect("history is kept above the complete point").cloned().collect::<Vec<_>>();
        for logged in above {
            let proposal = self.proposal_of(logged);
            let id = proposal.id;
            if self.record.get(id).is_none() {
                let (vote, finalised, outcome) = (Vote::Ok, Some(Ballot::FIRST), Some(Outcome::Committed));
                let voted = Entry::voted(Some(Arc::new(proposal)), vote, None);
                self.enter(id, Entry { finalised, outcome, ..voted });
            }
        }
        self.advance(complete);
    }

    /// What it read need not be known any more: nothing comes below the barrier.
    fn proposal_of(&self, logged: Logged) -> Proposal {
        let Logged { commit, attempt, level, is_abort, is_home } = logged;
        Proposal {
            id: ProposalId { at: commit.at, transaction: commit.transaction, attempt },
            participants: [self.configuration.group().shard].into(),
            snapshot: Timestamp::ZERO,
            reads: [].into(),
            level,
            effect: if is_abort { Effect::Abort } else { Effect::Commit(commit.writes) },
            is_home,
        }
    }

    pub(super) fn decide_alone(&mut self, now: Now, proposal: &Arc<Proposal>) -> (PersistId, Answer) {
        let logged = Logged::of(proposal);
        let accepted = self.validate_proposal(now, proposal).and_then(|()| {
            let record = JournalRecord::Completed(logged.to_record());
            record::encode(&record).map_err(Objection::Refused)
        });
        self.votes.count(&accepted);
        let (vote, outcome, objection) = match accepted {
            Ok(record) => {
                let id = self.persist_bytes(record);
                if proposal.id.at > self.barrier {
                    self.open_commits.insert(proposal.id.at, id);
                }
                self.apply(logged);
                self.note_reader(proposal);
                (Vote::Ok, Some(Outcome::Committed), None)
            }
            Err(objection) => {
                self.note_attempt(proposal, &objection);
                (Vote::No, None, Some(objection))
            }
        };
        let view = self.standing.view();
        let voted = Voted { view, vote, finalised: None, promised: Ballot::FIRST, outcome, objection, proposal: None };
        // Whatever the answer says rests on records up to now.
        (self.persisted, Answer::Voted(voted))
    }
}
