//! A replica that is the whole group of the only shard that a proposal touches: accepting it is deciding it, by one record.

use iolite_machine::{Now, PersistId};

use super::Replica;
use super::record;
use crate::journal::JournalRecord;
use crate::node::{Answer, Ballot, Objection, Outcome, Proposal, Vote, Voted};
use crate::versions::Logged;

impl Replica {
    pub(super) fn decides_alone(&self, proposal: &Proposal) -> bool {
        self.is_alone() && proposal.participants.len() == 1
    }

    pub(super) fn decide_alone(&mut self, now: Now, proposal: &Proposal) -> (PersistId, Answer) {
        let logged = Logged::of(proposal);
        let accepted = self.validate_proposal(now, proposal).and_then(|()| {
            let record = JournalRecord::Completed(logged.to_record());
            record::encode(&record).map_err(Objection::Refused)
        });
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
