//! When parts of the coordinator want to be looked at.
//!
//! Invariant: each has one timer at most; a new one replaces it.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::Instant;
use iolite_store::RequestId;

use super::reading::PartId;
use crate::node::{ProposalId, ShardId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Transaction(u64),
    Backup(ProposalId),
    Closer(ShardId),
    Reading(RequestId, PartId),
    Validation(RequestId),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    in_order: BTreeSet<(Instant, Timer)>,
    set: BTreeMap<Timer, Instant>,
}

impl Timers {
    pub fn set(&mut self, at: Instant, timer: Timer) {
        if let Some(before) = self.set.insert(timer, at) {
            self.in_order.remove(&(before, timer));
        }
        self.in_order.insert((at, timer));
    }

    pub fn clear(&mut self, timer: Timer) {
        if let Some(at) = self.set.remove(&timer) {
            self.in_order.remove(&(at, timer));
        }
    }

    pub fn next(&self) -> Option<Instant> {
        self.in_order.first().map(|(at, _)| *at)
    }

    pub fn take_due(&mut self, now: Instant) -> Option<Timer> {
        let (at, timer) = self.in_order.first().copied().filter(|(at, _)| *at <= now)?;
        self.in_order.remove(&(at, timer));
        self.set.remove(&timer);
        Some(timer)
    }
}
