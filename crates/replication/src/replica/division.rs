//! The end of a shard: it lets nothing new in, and when nothing is open any more, others go on with its rows.
//!
//! Invariants:
//! - a replica that is drained accepts nothing, and closes nothing above what it tells, ever again; that is in the journal before anything tells of it;
//! - it is drained only when nothing is prepared here, and all that it knows to have committed is at or below its complete point. So of any majority that
//!   is drained, one has all that committed: what was decided OK was prepared at a majority;
//! - one that is drained goes on answering about what was open, for the others drain by that.
//!
//! Source: Iolite's own, with docs/decisions/0009-sealed-epochs.md.

use std::collections::BTreeSet;
use std::time::Duration;

use iolite_machine::{Instant, Now};
use iolite_values::Timestamp;

use super::Replica;
use crate::broken::Broken;
use crate::configuration::{configuration_cell, configurations_table, said_split, written_split};
use crate::ir::Quorums;
use crate::journal::JournalRecord;
use crate::node::{Answer, Drained, Group, Objection, Peer, Proposal, ReplicaId, Split};
use crate::versions::Logged;

/// Those that go on with the rows are told again after this long.
pub const DRAINED_AGAIN_AFTER: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(super) struct Division {
    split: Split,
    stage: Stage,
}

#[derive(Clone, Debug)]
enum Stage {
    Draining,
    Drained {
        /// Nothing above it is closed by this replica itself.
        barrier: Timestamp,
        /// Who goes on has begun, and needs to hear no more.
        begun: BTreeSet<ReplicaId>,
        again_at: Option<Instant>,
    },
}

impl Replica {
    /// Nothing new is let in once the shard is to end.
    pub(super) fn check_division(&self, proposal: &Proposal) -> Result<(), Objection> {
        match self.is_ending() {
            true => Err(Objection::Busy { with: proposal.id }),
            false => Ok(()),
        }
    }

    pub(super) fn is_ending(&self) -> bool {
        self.division.is_some() && self.settings.broken != Broken::AcceptWhileEnding
    }

    /// Up to where it may close, once it is drained.
    pub(super) fn drained_at(&self) -> Option<Timestamp> {
        match self.division.as_ref()?.stage {
            Stage::Draining => None,
            Stage::Drained { barrier, .. } => Some(barrier),
        }
    }

    /// A commit may have said how the shard ends.
    pub(super) fn note_split(&mut self, logged: &Logged) {
        let table = configurations_table();
        let mut own = logged.commit.writes.iter().filter(|write| write.cell.table == table).filter_map(written_split);
        self.chosen_split = own.find(|split| split.parent() == self.group()).or(self.chosen_split.take());
    }

    /// The rows came from elsewhere: they may say it.
    pub(super) fn look_for_split(&mut self) {
        let cell = configuration_cell(self.group().shard);
        let row = self.versions.row(cell.table, &cell.row);
        let split = row.and_then(|row| row.latest().cell(cell.column)).and_then(said_split);
        self.chosen_split = split.filter(|split| split.parent() == self.group());
    }

    pub(super) fn press_division(&mut self, now: Now) {
        if let Some(split) = self.chosen_split.take().filter(|_| self.division.is_none()) {
            self.persist(&JournalRecord::Split(split.clone()));
            self.divide(split);
        }
        if matches!(&self.division, Some(Division { stage: Stage::Draining, .. })) && self.has_drained() {
            self.raise_barrier(self.complete());
            let barrier = self.ceiling;
            self.persist(&JournalRecord::Drained(barrier));
            self.replay_drained(barrier);
        }
        self.tell_drained(now);
    }

    fn has_drained(&mut self) -> bool {
        if self.settings.broken == Broken::EndUndrained {
            return true;
        }
        if !self.standing.is_normal() || !self.is_member() || self.prepared.ids().next().is_some() {
            return false;
        }
        if self.is_alone() {
            self.raise_barrier(self.highest());
        }
        self.versions.last_commit().is_none_or(|last| last <= self.complete())
    }

    pub(super) fn divide(&mut self, split: Split) {
        self.division.get_or_insert(Division { split, stage: Stage::Draining });
    }

    /// How the shard ends, once that is chosen.
    pub(super) fn division_split(&self) -> Option<&Split> {
        self.division.as_ref().map(|division| &division.split)
    }

    /// Replicas of its parts of which it was told that they have begun.
    pub(super) fn begun_parts(&self) -> Vec<ReplicaId> {
        match self.division.as_ref().map(|division| &division.stage) {
            Some(Stage::Drained { begun, .. }) => begun.iter().copied().collect(),
            Some(Stage::Draining) | None => Vec::new(),
        }
    }

    pub(super) fn replay_drained(&mut self, barrier: Timestamp) {
        if let Some(division) = &mut self.division {
            let again_at = Some(Instant::default());
            division.stage = Stage::Drained { barrier, begun: BTreeSet::new(), again_at };
        }
    }

    pub(super) fn division_records(&self) -> Vec<JournalRecord> {
        let Some(Division { split, .. }) = &self.division else { return Vec::new() };
        let drained = self.drained_at().map(JournalRecord::Drained);
        [JournalRecord::Split(split.clone())].into_iter().chain(drained).collect()
    }

    pub(super) fn division_deadline(&self) -> Option<Instant> {
        match self.division.as_ref()?.stage {
            Stage::Draining => None,
            Stage::Drained { again_at, .. } => again_at,
        }
    }

    fn tell_drained(&mut self, now: Now) {
        let Some(Division { split, stage: Stage::Drained { barrier, begun, again_at } }) = &mut self.division else {
            return;
        };
        if again_at.is_none_or(|at| at > now.instant) {
            return;
        }
        let all = split.lower().members().iter().chain(split.upper().members());
        let waiting: Vec<ReplicaId> = all.copied().filter(|replica| !begun.contains(replica)).collect();
        *again_at = (!waiting.is_empty()).then(|| now.instant + DRAINED_AGAIN_AFTER);
        let barrier = *barrier;
        let drained = Drained { complete: self.complete(), barrier, terms: self.terms_in_order() };
        for replica in waiting {
            self.tell(replica, Peer::Drained(drained.clone()));
        }
    }

    pub(super) fn is_successor(&self, replica: ReplicaId) -> bool {
        let split = self.division.as_ref().map(|division| &division.split);
        split.is_some_and(|split| split.lower().contains(replica) || split.upper().contains(replica))
    }

    pub(super) fn on_successor_begun(&mut self, from: ReplicaId) {
        if let Some(Division { stage: Stage::Drained { begun, .. }, .. }) = &mut self.division {
            begun.insert(from);
        }
    }

    /// What everybody is told, once those that go on can answer. Until then this shard is closed, so that others drain: one that is drained may be lost.
    pub(super) fn ended(&self) -> Option<Answer> {
        let Division { split, stage: Stage::Drained { begun, .. } } = self.division.as_ref()? else { return None };
        let can_answer = |part: &Group| {
            let there = part.members().iter().filter(|replica| begun.contains(replica));
            there.count() >= Quorums::of(part).majority()
        };
        (can_answer(split.lower()) && can_answer(split.upper())).then(|| Answer::Ended(split.clone()))
    }
}
