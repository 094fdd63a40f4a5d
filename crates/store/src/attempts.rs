//! Which attempts a store has seen, so that a late copy of an earlier attempt does not take effect after its client was told to run again.
//!
//! Only a kindness, and so kept in memory, and not of everything: exactly-once rests on completion records alone
//! (docs/protocols/replica.md, "Attempts").

use std::collections::{BTreeMap, VecDeque};

use iolite_values::{Attempt, ClientId, Counter, Timestamp, TransactionId};

/// How many transactions are remembered.
pub const ATTEMPTS_MAX: usize = 1 << 16;

/// The attempts of transactions that were not decided.
#[derive(Clone, Debug, Default)]
pub struct Attempts {
    seen: BTreeMap<TransactionId, Seen>,
    /// In the order of first being seen; some may be forgotten already.
    order: VecDeque<TransactionId>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    attempt: Attempt,
    at_least: Timestamp,
}

impl Attempts {
    /// If a later attempt was seen: the snapshot that the transaction was told to run on.
    pub fn overtaken(&self, transaction: TransactionId, attempt: Attempt) -> Option<Timestamp> {
        self.seen.get(&transaction).filter(|seen| seen.attempt > attempt).map(|seen| seen.at_least)
    }

    /// Takes note of an attempt that was not decided.
    pub fn note(&mut self, transaction: TransactionId, attempt: Attempt, at_least: Timestamp) {
        if !self.seen.contains_key(&transaction) {
            self.order.push_back(transaction);
        }
        let seen = self.seen.entry(transaction).or_insert(Seen { attempt, at_least });
        seen.attempt = seen.attempt.max(attempt);
        seen.at_least = seen.at_least.max(at_least);
        while self.order.len() > ATTEMPTS_MAX {
            let oldest = self.order.pop_front().expect("more than none");
            self.seen.remove(&oldest);
        }
    }

    /// The transaction is decided.
    pub fn forget(&mut self, transaction: TransactionId) {
        self.seen.remove(&transaction);
    }

    /// The client acknowledged everything through this counter.
    pub fn forget_through(&mut self, client: ClientId, through: Counter) {
        let range = TransactionId { client, counter: Counter(0) }..=TransactionId { client, counter: through };
        let known: Vec<TransactionId> = self.seen.range(range).map(|(id, _)| *id).collect();
        for id in known {
            self.seen.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::Id;

    use super::*;

    #[test]
    fn the_longest_unheard_of_transaction_is_forgotten_first() {
        let id = |counter| TransactionId { client: ClientId(Id::from_u128(1)), counter: Counter(counter) };
        let mut attempts = Attempts::default();
        for counter in 0..=ATTEMPTS_MAX as u64 {
            attempts.note(id(counter), Attempt(2), Timestamp::MAX);
        }
        assert_eq!(attempts.overtaken(id(0), Attempt(1)), None);
        assert_eq!(attempts.overtaken(id(1), Attempt(1)), Some(Timestamp::MAX));
        assert_eq!(attempts.seen.len(), ATTEMPTS_MAX);
    }
}
