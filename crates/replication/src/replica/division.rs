//! The end of a shard: it lets nothing new in, and when nothing is open any more, others go on with its rows.
//!
//! Invariants:
//! - a replica that knows how the shard ends takes part in *last* views only: those whose leader knew it too when it merged. Who takes part in one knows it
//!   by the master record, and lets nothing new in, so what may commit is what the master record accepts;
//! - in a last view nothing is closed above what its master record closed, and that is at or above all that it accepts. A last view that follows another
//!   one closes no further;
//! - a replica is drained when it takes part in a last view and is complete as far as that. When those of a majority are drained in one view, each of them
//!   has all that ever commits here: every later view begins from the record of one of them.
//!
//! Source: Iolite's own, docs/decisions/0010-a-shard-ends-drained.md.

use std::collections::BTreeSet;
use std::time::Duration;

use iolite_machine::{Instant, Now};
use iolite_values::Timestamp;

use super::Replica;
use crate::broken::Broken;
use crate::configuration::{configuration_cell, configurations_table, said_split, written_split};
use crate::ir::Quorums;
use crate::journal::JournalRecord;
use crate::node::{Answer, Drained, Group, Objection, Peer, Proposal, RecordPart, ReplicaId, Split};
use crate::versions::Logged;

/// Those that go on with the rows are told again after this long.
pub const DRAINED_AGAIN_AFTER: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(super) struct Division {
    split: Split,
    /// How far the shard is closed in the view of this replica's record, if that is a last one.
    last_view: Option<Timestamp>,
    /// Who goes on has begun, and needs to hear no more.
    begun: BTreeSet<ReplicaId>,
    /// When those that go on are told again. Never, when all have begun.
    again_at: Option<Instant>,
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

    /// How far it is closed, for good, once it is drained.
    pub(super) fn drained_at(&self) -> Option<Timestamp> {
        let barrier = self.division.as_ref()?.last_view.filter(|_| self.standing.is_normal())?;
        let is_drained = self.complete() >= barrier || self.settings.broken == Broken::EndUndrained;
        is_drained.then_some(barrier)
    }

    /// How far it may close.
    pub(super) fn closes_to(&self) -> Timestamp {
        self.division.as_ref().and_then(|division| division.last_view).unwrap_or(Timestamp::MAX)
    }

    /// How far it has closed. What it closed further by itself, in an earlier view, nobody counts on.
    pub(super) fn closed(&self) -> Timestamp {
        self.barrier.min(self.closes_to())
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

    pub(super) fn known_split(&self) -> Option<&Split> {
        self.division_split().or(self.chosen_split.as_ref())
    }

    /// The replica goes on from this master record.
    pub(super) fn note_last_view(&mut self, master: &RecordPart) {
        if let Some(split) = &master.split {
            self.divide(split.clone());
        }
        if let Some(division) = &mut self.division {
            division.last_view = master.split.as_ref().map(|_| master.barrier);
            division.again_at = Some(Instant::default());
        }
    }

    /// How the shard ends, if the view of the record is a last one.
    pub(super) fn last_view_split(&self) -> Option<Split> {
        let division = self.division.as_ref()?;
        division.last_view.map(|_| division.split.clone())
    }

    pub(super) fn press_division(&mut self, now: Now) {
        if let Some(split) = self.chosen_split.take().filter(|_| self.division.is_none()) {
            self.persist(&JournalRecord::Split(split.clone()));
            self.divide(split);
        }
        if self.lacks_a_last_view() {
            self.leave_for_a_last_view(now);
        }
        self.tell_drained(now);
    }

    /// Others of its view may let something in.
    pub(super) fn lacks_a_last_view(&self) -> bool {
        let lacks = self.division.as_ref().is_some_and(|division| division.last_view.is_none());
        lacks && self.standing.is_normal() && self.is_member()
    }

    /// Whoever leads the next view learns of the split from this replica's record, or is this replica at last.
    fn leave_for_a_last_view(&mut self, now: Now) {
        if self.is_alone() {
            self.record_what_was_decided_alone();
        }
        self.join(now, self.standing.view().next());
    }

    pub(super) fn divide(&mut self, split: Split) {
        let (last_view, begun, again_at) = (None, BTreeSet::new(), None);
        self.division.get_or_insert(Division { split, last_view, begun, again_at });
    }

    /// How the shard ends, once that is chosen.
    pub(super) fn division_split(&self) -> Option<&Split> {
        self.division.as_ref().map(|division| &division.split)
    }

    /// Replicas of its parts of which it was told that they have begun.
    pub(super) fn begun_parts(&self) -> Vec<ReplicaId> {
        self.division.iter().flat_map(|division| &division.begun).copied().collect()
    }

    pub(super) fn division_records(&self) -> Vec<JournalRecord> {
        self.division_split().cloned().map(JournalRecord::Split).into_iter().collect()
    }

    pub(super) fn division_deadline(&self) -> Option<Instant> {
        self.drained_at()?;
        self.division.as_ref()?.again_at
    }

    fn tell_drained(&mut self, now: Now) {
        let (Some(barrier), Some(division)) = (self.drained_at(), &mut self.division) else { return };
        if division.again_at.is_none_or(|at| at > now.instant) {
            return;
        }
        let all = division.split.lower().members().iter().chain(division.split.upper().members());
        let waiting: Vec<ReplicaId> = all.copied().filter(|replica| !division.begun.contains(replica)).collect();
        division.again_at = (!waiting.is_empty()).then(|| now.instant + DRAINED_AGAIN_AFTER);
        let (view, complete, terms) = (self.standing.view(), self.complete(), self.terms_in_order());
        // The others of the group as well: what was settled last may not have reached them, and nothing comes after it.
        let others = if waiting.is_empty() { Vec::new() } else { self.others() };
        for replica in waiting.into_iter().chain(others) {
            self.tell(replica, Peer::Drained(Drained { view, complete, barrier, terms: terms.clone() }));
        }
    }

    pub(super) fn is_successor(&self, replica: ReplicaId) -> bool {
        let split = self.division.as_ref().map(|division| &division.split);
        split.is_some_and(|split| split.lower().contains(replica) || split.upper().contains(replica))
    }

    pub(super) fn on_successor_begun(&mut self, from: ReplicaId) {
        if let Some(division) = &mut self.division {
            division.begun.insert(from);
        }
    }

    /// What everybody is told, once those that go on can answer. Until then this shard is closed, so that others drain: one that is drained may be lost.
    pub(super) fn ended(&self) -> Option<Answer> {
        let Division { split, begun, .. } = self.division.as_ref()?;
        let can_answer = |part: &Group| {
            let there = part.members().iter().filter(|replica| begun.contains(replica));
            there.count() >= Quorums::of(part).majority()
        };
        (can_answer(split.lower()) && can_answer(split.upper())).then(|| Answer::Ended(split.clone()))
    }
}
