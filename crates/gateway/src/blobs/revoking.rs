//! Leases that are over: a sweep has them revoked, each by a commit of the gateway's own.
//!
//! Invariants: a revocation rests on the row of its lease, so it never takes one away that was renewed or spent; so many are open at a time.

use std::collections::{BTreeSet, VecDeque};

use iolite_blobs::RowTransaction;
use iolite_machine::Now;
use iolite_values::{Counter, Decision, LeaseName};

use crate::Gateway;
use crate::limits::REVOCATIONS_OPEN_MAX;
use crate::store::Purpose;

/// The revocations that a sweep has asked for.
#[derive(Debug, Default)]
pub struct Revoking {
    waiting: VecDeque<LeaseName>,
    open: BTreeSet<Counter>,
}

impl Gateway {
    pub(crate) fn revoke_leases(&mut self, now: Now) {
        let Some(leases) = self.blobs.leases.known() else { return };
        self.blobs.revoking.waiting = leases.over(now.wall).into_iter().collect();
        self.blobs.quotas.forget_old(now.instant, leases);
        self.revoke_next(now);
    }

    fn revoke_next(&mut self, now: Now) {
        while self.blobs.revoking.open.len() < REVOCATIONS_OPEN_MAX
            && let Some(lease) = self.blobs.revoking.waiting.pop_front()
            && let Some(leases) = self.blobs.leases.known()
        {
            // It may have been renewed since.
            if leases.get(lease).is_some_and(|row| row.until > now.wall) {
                continue;
            }
            let RowTransaction { reads, writes, .. } = leases.revoke(lease);
            if !writes.is_empty() {
                let decision = Decision::Commit(writes);
                let counter = self.commit_own(Purpose::Revocation, self.position(), reads, decision);
                self.blobs.revoking.open.insert(counter);
            }
        }
    }

    /// One has ended. A lease that is still there is for the next sweep.
    pub(crate) fn on_revoked(&mut self, now: Now, counter: Counter) {
        self.own_ended(counter);
        self.blobs.revoking.open.remove(&counter);
        self.revoke_next(now);
    }
}
