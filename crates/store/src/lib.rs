//! What a gateway asks of a store: commit, read at a timestamp, and a feed of everything that commits, up to a resolved timestamp.
//!
//! Sources: TAPIR's interface (TOCS 2018, section 5.1); the feed and the resolved timestamp are Iolite's (docs/protocols/feed.md).
//!
//! Invariants that every store keeps, and the conformance suite checks:
//! - nothing commits at or below a resolved timestamp that was announced;
//! - the feed's segments join without gap or overlap, and hold every commit once, in timestamp order;
//! - a transaction takes effect at most once, whatever is submitted under its id;
//! - a reply and the feed tell only what is durable in the store's class.

mod asking;
mod attempts;
pub mod conformance;
mod reply;
mod request;
pub mod size;

use std::sync::Arc;

use iolite_values::{StoreIncarnation, Timestamp, TransactionId, Write};

pub use asking::Asking;
pub use attempts::{ATTEMPTS_MAX, Attempts};
pub use reply::{
    ChangesError, CommitReply, Completion, CompletionDecision, ConfigurationFault, ReadReply, Refusal, Reply, RowAt,
    TooOld, Validity,
};
pub use request::{ReadLimit, Request, RequestId};

/// A store as gateways and the conformance suite see it. Requests are answered in any order, each exactly once.
pub trait Store {
    /// Begins a request. `id` is the caller's, and comes back with the reply.
    fn request(&mut self, id: RequestId, request: Request);

    /// The next event, after letting the store work until there is one; `None` when there will be none without another request.
    fn next_event(&mut self) -> Option<Event>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The store can be asked. Comes first; and again when the feed cannot go on from where it was, because the history is another one
    /// after a failure, or the commits in between are no longer kept. The feed then goes on from `resolved`, and whoever followed it has
    /// to read anew.
    Ready {
        store: StoreIncarnation,
        resolved: Timestamp,
    },
    Reply(RequestId, Reply),
    /// The feed goes on.
    Feed(Segment),
}

/// A stretch of the feed: everything that committed in (from, to]. `to` is resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub from: Timestamp,
    pub to: Timestamp,
    /// In timestamp order.
    pub commits: Vec<Commit>,
}

/// One committed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub at: Timestamp,
    pub transaction: TransactionId,
    /// Those of one row in the order in which the transaction made them.
    pub writes: Arc<[Write]>,
}

impl Commit {
    /// About as many bytes as its writes take: of one that comes in parts, as many as of the parts together.
    pub fn size_bytes(&self) -> usize {
        self.writes.iter().map(size::write_bytes).sum()
    }
}
