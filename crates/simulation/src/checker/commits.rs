//! The completion records of one history of the store, by transaction and by timestamp.

use std::collections::BTreeMap;

use iolite_replication::journal::{CompletedDecision, JournalRecord};
use iolite_values::{ClientId, StoreIncarnation, Timestamp, TransactionId, Write};

use super::{Invariant, Violation};
use crate::history::{ClientIndex, EndedAs, History, Issued, StoreHistory};

#[derive(Debug, Default)]
pub struct Commits {
    /// What took effect, or was aborted for good, in timestamp order.
    pub by_time: BTreeMap<Timestamp, Completed>,
    pub by_mutation: BTreeMap<Issued, Timestamp>,
}

#[derive(Debug)]
pub struct Completed {
    pub transaction: TransactionId,
    /// Nothing, for the gateways' own transactions.
    pub mutation: Option<Issued>,
    /// Nothing, for the app's own abort.
    pub writes: Option<Vec<Write>>,
}

impl Commits {
    /// # Errors
    /// When a transaction completed twice, or two at one timestamp.
    pub fn collect(history: &History, store: &StoreHistory) -> Result<Commits, Violation> {
        let mut commits = Commits::default();
        for record in store.journal.values() {
            let JournalRecord::Completed(completed) = record else { continue };
            let mutation = history.issued(completed.transaction);
            let writes = match &completed.decision {
                CompletedDecision::Committed(writes) => Some(writes.clone()),
                CompletedDecision::Aborted => None,
            };
            let transaction = completed.transaction;
            let earlier = commits.by_time.insert(completed.at, Completed { transaction, mutation, writes });
            if let Some(earlier) = earlier {
                let what = format!("{:?}: {earlier:?} and {completed:?}", completed.at);
                return Err(Violation::new(Invariant::ExactlyOnce, what));
            }
            if let Some(mutation) = mutation
                && let Some(other) = commits.by_mutation.insert(mutation, completed.at)
            {
                let what = format!("{mutation:?} took effect at {other:?} and at {:?}", completed.at);
                return Err(Violation::new(Invariant::ExactlyOnce, what));
            }
        }
        Ok(commits)
    }

    /// When a mutation completed, and whether it took effect.
    pub fn recorded(&self, mutation: Issued) -> Option<(Timestamp, bool)> {
        self.by_mutation.get(&mutation).map(|at| (*at, self.by_time[at].writes.is_some()))
    }

    /// Whether every end that a client was told of in this history is the one that the store recorded, and nothing completed of what a client
    /// was told never began.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check_ends(&self, history: &History, store: StoreIncarnation) -> Result<(), Violation> {
        for (mutation, called) in &history.calls {
            let recorded = self.recorded(*mutation);
            if recorded.is_some() && !called.durable {
                let what = format!("{mutation:?} took effect before it was durable at its client");
                return Err(Violation::new(Invariant::Durability, what));
            }
            let never = called.ends.values().find(|end| matches!(end.how, EndedAs::Cancelled(_)));
            let before = called.ends.get(&None);
            let Some(end) = called.ends.get(&Some(store)).or(before).or(never) else { continue };
            let fits = match (&end.how, recorded) {
                (EndedAs::Confirmed(told), Some((at, true))) => *told == at && at <= end.confirmed_through,
                (EndedAs::Confirmed(_), _) => false,
                (EndedAs::Rejected(_), Some((_, committed))) => !committed,
                (EndedAs::Rejected(_), None) => false,
                (EndedAs::Quarantined(_) | EndedAs::Cancelled(_), recorded) => recorded.is_none(),
            };
            if !fits {
                let what = format!("{mutation:?} {:?} ended as {end:?}, but the store has {recorded:?}", called.call);
                return Err(Violation::new(Invariant::Durability, what));
            }
        }
        Ok(())
    }
}

impl History {
    /// The mutation that a transaction is of; nothing for a gateway's.
    pub fn issued(&self, transaction: TransactionId) -> Option<Issued> {
        let TransactionId { client, counter } = transaction;
        self.client_of(client).map(|index| (index, counter))
    }

    fn client_of(&self, client: ClientId) -> Option<ClientIndex> {
        self.identities.get(&client).copied()
    }
}

/// The number of mutations that took effect.
pub fn confirmed(history: &History) -> u64 {
    let confirmed = |mutation: &&Issued| {
        let ends = history.calls[*mutation].ends.values();
        ends.into_iter().any(|end| matches!(end.how, EndedAs::Confirmed(_)))
    };
    history.calls.keys().filter(confirmed).count() as u64
}
