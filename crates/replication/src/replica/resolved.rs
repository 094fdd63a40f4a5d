//! What became final up to a timestamp, as a coordinator found out: this replica completes what it has, and asks peers for what it lacks.
//!
//! Invariant: at the complete point, every replica that has reached it has the same rows and completion records.
//! Source: Iolite's own (docs/protocols/feed.md).

use iolite_machine::Now;
use iolite_values::Timestamp;

use super::Replica;
use crate::journal::JournalRecord;
use crate::node::{Outcome, ProposalId};

impl Replica {
    pub(super) fn on_resolved(&mut self, now: Now, from: Timestamp, through: Timestamp, commits: &[ProposalId]) {
        if self.is_alone() {
            return self.on_resolved_elsewhere(from, through, commits);
        }
        if through <= self.complete {
            return;
        }
        let open = commits.iter().filter(|id| id.at > self.complete);
        let mut lacks = from > self.complete;
        for id in open.copied().collect::<Vec<_>>() {
            self.on_outcome(id, Outcome::Committed, None);
            lacks |= !self.versions.has_commit_at(id.at);
        }
        if lacks {
            self.fall_behind(now, through);
        } else {
            self.advance(through);
        }
    }

    /// Who is the whole group may wait for what other shards decided.
    fn on_resolved_elsewhere(&mut self, from: Timestamp, through: Timestamp, commits: &[ProposalId]) {
        let open = self.prepared.ids().filter(|id| id.at > from && id.at <= through);
        for id in open.collect::<Vec<_>>() {
            let committed = commits.binary_search(&id).is_ok();
            self.on_outcome(id, if committed { Outcome::Committed } else { Outcome::Aborted }, None);
        }
    }

    /// Everything that committed at or below `through` is here.
    pub(super) fn advance(&mut self, through: Timestamp) {
        // First the ceiling: a crash may come between two records.
        self.raise_barrier(through);
        self.complete_after = self.persist(&JournalRecord::Complete(through));
        self.complete_through(through);
    }

    /// The same without the journal and the barrier.
    pub(super) fn complete_through(&mut self, through: Timestamp) {
        self.complete = self.complete.max(through);
        self.forget_settled(through);
    }
}
