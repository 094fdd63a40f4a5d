//! Commits whose callers wait for a time only.
//!
//! Invariant: a request is answered once: with its outcome or, when its time is up before that is known, with `InDoubt`. What is under way for it then
//! goes on to its end, and is not tried again.

use std::sync::Arc;
use std::time::Duration;

use iolite_store::{CommitReply, Reply, Request};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::requests::Ticket;
use crate::shared::Shared;

/// A request that waits for a time only.
#[derive(Debug)]
pub(crate) struct Limited {
    ticket: Ticket,
    limit: TimeLimit,
}

/// Until when a request waits.
#[derive(Debug)]
pub(crate) struct TimeLimit {
    until: Instant,
    /// What is said when its time is up.
    reply: Reply,
}

/// The task that answers them.
pub(crate) struct TimeLimits {
    shared: Arc<Shared>,
    limited: mpsc::UnboundedReceiver<Limited>,
}

impl TimeLimit {
    pub fn of(request: &Request) -> Option<TimeLimit> {
        let Request::Commit { transaction, within: Some(within), .. } = request else { return None };
        let reply = CommitReply::InDoubt { transaction: transaction.id, attempt: transaction.attempt };
        // A century is as good as no limit, and no clock runs over.
        let until = Instant::now() + (*within).min(Duration::from_secs(100 * 365 * 24 * 3_600));
        Some(TimeLimit { until, reply: Reply::Commit(reply) })
    }

    pub fn on(self, ticket: Ticket) -> Limited {
        Limited { ticket, limit: self }
    }
}

impl TimeLimits {
    pub fn new(shared: Arc<Shared>, limited: mpsc::UnboundedReceiver<Limited>) -> TimeLimits {
        TimeLimits { shared, limited }
    }

    /// Works until the store is dropped.
    pub async fn run(mut self) {
        let mut waits = JoinSet::new();
        loop {
            tokio::select! {
                limited = self.limited.recv() => {
                    let Some(Limited { ticket, limit }) = limited else { return };
                    let shared = self.shared.clone();
                    waits.spawn(async move {
                        sleep_until(limit.until).await;
                        shared.answer(ticket, limit.reply);
                    });
                }
                Some(_) = waits.join_next() => {}
            }
        }
    }
}
