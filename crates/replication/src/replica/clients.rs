//! Completion records: what became of each client's transactions.
//!
//! Invariant: a record is kept until its client acknowledges it, and the counter up to which a client acknowledged is kept for good, so a
//! transaction takes effect once however late a copy of it comes.

use std::collections::BTreeMap;
use std::iter;
use std::ops::Bound;

use iolite_store::{Completion, RowAt};
use iolite_values::{ClientId, Counter, KeyRange, Timestamp, TransactionId};

use crate::completions::{CompletionRow, first_client};
use crate::journal::{CheckpointClient, completion_from_wire, completion_to_wire};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clients {
    clients: BTreeMap<ClientId, Client>,
    /// How many completions they have together.
    completions: usize,
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
        self.change(transaction.client, |client| {
            if transaction.counter > client.acknowledged {
                client.completions.entry(transaction.counter).or_insert(completion);
            }
        });
    }

    /// Forgets outcomes. Says whether that changed anything.
    pub fn acknowledge(&mut self, client: ClientId, through: Counter) -> bool {
        self.change(client, |client| {
            let is_new = through > client.acknowledged;
            if is_new {
                client.acknowledge(through);
            }
            is_new
        })
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
            if completions.is_empty() && begun.is_some() {
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

    /// As rows, in the order of their keys: what was decided at or below `at`.
    pub fn rows_at(&self, range: &KeyRange, at: Timestamp) -> impl Iterator<Item = RowAt> {
        let clients = self.clients.range(first_client(&range.lower)..);
        let rows = clients.flat_map(move |(id, client)| {
            let own = CompletionRow::Client { client: *id, acknowledged: client.acknowledged };
            let decided = client.completions.iter().filter(move |(_, completion)| completion.at <= at);
            let outcome = |(counter, completion): (&Counter, &Completion)| CompletionRow::Outcome {
                client: *id,
                counter: *counter,
                completion: completion.clone(),
            };
            iter::once(own).chain(decided.map(outcome))
        });
        let range = range.clone();
        let upper = range.upper.clone();
        rows.map(|row| row.to_row())
            .take_while(move |row| upper.as_ref().is_none_or(|upper| row.key.as_bytes() < &**upper))
            .filter(move |row| range.contains(&row.key))
    }

    /// Takes everything that another replica knows.
    pub fn absorb(&mut self, other: Clients) {
        for (client, known) in other.clients {
            self.change(client, |own| own.absorb(known));
        }
    }

    /// Takes a part from a checkpoint.
    pub fn restore(&mut self, part: CheckpointClient) {
        let CheckpointClient { client, acknowledged, completions } = part;
        let completions = completions.into_iter().map(|(counter, found)| (counter, completion_from_wire(found)));
        let known = Client { acknowledged, completions: completions.collect() };
        self.change(client, |own| own.absorb(known));
    }

    /// Clients that ever came.
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// Outcomes that are kept.
    pub fn completions(&self) -> usize {
        self.completions
    }

    fn change<T>(&mut self, client: ClientId, change: impl FnOnce(&mut Client) -> T) -> T {
        let client = self.clients.entry(client).or_default();
        let before = client.completions.len();
        let result = change(client);
        self.completions = self.completions + client.completions.len() - before;
        result
    }

    /// # Panics
    /// When an invariant of this module is broken.
    pub fn validate(&self) {
        let kept: usize = self.clients.values().map(|client| client.completions.len()).sum();
        assert_eq!(self.completions, kept, "outcomes are counted");
        for client in self.clients.values() {
            let lowest = client.completions.keys().next();
            assert!(lowest.is_none_or(|counter| *counter > client.acknowledged), "an acknowledged outcome was kept");
        }
    }
}

impl Client {
    fn acknowledge(&mut self, through: Counter) {
        self.acknowledged = self.acknowledged.max(through);
        // No counter is above the last one.
        self.completions = self.completions.split_off(&self.acknowledged);
        self.completions.remove(&self.acknowledged);
        if self.completions.is_empty() {
            // An emptied map keeps a node, which is four times what else is kept of a client.
            self.completions = BTreeMap::new();
        }
    }

    fn absorb(&mut self, other: Client) {
        for (counter, completion) in other.completions {
            self.completions.entry(counter).or_insert(completion);
        }
        self.acknowledge(other.acknowledged);
    }
}

#[cfg(test)]
mod tests {
    use iolite_store::CompletionDecision;
    use iolite_values::{Attempt, Id};

    use super::*;

    /// Simulated seed 15 of the histories: the checkpoint cut the client between two completions, and the second was acknowledged before it was written.
    #[test]
    fn a_client_that_acknowledges_between_two_parts_of_a_checkpoint_is_as_it_was() {
        let client = ClientId(Id::from_u128(1));
        let of = |counter| TransactionId { client, counter: Counter(counter) };
        let at = |counter| Timestamp::from_u64(counter << 20);
        let mut clients = Clients::default();
        for counter in [8, 9] {
            let (attempt, decision) = (Attempt(1), CompletionDecision::Committed);
            clients.complete(of(counter), Completion { attempt, at: at(counter), decision });
        }
        let mut parts = clients.checkpoint(None, 1);
        clients.acknowledge(client, Counter(9));
        parts.extend(clients.checkpoint(Some((client, Counter(8))), 1));
        assert_eq!(clients.checkpoint(Some((client, Counter(9))), 1), [], "it ends");
        let mut recovered = Clients::default();
        parts.into_iter().for_each(|part| recovered.restore(part));
        recovered.acknowledge(client, Counter(9));
        assert_eq!(recovered, clients);
        assert_eq!(recovered.known(of(9)), Known::Forgotten);
    }

    #[test]
    fn the_last_counter_may_be_acknowledged() {
        let client = ClientId(Id::from_u128(1));
        let last = TransactionId { client, counter: Counter(u64::MAX) };
        let mut clients = Clients::default();
        let (attempt, decision) = (Attempt(1), CompletionDecision::Committed);
        clients.complete(last, Completion { attempt, at: Timestamp::from_u64(1), decision });
        assert!(clients.acknowledge(client, last.counter));
        assert_eq!((clients.known(last), clients.completions()), (Known::Forgotten, 0));
        clients.validate();
    }
}
