//! Commits whose callers wait for a time only.
//!
//! Invariant: a request is answered once: with its outcome or, when its time is up before that is known, with `InDoubt`. What is under way for it goes on.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;
use iolite_store::{CommitReply, Reply, Request, RequestId};
use iolite_values::{Attempt, TransactionId};

use super::Coordinator;

#[derive(Clone, Debug, Default)]
pub(super) struct TimeLimits {
    in_order: BTreeSet<(Instant, RequestId)>,
    limited: BTreeMap<RequestId, Limited>,
}

#[derive(Clone, Copy, Debug)]
struct Limited {
    until: Instant,
    transaction: TransactionId,
    attempt: Attempt,
}

impl TimeLimits {
    /// Takes note of a request that came with a limit.
    pub fn note(&mut self, now: Instant, id: RequestId, request: &Request) {
        if let Request::Commit { transaction, within: Some(within), .. } = request {
            let until = now + *within;
            self.in_order.insert((until, id));
            self.limited.insert(id, Limited { until, transaction: transaction.id, attempt: transaction.attempt });
        }
    }

    /// The request is answered.
    pub fn end(&mut self, id: RequestId) {
        if let Some(limited) = self.limited.remove(&id) {
            self.in_order.remove(&(limited.until, id));
        }
    }

    pub fn next(&self) -> Option<Instant> {
        self.in_order.first().map(|(until, _)| *until)
    }

    fn due(&self, now: Instant) -> Option<(RequestId, Limited)> {
        let (_, id) = self.in_order.first().filter(|(until, _)| *until <= now)?;
        Some((*id, self.limited[id]))
    }
}

impl Coordinator {
    pub(super) fn end_waits(&mut self, now: Instant) {
        while let Some((request, Limited { transaction, attempt, .. })) = self.time_limits.due(now) {
            self.waiting.retain(|(_, own, _)| *own != request);
            self.transactions.leave(transaction, attempt, request);
            self.tally.in_doubt += 1;
            self.reply(request, Reply::Commit(CommitReply::InDoubt { transaction, attempt }));
        }
    }
}
