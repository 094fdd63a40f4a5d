//! Commits whose callers wait for a time only.
//!
//! Invariant: a request is answered once: with its outcome or, when its time is up before that is known, with `InDoubt`. The work on it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iolite_store::{CommitReply, Reply, Request, RequestId};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::shared::Shared;

/// Whether a request was answered. Shared by those who may do it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answered(Arc<AtomicBool>);

/// A request that waits for a time only.
#[derive(Debug)]
pub(crate) struct Limited {
    id: RequestId,
    until: Instant,
    answered: Answered,
    /// What is said when its time is up.
    reply: Reply,
}

/// The task that answers them.
pub(crate) struct TimeLimits {
    shared: Arc<Shared>,
    limited: mpsc::UnboundedReceiver<Limited>,
}

impl Answered {
    /// Says whether it was not before.
    pub fn set(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

impl Limited {
    pub fn of(id: RequestId, request: &Request, answered: &Answered) -> Option<Limited> {
        let Request::Commit { transaction, within: Some(within), .. } = request else { return None };
        let reply = CommitReply::InDoubt { transaction: transaction.id, attempt: transaction.attempt };
        // A century is as good as no limit, and no clock runs over.
        let until = Instant::now() + (*within).min(Duration::from_secs(100 * 365 * 24 * 3_600));
        Some(Limited { id, until, answered: answered.clone(), reply: Reply::Commit(reply) })
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
                    let Some(Limited { id, until, answered, reply }) = limited else { return };
                    let shared = self.shared.clone();
                    waits.spawn(async move {
                        sleep_until(until).await;
                        shared.answer(id, &answered, reply);
                    });
                }
                Some(_) = waits.join_next() => {}
            }
        }
    }
}
