//! What a store tells of itself, for those who watch it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// How a store stands, and what it has counted since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Connections with the database that are open.
    pub connections: u64,
    /// Requests that have no answer yet.
    pub waiting: u64,
    /// How often a request was done again on the same connection, because it came in the way of others.
    pub repeated: u64,
    /// How often something was given up and done again on a new connection.
    pub reconnected: u64,
    /// When the database last said how far the log is, in milliseconds since 1970. It is asked every second.
    pub heard_at_millis: u64,
}

/// The numbers as they are counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    connections: AtomicU64,
    repeated: AtomicU64,
    reconnected: AtomicU64,
    heard_at_millis: AtomicU64,
}

/// An open connection, as long as it lives.
pub(crate) struct Open(Arc<Counts>);

impl Counts {
    pub fn figures(&self, waiting: usize) -> Figures {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Figures {
            connections: get(&self.connections),
            waiting: u64::try_from(waiting).unwrap_or(u64::MAX),
            repeated: get(&self.repeated),
            reconnected: get(&self.reconnected),
            heard_at_millis: get(&self.heard_at_millis),
        }
    }

    pub fn open(self: &Arc<Counts>) -> Open {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Open(self.clone())
    }

    pub fn repeated(&self) {
        self.repeated.fetch_add(1, Ordering::Relaxed);
    }

    pub fn reconnected(&self) {
        self.reconnected.fetch_add(1, Ordering::Relaxed);
    }

    pub fn heard(&self) {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.heard_at_millis.store(u64::try_from(since.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
