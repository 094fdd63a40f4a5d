//! Strong mutations: what a commit of one asks of the store, and what the store's reply means for its client.
//!
//! Invariant: a strong mutation commits at the level of the tables that it touches, which no client can choose.

use std::borrow::Cow;

use iolite_store::{CommitReply, CompletionDecision, Refusal, Request};
use iolite_values::{Attempt, ClientId, Decision, Level, Schema, Timestamp, Transaction, TransactionId};
use iolite_wire::message::{Rejection, Submit, Verdict};

use crate::limits;
use crate::submissions::lane::Waiting;
use crate::without::{Without, plain_reads};

/// The meaning of a store's reply for a mutation.
#[derive(Debug)]
pub enum Meaning {
    /// The client is told this once the feed has reached `at`.
    Outcome { at: Timestamp, attempt: Attempt, verdict: Verdict },
    /// The store cannot tell what became of it.
    InDoubt,
}

/// Why the store does not commit a mutation, which is no outcome.
#[derive(Debug)]
pub enum Fault {
    /// The mutation can never be accepted as it is: its app is told why.
    Mutation(String),
    /// The store cannot take it now: its client comes back with it.
    Store,
    /// The mutation does not fit as things are: its client tries it again on a later state.
    Later,
}

/// The transaction of a submission, with what its level guards of its reads.
pub fn transaction(client: ClientId, submit: Submit, schema: &Schema, without: Without) -> Transaction {
    let Submit { counter, attempt, snapshot, mut reads, decision, .. } = submit;
    if let (Without::DataTypes, Decision::Commit(writes)) = (without, &decision) {
        reads.extend(plain_reads(writes));
    }
    let id = TransactionId { client, counter };
    let mut transaction = Transaction { id, attempt, snapshot, reads, decision, level: Level::Strict };
    transaction.level = schema.level(&transaction.reads, transaction.writes());
    // One with more reads is refused.
    if transaction.reads.len() > limits::TRANSACTION_READS_MAX {
        return transaction;
    }
    if let Cow::Owned(guarded) = transaction.level.guarded(&transaction.reads, transaction.writes()) {
        transaction.reads = guarded;
    }
    transaction
}

/// The commit of a transaction, above everything that its client has seen.
pub fn commit(transaction: Transaction, floor: Timestamp) -> Request {
    Request::Commit { transaction, floor, within: Some(limits::OUTCOME_WITHIN) }
}

/// The meaning of the reply to a commit for the mutation that was committed.
pub fn meaning(reply: &CommitReply, committed: &Waiting) -> Meaning {
    let attempt = committed.transaction.attempt;
    match reply {
        CommitReply::Completed(completion) => Meaning::Outcome {
            at: completion.at,
            attempt: completion.attempt,
            verdict: decided(completion, attempt, committed.refused.as_ref()),
        },
        CommitReply::Conflict { at_least } => {
            Meaning::Outcome { at: *at_least, attempt, verdict: Verdict::Conflict(*at_least) }
        }
        CommitReply::Forgotten => {
            Meaning::Outcome { at: Timestamp::ZERO, attempt, verdict: Verdict::Rejected(Rejection::Forgotten) }
        }
        CommitReply::InDoubt { .. } => Meaning::InDoubt,
    }
}

/// The meaning of a store's refusal for the mutation that was to be committed.
pub fn fault(refusal: &Refusal, schema: &Schema) -> Fault {
    match refusal {
        Refusal::Type { .. }
        | Refusal::TransactionTooLarge { .. }
        | Refusal::RowTooLarge { .. }
        | Refusal::Configuration(_) => Fault::Mutation(said_to_its_app(refusal, schema)),
        Refusal::NotResolved { .. } | Refusal::TooFarAhead { .. } | Refusal::OtherShard { .. } => Fault::Store,
    }
}

/// The verdict that a completion record means. An abort in the place of a refused mutation is its rejection. If the record is of another attempt, that one
/// ended for a reason of its own, which nobody knows any more.
fn decided(completion: &iolite_store::Completion, attempt: Attempt, refused: Option<&Rejection>) -> Verdict {
    match (completion.decision, refused.filter(|_| completion.attempt == attempt)) {
        (CompletionDecision::Committed, _) => Verdict::Committed(completion.at),
        (CompletionDecision::Aborted, None) => Verdict::Aborted,
        (CompletionDecision::Aborted, Some(rejection)) => Verdict::Rejected(rejection.clone()),
    }
}

/// The store knows tables by their numbers, and apps by their names.
fn said_to_its_app(refusal: &Refusal, schema: &Schema) -> String {
    match refusal {
        Refusal::RowTooLarge { table, key, bytes_max } => {
            let table = schema.table_name(*table).unwrap_or("?");
            format!(
                "row {key:?} of table {table:?} would take more than {bytes_max} bytes: spread it over several rows"
            )
        }
        Refusal::NotResolved { .. }
        | Refusal::TooFarAhead { .. }
        | Refusal::Type { .. }
        | Refusal::TransactionTooLarge { .. }
        | Refusal::Configuration(_)
        | Refusal::OtherShard { .. } => refusal.to_string(),
    }
}
