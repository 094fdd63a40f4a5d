//! Submissions that name trees of chunks: they spend the leases under which these are sealed.
//!
//! Invariant: a tree gets into a row only by a commit that reads the row of its live lease, and deletes it. So a sweep that revokes the lease and this
//! commit never both happen. The read and the deletions come after the level: a table that the schema lacks counts as strict.

use std::collections::BTreeSet;

use iolite_machine::Now;
use iolite_store::{CommitReply, Completion, Request};
use iolite_values::{Blob, ClientId, Counter, Decision, LaneNumber, LeaseName, Operation, Transaction, Value, Write};
use iolite_wire::blobs::{BlobTree, TreeId};

use crate::Gateway;
use crate::store::Purpose;

/// Whether the trees that a transaction names can be those of a lease.
///
/// # Errors
/// Why not, for the app.
pub fn check(writes: &[Write]) -> Result<(), String> {
    for tree in trees(writes) {
        if tree.tree.waits_for_lease() || tree.tree.leases().is_empty() {
            return Err("a blob was sent without its chunks: put it again".to_owned());
        }
    }
    Ok(())
}

/// The trees that these writes put into cells, each with the lease that it is sealed under: the last that it lists.
fn named(writes: &[Write]) -> BTreeSet<(LeaseName, TreeId)> {
    trees(writes).filter_map(|tree| Some((*tree.tree.leases().last()?, tree.id()))).collect()
}

fn trees(writes: &[Write]) -> impl Iterator<Item = BlobTree> {
    let blobs = writes.iter().filter_map(|write| blob_in(&write.operation));
    blobs.filter_map(BlobTree::of)
}

/// A blob is a value of its own: no collection has any.
fn blob_in(operation: &Operation) -> Option<&Blob> {
    let (Operation::Put(Value::Blob(blob)) | Operation::Assign(Value::Blob(blob))) = operation else { return None };
    Some(blob)
}

impl Gateway {
    /// The transaction as the store is given it. `None`: it names a tree without a live lease of this client, or one that is not sealed.
    pub(crate) fn with_leases(&self, client: ClientId, transaction: Transaction) -> Option<Transaction> {
        let named = named(transaction.writes());
        if named.is_empty() {
            return Some(transaction);
        }
        let spent = self.blobs.leases.known()?.spend(client, &named)?;
        let Transaction { mut reads, decision, .. } = transaction;
        let Decision::Commit(mut writes) = decision else { return None };
        reads.extend(spent.reads);
        writes.extend(spent.writes);
        Some(Transaction { reads, decision: Decision::Commit(writes), ..transaction })
    }

    /// Asks what became of a mutation whose lease is gone. It may have spent that itself, and its client may not have heard.
    pub(crate) fn ask_if_spent(&mut self, client: ClientId, lane: LaneNumber, counter: Counter) {
        let (after, at) = (Counter(counter.0 - 1), self.position());
        let question = Request::Completions { client, after, at, most: 1 };
        self.ask(Purpose::Spent { client, lane, counter }, question);
    }

    /// The mutation conflicts if it did not commit: its client sends the chunks under another lease.
    pub(crate) fn on_spent(
        &mut self,
        now: Now,
        client: ClientId,
        lane: LaneNumber,
        counter: Counter,
        completions: Option<Vec<(Counter, Completion)>>,
    ) {
        let own = completions.into_iter().flatten().find(|(of, _)| *of == counter);
        let reply = match own {
            Some((_, completion)) => CommitReply::Completed(completion),
            None => CommitReply::Conflict { at_least: self.position() },
        };
        self.on_commit_reply(now, client, lane, counter, &reply);
    }
}
