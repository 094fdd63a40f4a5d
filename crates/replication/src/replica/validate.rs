//! Validation of a proposal: the strict rule.
//!
//! Invariants: of two proposals that conflict, at most one is prepared at a time; timestamps agree with the order of acceptance wherever two
//! transactions do not commute. As any two proposals meet at a replica of every majority, the history is strictly serializable, whatever the clocks do.
//! Source: the rule that passed enumeration where the published one (TAPIR, TOCS 2018, Figure 9) failed; docs/protocols/replica.md.

use std::sync::Arc;

use iolite_machine::Now;
use iolite_store::{Refusal, TooOld};
use iolite_values::{Level, Read, Timestamp, Write, disturbs};

use super::Replica;
use super::clients::Known;
use super::lists::Place;
use crate::broken::Broken;
use crate::node::{Objection, Proposal};
use crate::scans::Scans;
use crate::tapir::{are_in_order, conflict, conflict_as_figure_9};

/// So often what was written since a transaction's snapshot is compared with the ranges and queries that it read. Then it runs again, on a later snapshot.
pub const VALIDATION_LOOKS_MAX: usize = 1 << 21;

impl Replica {
    /// Whether this replica votes OK, if its record can be written down.
    pub(super) fn validate_proposal(&self, now: Now, proposal: &Proposal) -> Result<(), Objection> {
        self.check_transaction(proposal)?;
        self.check_division(proposal)?;
        self.check_configuration(proposal)?;
        self.check_sense(now, proposal).map_err(Objection::Refused)?;
        self.check_rows_are_here(proposal).map_err(Objection::Refused)?;
        if let Some(at_least) = self.conflict_with_commits(proposal) {
            return Err(Objection::Conflict { at_least });
        }
        if let Some(other) = self.prepared.touching(proposal).find(|other| self.is_in_the_way(proposal, other)) {
            return Err(Objection::Busy { with: other.id });
        }
        self.check_place(proposal, self.floor())?;
        self.check_types(proposal.writes()).map_err(Objection::Refused)?;
        self.check_rows(proposal)
    }

    /// Exactly-once: what this shard knows of the transaction, if it keeps its outcome.
    fn check_transaction(&self, proposal: &Proposal) -> Result<(), Objection> {
        if !proposal.is_home {
            return Ok(());
        }
        let (id, attempt) = (proposal.id.transaction, proposal.id.attempt);
        match self.clients.known(id) {
            Known::Completed(completion) => Err(Objection::Completed(completion)),
            Known::Forgotten => Err(Objection::Forgotten),
            Known::Nothing => match self.attempts.overtaken(id, attempt) {
                Some(at_least) => Err(Objection::Conflict { at_least }),
                None => Ok(()),
            },
        }
    }

    fn check_sense(&self, now: Now, proposal: &Proposal) -> Result<(), Refusal> {
        let (at, limit) = (proposal.id.at, self.proposal_limit(now));
        if self.is_alone() && rests_on_its_snapshot(proposal) && proposal.snapshot > self.barrier {
            return Err(Refusal::NotResolved { asked: proposal.snapshot, resolved: self.barrier });
        }
        if at > limit { Err(Refusal::TooFarAhead { asked: at, limit }) } else { Ok(()) }
    }

    /// The last commit since its snapshot that it cannot stand above.
    pub(super) fn conflict_with_commits(&self, proposal: &Proposal) -> Option<Timestamp> {
        self.conflict_of_reads(proposal).max(self.conflict_of_writes(proposal))
    }

    /// At the level of a snapshot, the first to commit wins: the last commit since it that does not commute with what is written.
    fn conflict_of_writes(&self, proposal: &Proposal) -> Option<Timestamp> {
        let is_guarded = proposal.level.guards_writes() && self.settings.broken != Broken::SecondCommitterWins;
        if !is_guarded || !rests_on_its_snapshot(proposal) {
            return None;
        }
        let low_watermark = self.versions.low_watermark();
        if proposal.snapshot < low_watermark {
            return Some(low_watermark.max(self.complete()));
        }
        proposal.writes().iter().filter_map(|write| self.last_in_order(proposal.level, write, proposal.snapshot)).max()
    }

    /// The last commit that changed something that was read, after it was read: at all or, for what may have read a past, below its timestamp.
    fn conflict_of_reads(&self, proposal: &Proposal) -> Option<Timestamp> {
        let end = match proposal.level {
            Level::Strict | Level::Snapshot | Level::ReadCommitted => Timestamp::MAX,
            Level::Serializable => proposal.id.at,
        };
        self.last_change(&proposal.reads, proposal.snapshot, end)
    }

    /// The same of any reads, below `end`.
    pub(super) fn last_change(&self, reads: &[Read], snapshot: Timestamp, end: Timestamp) -> Option<Timestamp> {
        if self.settings.broken == Broken::SkipReadValidation {
            return None;
        }
        let watched = || reads.iter().filter(|read| self.watches(read));
        let of_rows = watched().map(|read| self.versions.last_change_of(read, snapshot, end));
        let scans = Scans::of(watched());
        let of_scans = (!scans.is_empty())
            .then(|| self.versions.last_change_of_scans(&scans, snapshot, end, VALIDATION_LOOKS_MAX));
        let changes = of_rows.chain(of_scans).map(|change| match change {
            Ok(change) => change,
            // Nobody can tell any more: run again on a snapshot of which it can be told.
            Err(TooOld { low_watermark }) => Some(low_watermark.max(self.complete())),
        });
        changes.max().flatten()
    }

    fn watches(&self, read: &Read) -> bool {
        self.settings.broken != Broken::LetRowsIn || !matches!(read, Read::Query(_))
    }

    fn is_in_the_way(&self, proposal: &Proposal, other: &Proposal) -> bool {
        if self.settings.broken == Broken::LetRowsIn {
            return conflict(&without_queries(proposal), &without_queries(other));
        }
        if self.settings.broken == Broken::AcceptAboveReaders && other.id.at < proposal.id.at {
            return conflict(proposal, &Proposal { reads: Vec::new(), ..other.clone() });
        }
        if self.settings.broken == Broken::ValidateAsFigure9 {
            return conflict_as_figure_9(proposal, other);
        }
        conflict(proposal, other)
    }

    fn floor(&self) -> Timestamp {
        self.reads_through.max(match self.settings.broken {
            Broken::PublishPastResolved => self.versions.low_watermark(),
            Broken::Nothing
            | Broken::SkipReadValidation
            | Broken::LetRowsIn
            | Broken::SecondCommitterWins
            | Broken::NoCompletionRecords
            | Broken::AcceptBelowWrites
            | Broken::ValidateAsFigure9
            | Broken::FinaliseWithoutView
            | Broken::AcceptAboveReaders
            | Broken::FastAsPublished
            | Broken::MergeAsFigure5
            | Broken::ValidateWithoutPrepared
            | Broken::AnswerForTransaction
            | Broken::BeginFromFewer
            | Broken::LeaveUnsealed
            | Broken::EndUndrained
            | Broken::AcceptWhileEnding
            | Broken::TakePartBehind => self.barrier,
        })
    }

    /// Whether its timestamp is free for it, above `floor` and all that it has to come after.
    pub(super) fn check_place(&self, proposal: &Proposal, floor: Timestamp) -> Result<(), Objection> {
        let at = proposal.id.at;
        let mut place = if at <= floor { Place::Above(floor) } else { Place::Free };
        if proposal.level == Level::Serializable && at <= proposal.snapshot {
            place = place.max(Place::Above(proposal.snapshot));
        }
        if self.versions.has_commit_at(at) {
            place = place.max(Place::Above(at));
        }
        if self.settings.broken != Broken::AcceptBelowWrites {
            place = place.max(self.place_among_writes(proposal));
        }
        if self.settings.broken != Broken::ValidateAsFigure9 {
            place = place.max(self.place_among_readers(proposal));
        }
        place = place.max(self.place_in_lists(proposal.writes(), at)).max(self.place_in_lives(proposal.writes()));
        match place {
            Place::Free => Ok(()),
            Place::Above(above) => Err(Objection::Retry { above }),
            Place::Nowhere { at_least } => Err(Objection::Conflict { at_least }),
        }
    }

    /// Above the commits that these writes do not commute with.
    fn place_among_writes(&self, proposal: &Proposal) -> Place {
        let conflicts = proposal.writes().iter();
        let last = conflicts.filter_map(|write| self.last_in_order(proposal.level, write, proposal.id.at)).max();
        last.map_or(Place::Free, Place::Above)
    }

    /// The last commit above `after` that a write at this level has to stand above.
    fn last_in_order(&self, level: Level, write: &Write, after: Timestamp) -> Option<Timestamp> {
        let row = self.versions.row(write.cell.table, &write.cell.row)?;
        let mut newest_first = row.history_above(after).rev();
        let level_at = |at| match level {
            Level::ReadCommitted => self.versions.logged_at(at).map_or(Level::Strict, |logged| logged.level),
            // It stands above what does not commute with it at whatever level.
            Level::Strict | Level::Serializable | Level::Snapshot => Level::Strict,
        };
        newest_first
            .find(|version| are_in_order((level, write), (level_at(version.at), version.write())))
            .map(|version| version.at)
    }

    /// Above the commits that read what this writes.
    fn place_among_readers(&self, proposal: &Proposal) -> Place {
        let disturbs = |reader: &&Arc<Proposal>| {
            let later = reader.id.at > proposal.id.at;
            later && reader.reads.iter().any(|read| disturbs(proposal.writes(), read))
        };
        let readers = self.readers.touching(proposal).filter(disturbs).map(|reader| Place::Above(reader.id.at));
        readers.max().unwrap_or(Place::Free)
    }
}

/// Whether it can be told only with the history since its snapshot whether it may commit.
fn rests_on_its_snapshot(proposal: &Proposal) -> bool {
    !proposal.reads.is_empty() || (proposal.level.guards_writes() && !proposal.writes().is_empty())
}

fn without_queries(proposal: &Proposal) -> Proposal {
    let reads = proposal.reads.iter().filter(|read| !matches!(read, Read::Query(_))).cloned().collect();
    Proposal { reads, ..proposal.clone() }
}
