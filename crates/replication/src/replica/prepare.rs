//! Prepare: at f = 0 with one participant, accepting a proposal is deciding it.

use std::sync::Arc;

use iolite_machine::{Now, PersistId};
use iolite_store::{Commit, Completion, CompletionDecision};
use iolite_values::{Decision, Timestamp, Transaction};

use super::Replica;
use super::clients::Known;
use super::validate::Verdict;
use crate::broken::Broken;
use crate::messages::{Answer, Prepared};

impl Replica {
    pub(super) fn on_prepare(&mut self, now: Now, transaction: &Transaction, at: Timestamp) -> (PersistId, Answer) {
        let answer = match self.clients.known(transaction.id) {
            Known::Completed(completion) => Answer::Prepared(Prepared::Completed(completion)),
            Known::Forgotten => Answer::Prepared(Prepared::Forgotten),
            Known::Nothing => self.propose(now, transaction, at),
        };
        // Whatever the answer says rests on records up to now.
        (self.persisted, answer)
    }

    fn propose(&mut self, now: Now, transaction: &Transaction, at: Timestamp) -> Answer {
        let (id, attempt) = (transaction.id, transaction.attempt);
        if let Some(at_least) = self.attempts.overtaken(id, attempt) {
            return Answer::Prepared(Prepared::Conflict { at_least });
        }
        match self.validate_proposal(now, transaction, at) {
            Verdict::Accept(record) => Answer::Prepared(Prepared::Completed(self.decide(transaction, at, record))),
            Verdict::Retry { above } => {
                // Nobody has looked at the snapshot of a transaction that read nothing.
                self.attempts.note(id, attempt, transaction.snapshot.min(self.barrier));
                Answer::Prepared(Prepared::Retry { above })
            }
            Verdict::Conflict { at_least } => {
                self.attempts.note(id, attempt, at_least);
                Answer::Prepared(Prepared::Conflict { at_least })
            }
            Verdict::Refuse(refusal) => Answer::Refused(refusal),
        }
    }

    /// Makes the proposal the outcome: one record, applied at once.
    fn decide(&mut self, transaction: &Transaction, at: Timestamp, record: Vec<u8>) -> Completion {
        let id = self.persist_bytes(record);
        let decision = match &transaction.decision {
            Decision::Commit(writes) => {
                let commit = Commit { at, transaction: transaction.id, writes: Arc::from(&writes[..]) };
                self.versions.apply(commit).expect("validation compares every operation with its cell's type");
                if at > self.barrier {
                    self.open_commits.insert(at, id);
                }
                CompletionDecision::Committed
            }
            Decision::Abort(_) => CompletionDecision::Aborted,
        };
        // An abort leaves no version that says that its timestamp was given.
        let leaves_none = decision == CompletionDecision::Aborted;
        if leaves_none || !transaction.reads.is_empty() {
            self.reads_through = self.reads_through.max(at);
        }
        let completion = Completion { attempt: transaction.attempt, at, decision };
        self.attempts.forget(transaction.id);
        if self.settings.broken != Broken::NoCompletionRecords {
            self.clients.complete(transaction.id, completion.clone());
        }
        completion
    }
}
