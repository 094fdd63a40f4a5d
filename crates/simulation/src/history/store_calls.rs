//! What gateways asked the store to commit, and when it told them an outcome.
//!
//! This is the store's own interface: the client of the paper, which runs transactions and is told of commits, is here a gateway.

use std::collections::BTreeMap;

use iolite_store::{CommitReply, Completion, Reply, Request, RequestId};
use iolite_values::{Attempt, Read, Timestamp, Transaction, TransactionId};

use super::Moment;

#[derive(Debug, Default)]
pub struct StoreCalls {
    submitted: BTreeMap<(TransactionId, Attempt), Submitted>,
    reported: BTreeMap<(TransactionId, Timestamp), Moment>,
}

/// An attempt, by whichever gateways and however often it was submitted.
#[derive(Debug)]
struct Submitted {
    first: Moment,
    /// What it read. None when it was not the same every time: a client that lost its storage runs the same attempt again.
    reads: Option<Vec<Read>>,
}

/// The attempts that a gateway's process has open at its coordinator.
#[derive(Debug, Default)]
pub struct OpenCalls(BTreeMap<RequestId, TransactionId>);

impl OpenCalls {
    pub fn note_request(&mut self, id: RequestId, request: &Request) {
        if let Request::Commit { transaction, .. } = request {
            self.0.insert(id, transaction.id);
        }
    }

    /// Which transaction this reply says the outcome of.
    pub fn completed(&mut self, id: RequestId, reply: &Reply) -> Option<(TransactionId, Completion)> {
        let transaction = self.0.remove(&id)?;
        match reply {
            Reply::Commit(CommitReply::Completed(completion)) => Some((transaction, completion.clone())),
            Reply::Commit(CommitReply::Conflict { .. } | CommitReply::Forgotten | CommitReply::InDoubt { .. })
            | Reply::Validated(_)
            | Reply::ReadAt(_)
            | Reply::Changes(_)
            | Reply::Completions(_)
            | Reply::LastOutcome(_)
            | Reply::Acknowledged
            | Reply::Refused(_) => None,
        }
    }
}

impl StoreCalls {
    pub const NONE: StoreCalls = StoreCalls { submitted: BTreeMap::new(), reported: BTreeMap::new() };

    pub fn note_submission(&mut self, now: Moment, transaction: &Transaction) {
        let reads = || Submitted { first: now, reads: Some(transaction.reads.clone()) };
        let own = self.submitted.entry((transaction.id, transaction.attempt)).or_insert_with(reads);
        if own.reads.as_ref() != Some(&transaction.reads) {
            own.reads = None;
        }
    }

    pub fn note_report(&mut self, now: Moment, transaction: TransactionId, completion: &Completion) {
        self.reported.entry((transaction, completion.at)).or_insert(now);
    }

    /// All outcomes that gateways were told.
    pub fn reports(&self) -> impl Iterator<Item = (TransactionId, Timestamp)> {
        self.reported.keys().copied()
    }

    pub fn submitted_at(&self, transaction: TransactionId, attempt: Attempt) -> Option<Moment> {
        self.submitted.get(&(transaction, attempt)).map(|own| own.first)
    }

    /// What an attempt read, if that is known.
    pub fn reads(&self, transaction: TransactionId, attempt: Attempt) -> &[Read] {
        self.submitted.get(&(transaction, attempt)).and_then(|own| own.reads.as_deref()).unwrap_or_default()
    }

    /// When a gateway was first told of it.
    pub fn reported(&self, transaction: TransactionId, at: Timestamp) -> Option<Moment> {
        self.reported.get(&(transaction, at)).copied()
    }
}
