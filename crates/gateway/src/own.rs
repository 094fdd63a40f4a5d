//! The gateway's own transactions: their counters, and which of them the store may forget.
//!
//! Invariant: an outcome is acknowledged when every transaction before it has ended too, so the store never forgets one that is still open.

use std::collections::BTreeSet;

use iolite_store::Request;
use iolite_values::{Attempt, Counter, Decision, Level, Read, Timestamp, Transaction, TransactionId};

use crate::Gateway;
use crate::store::Purpose;

/// The counters of a gateway's own transactions.
#[derive(Debug, Default)]
pub struct Own {
    last: Counter,
    open: BTreeSet<Counter>,
}

impl Own {
    fn begin(&mut self) -> Counter {
        self.last = self.last.next();
        self.open.insert(self.last);
        self.last
    }

    /// One has ended. Returns up to where all have.
    fn ended(&mut self, counter: Counter) -> Counter {
        self.open.remove(&counter);
        self.open.first().map_or(self.last, |first| Counter(first.0 - 1))
    }

    /// The store has begun anew, and answers none of them.
    pub fn clear(&mut self) {
        self.open.clear();
    }
}

impl Gateway {
    /// Gives the store a transaction of the gateway's own. Its reads are of the snapshot.
    pub(crate) fn commit_own(
        &mut self,
        purpose: impl FnOnce(Counter) -> Purpose,
        snapshot: Timestamp,
        reads: Vec<Read>,
        decision: Decision,
    ) -> Counter {
        let counter = self.own.begin();
        let transaction = Transaction {
            id: TransactionId { client: self.settings.client, counter },
            attempt: Attempt(1),
            snapshot,
            reads,
            decision,
            level: Level::Strict,
        };
        self.ask(purpose(counter), Request::Commit { transaction, floor: self.position(), within: None });
        counter
    }

    /// The outcome of one is taken note of.
    pub(crate) fn own_ended(&mut self, counter: Counter) {
        let through = self.own.ended(counter);
        self.acknowledge(self.settings.client, through);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_forgotten_behind_one_that_is_open() {
        let mut own = Own::default();
        let (first, second, third) = (own.begin(), own.begin(), own.begin());
        assert_eq!((first, second, third), (Counter(1), Counter(2), Counter(3)));
        assert_eq!(own.ended(second), Counter(0));
        assert_eq!(own.ended(first), Counter(2));
        assert_eq!(own.ended(third), Counter(3));
    }
}
