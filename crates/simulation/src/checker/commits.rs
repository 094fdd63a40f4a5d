//! The completion records of one history of the store, by transaction and by timestamp.

use std::collections::{BTreeMap, BTreeSet};

use iolite_replication::journal::JournalRecord;
use iolite_replication::node::{ProposalId, ShardId};
use iolite_replication::{Logged, decisions};
use iolite_values::{Attempt, ClientId, Level, StoreIncarnation, Timestamp, TransactionId, Write};

use super::{Invariant, Violation};
use crate::history::{Called, ClientIndex, EndedAs, History, Issued, StoreCalls, StoreHistory};
use crate::world::is_denial;

#[derive(Debug, Default)]
pub struct Commits {
    /// What took effect, or was aborted for good, in timestamp order.
    pub by_time: BTreeMap<Timestamp, Completed>,
    pub by_mutation: BTreeMap<Issued, Timestamp>,
}

#[derive(Debug)]
pub struct Completed {
    pub transaction: TransactionId,
    pub attempt: Attempt,
    /// Nothing, for the gateways' own transactions.
    pub mutation: Option<Issued>,
    /// Those of one row in order. Nothing, for the app's own abort.
    pub writes: Option<Vec<Write>>,
    /// What it is promised by the tables that it touches.
    pub level: Level,
}

impl Commits {
    /// # Errors
    /// When a transaction completed twice, or two at one timestamp.
    pub fn collect(history: &History, store: &StoreHistory) -> Result<Commits, Violation> {
        let mut commits = Commits::default();
        for (id, writes) in decided(store)? {
            let transaction = id.transaction;
            let mutation = history.issued(transaction);
            let called = mutation.and_then(|mutation| history.calls.get(&mutation));
            let level = called.map_or(Level::Strict, |called| called.call.level());
            let completed = Completed { transaction, attempt: id.attempt, mutation, writes, level };
            if let Some(earlier) = commits.by_time.insert(id.at, completed) {
                let what = format!("{:?}: {earlier:?} and {id:?}", id.at);
                return Err(Violation::new(Invariant::ExactlyOnce, what));
            }
            if let Some(mutation) = mutation
                && let Some(other) = commits.by_mutation.insert(mutation, id.at)
            {
                let what = format!("{mutation:?} took effect at {other:?} and at {:?}", id.at);
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
        history.calls.iter().try_for_each(|(mutation, called)| self.check_end(store, *mutation, called))
    }

    /// The same of one mutation.
    ///
    /// # Errors
    /// As of [`Commits::check_ends`].
    pub fn check_end(&self, store: StoreIncarnation, mutation: Issued, called: &Called) -> Result<(), Violation> {
        let recorded = self.recorded(mutation);
        if recorded.is_some() && !called.durable {
            let what = format!("{mutation:?} took effect before it was durable at its client");
            return Err(Violation::new(Invariant::Durability, what));
        }
        let never = called.ends.values().find(|end| matches!(end.how, EndedAs::Cancelled(_)));
        let before = called.ends.get(&None);
        let Some(end) = called.ends.get(&Some(store)).or(before).or(never) else { return Ok(()) };
        let fits = match (&end.how, recorded) {
            (EndedAs::Confirmed(told), Some((at, true))) => *told == at && at <= end.confirmed_through,
            (EndedAs::Confirmed(_), _) => false,
            (EndedAs::Rejected(_), Some((_, committed))) => !committed,
            (EndedAs::Rejected(_), None) => false,
            // One that an earlier life may have sent is given up by an attempt that aborts it. In the place of a denied one an abort is recorded.
            (EndedAs::Quarantined(why), Some((_, committed))) => !committed && (called.has_no_room || is_denial(why)),
            (EndedAs::Quarantined(_), None) => true,
            (EndedAs::Cancelled(_), recorded) => recorded.is_none(),
            (EndedAs::Overruled, _) => false,
        };
        if fits {
            return Ok(());
        }
        let what = format!("{mutation:?} {:?} ended as {end:?}, but the store has {recorded:?}", called.call);
        Err(Violation::new(Invariant::Durability, what))
    }

    /// What a gateway was told of an end is what the store recorded, even if no client was told.
    pub fn check_reports(&self, calls: &StoreCalls) -> Result<(), Violation> {
        let is_recorded = |(transaction, at): &(TransactionId, Timestamp)| {
            self.by_time.get(at).is_some_and(|completed| completed.transaction == *transaction)
        };
        match calls.reports().find(|report| !is_recorded(report)) {
            None => Ok(()),
            Some((transaction, at)) => {
                let recorded = self.by_time.iter().find(|(_, completed)| completed.transaction == transaction);
                let what =
                    format!("a gateway was told that {transaction:?} ended at {at:?}, but the store has {recorded:?}");
                Err(Violation::new(Invariant::Durability, what))
            }
        }
    }
}

/// What the replicas' journals say was decided: the same at all replicas of a shard, and put together of all shards' parts. None for the app's own
/// aborts.
fn decided(store: &StoreHistory) -> Result<BTreeMap<ProposalId, Option<Vec<Write>>>, Violation> {
    let mut parts: BTreeMap<(ProposalId, ShardId), Logged> = BTreeMap::new();
    let mut aborted: BTreeMap<ProposalId, BTreeSet<ShardId>> = BTreeMap::new();
    for own in store.of_disks() {
        for (id, logged) in decisions(own.journal.values()) {
            let Some(logged) = logged else {
                aborted.entry(id).or_default().insert(own.shard);
                continue;
            };
            let known = parts.entry((id, own.shard)).or_insert_with(|| logged.clone());
            if (known.is_abort, &known.commit) != (logged.is_abort, &logged.commit) {
                let what = format!("{id:?} is {known:?} at one replica and {logged:?} at another");
                return Err(Violation::new(Invariant::ExactlyOnce, what));
            }
        }
    }
    let elsewhere = Elsewhere::of(store);
    let mut decided: BTreeMap<ProposalId, Option<Vec<Write>>> = BTreeMap::new();
    for ((id, shard), logged) in parts {
        let aborted = aborted.get(&id).into_iter().flatten();
        if let Some(other) = aborted.filter(|other| !elsewhere.is(id, shard, **other)).min() {
            let what = format!("{id:?} was committed by {shard:?} and aborted by {other:?}");
            return Err(Violation::new(Invariant::ExactlyOnce, what));
        }
        let whole = decided.entry(id).or_insert_with(|| (!logged.is_abort).then(Vec::new));
        if let Some(writes) = whole {
            // A part of a shard may tell what was decided before it began.
            let is_new = |write: &&Write| !writes.iter().any(|own| own.cell == write.cell);
            let new: Vec<Write> = logged.commit.writes.iter().filter(is_new).cloned().collect();
            writes.extend(new);
        }
    }
    Ok(decided)
}

/// Proposals that look like others of the same name. A shard that ends aborts what comes late, above all that anybody closes. A later life of the
/// coordinator does not know of it, and may propose the same at the same place to the shard's parts: it is the first one above what they begin with.
struct Elsewhere {
    ended: BTreeSet<ShardId>,
    participants: BTreeMap<(ProposalId, ShardId), Vec<ShardId>>,
}

impl Elsewhere {
    fn of(store: &StoreHistory) -> Elsewhere {
        let mut found = Elsewhere { ended: BTreeSet::new(), participants: BTreeMap::new() };
        for own in store.of_disks() {
            for record in own.journal.values() {
                let entries = match record {
                    JournalRecord::Split(_) => {
                        found.ended.insert(own.shard);
                        continue;
                    }
                    JournalRecord::Entry(entry) => std::slice::from_ref(entry),
                    JournalRecord::Master(part) => &part.entries,
                    _ => continue,
                };
                for entry in entries {
                    if let Some(proposal) = &entry.proposal {
                        found.participants.insert((entry.id, own.shard), proposal.participants.to_vec());
                    }
                }
            }
        }
        found
    }

    /// Whether what `other` aborted is not what `shard` committed.
    fn is(&self, id: ProposalId, shard: ShardId, other: ShardId) -> bool {
        let takes_part = self.participants.get(&(id, shard)).is_none_or(|all| all.contains(&other));
        self.ended.contains(&other) && !takes_part && shard != other
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
