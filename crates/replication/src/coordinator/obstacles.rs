//! What stands undecided in the way of proposals here, and since when.
//!
//! Each try against it leaves something in the records until it is decided. What is quick is tried again soon; what has stood for long is likely to stand
//! for as long again, so who meets it waits for some of a quarter of that.
//!
//! Invariant: nothing that the feed has passed is remembered.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::Timestamp;

use super::Coordinator;
use super::pauses::Pauses;
use crate::node::{Objection, ProposalId};

/// When a proposal that met an undecided one is made again.
pub const BUSY_PAUSES: Pauses = Pauses { first: Duration::from_micros(500), longest: Duration::from_millis(50) };

/// However long the other one has been undecided.
pub const STUCK_PAUSE_LONGEST: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default)]
pub(super) struct Obstacles {
    since: BTreeMap<ProposalId, Instant>,
}

impl Obstacles {
    /// It has its outcome.
    pub fn forget(&mut self, id: ProposalId) {
        self.since.remove(&id);
    }

    pub fn forget_through(&mut self, through: Timestamp) {
        self.since = self.since.split_off(&ProposalId::first_above(through));
    }

    /// # Panics
    /// When the invariant of this module is broken.
    pub fn validate(&self, position: Timestamp) {
        assert!(self.since.keys().all(|id| id.at > position), "what the feed has passed is remembered");
    }
}

impl Coordinator {
    /// Since when something has been in the way, if that is why replicas objected. What is decided already is so no longer.
    pub(super) fn in_the_way_since(&mut self, now: Instant, objections: &[Objection]) -> Option<Instant> {
        let position = self.feed.position();
        let met = objections.iter().filter_map(|objection| match objection {
            Objection::Busy { with } => Some(*with),
            Objection::Retry { .. }
            | Objection::Conflict { .. }
            | Objection::Completed(_)
            | Objection::Forgotten
            | Objection::Refused(_) => None,
        });
        let since = met.map(|with| match with.at <= position || self.decided.contains_key(&with) {
            true => now,
            false => *self.obstacles.since.entry(with).or_insert(now),
        });
        since.min()
    }
}

/// The pauses for what has been in the way for so long.
pub(super) fn pauses_after(stood: Duration) -> Pauses {
    Pauses { longest: (stood / 4).clamp(BUSY_PAUSES.longest, STUCK_PAUSE_LONGEST), ..BUSY_PAUSES }
}
