//! Completion records: what became of each client's transactions.
//!
//! Invariant: a record is kept until its client acknowledges it, and the counter up to which a client acknowledged is kept for good, so a
//! transaction takes effect once however late a copy of it comes.

use std::collections::BTreeMap;
use std::ops::Bound;

use iolite_store::Completion;
use iolite_values::{ClientId, Counter, TransactionId};

use crate::journal::{CheckpointClient, completion_from_wire, completion_to_wire};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clients {
    clients: BTreeMap<ClientId, Client>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Client {
    acknowledged: Counter,
    completions: BTreeMap<Counter, Completion>,
}

/// What is known of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    Nothing,
    Completed(Completion),
    Forgotten,
}

impl Clients {
    pub fn known(&self, transaction: TransactionId) -> Known {
        let Some(client) = self.clients.get(&transaction.client) else { return Known::Nothing };
        if transaction.counter <= client.acknowledged {
            return Known::Forgotten;
        }
        client.completions.get(&transaction.counter).map_or(Known::Nothing, |found| Known::Completed(found.clone()))
    }

    /// Records an outcome. One that is known or forgotten changes nothing.
    pub fn complete(&mut self, transaction: TransactionId, completion: Completion) {
        let client = self.clients.entry(transaction.client).or_default();
        if transaction.counter > client.acknowledged {
            client.completions.entry(transaction.counter).or_insert(completion);
        }
    }

    /// Forgets outcomes. Says whether that changed anything.
    pub fn acknowledge(&mut self, client: ClientId, through: Counter) -> bool {
        let client = self.clients.entry(client).or_default();
        if through <= client.acknowledged {
            return false;
        }
        client.acknowledged = through;
        client.completions = client.completions.split_off(&through);
        client.completions.remove(&through);
        true
    }

    /// The clients above `after`, in parts of about `completions_max` completions but at least one part; a long client is cut, and goes on in
    /// the next part.
    pub fn checkpoint(&self, after: Option<(ClientId, Counter)>, completions_max: usize) -> Vec<CheckpointClient> {
        let first = after.map_or(Bound::Unbounded, |(client, _)| Bound::Included(client));
        let mut parts = Vec::new();
        let mut room = completions_max.max(1);
        for (id, client) in self.clients.range((first, Bound::Unbounded)) {
            let begun = after.filter(|(begun, _)| begun == id).map(|(_, counter)| counter);
            let rest = (begun.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
            let completions: BTreeMap<_, _> = client
                .completions
                .range(rest)
                .take(room)
                .map(|(counter, found)| (*counter, completion_to_wire(found)))
                .collect();
            if begun.is_some() && completions.is_empty() {
                continue;
            }
            room = room.saturating_sub(completions.len().max(1));
            parts.push(CheckpointClient { client: *id, acknowledged: client.acknowledged, completions });
            if room == 0 {
                break;
            }
        }
        parts
    }

    /// Takes everything that another replica knows.
    pub fn absorb(&mut self, other: Clients) {
        for (client, Client { acknowledged, completions }) in other.clients {
            if acknowledged > Counter(0) {
                self.acknowledge(client, acknowledged);
            }
            for (counter, completion) in completions {
                self.complete(TransactionId { client, counter }, completion);
            }
        }
    }

    /// Takes a part from a checkpoint.
    pub fn restore(&mut self, part: CheckpointClient) {
        if part.acknowledged > Counter(0) {
            self.acknowledge(part.client, part.acknowledged);
        }
        for (counter, completion) in part.completions {
            self.complete(TransactionId { client: part.client, counter }, completion_from_wire(completion));
        }
    }

    /// # Panics
    /// When an invariant of this module is broken.
    pub fn validate(&self) {
        for client in self.clients.values() {
            let lowest = client.completions.keys().next();
            assert!(lowest.is_none_or(|counter| *counter > client.acknowledged), "an acknowledged outcome was kept");
        }
    }
}
