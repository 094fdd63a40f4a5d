//! Validation of a proposal: the strict rule.
//!
//! Invariant: the order in which proposals are accepted is a serial order of the whole history, and timestamps agree with it wherever two
//! transactions do not commute. So the history is strictly serializable, whatever the clocks do.
//! Source: the rule that passed enumeration where the published one (TAPIR, TOCS 2018, Figure 9) failed; docs/protocols/replica.md.

use iolite_machine::Now;
use iolite_store::{Refusal, TooOld};
use iolite_values::{Commutativity, Timestamp, Transaction, Write, writes_commute};

use super::Replica;
use super::lists::Place;
use super::record::encode;
use crate::broken::Broken;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may be decided, by this record.
    Accept(Vec<u8>),
    Retry {
        above: Timestamp,
    },
    Conflict {
        at_least: Timestamp,
    },
    Refuse(Refusal),
}

impl Replica {
    pub(super) fn validate_proposal(&self, now: Now, transaction: &Transaction, at: Timestamp) -> Verdict {
        if let Err(refusal) = self.check_sense(now, transaction, at) {
            return Verdict::Refuse(refusal);
        }
        if let Some(at_least) = self.conflict_of_reads(transaction) {
            return Verdict::Conflict { at_least };
        }
        match self.retry_above(transaction, at) {
            Place::Free => {}
            Place::Above(above) => return Verdict::Retry { above },
            Place::Nowhere { at_least } => return Verdict::Conflict { at_least },
        }
        let fits = self.check_types(transaction.writes()).and_then(|()| self.check_rows(transaction.writes()));
        match fits.and_then(|()| encode(transaction, at)) {
            Ok(record) => Verdict::Accept(record),
            Err(refusal) => Verdict::Refuse(refusal),
        }
    }

    fn check_sense(&self, now: Now, transaction: &Transaction, at: Timestamp) -> Result<(), Refusal> {
        if !transaction.reads.is_empty() {
            self.check_resolved(transaction.snapshot)?;
        }
        let limit = self.proposal_limit(now);
        if at > limit { Err(Refusal::TooFarAhead { asked: at, limit }) } else { Ok(()) }
    }

    /// The last commit that changed something that was read, after it was read.
    fn conflict_of_reads(&self, transaction: &Transaction) -> Option<Timestamp> {
        if self.settings.broken == Broken::SkipReadValidation {
            return None;
        }
        let changes = transaction.reads.iter().map(|read| {
            match self.versions.last_change_of(read, transaction.snapshot) {
                Ok(change) => change,
                // Nobody can tell any more: run again on a snapshot of which it can be told.
                Err(TooOld { low_watermark: _ }) => Some(self.barrier),
            }
        });
        changes.max().flatten()
    }

    /// Whether `at` is free for this transaction, and if not, above what another timestamp has to be.
    fn retry_above(&self, transaction: &Transaction, at: Timestamp) -> Place {
        let floor = self.reads_through.max(match self.settings.broken {
            Broken::PublishPastResolved => self.versions.low_watermark(),
            Broken::Nothing | Broken::SkipReadValidation | Broken::NoCompletionRecords | Broken::AcceptBelowWrites => {
                self.barrier
            }
        });
        let mut place = if at <= floor { Place::Above(floor) } else { Place::Free };
        if self.versions.has_commit_at(at) {
            place = place.max(Place::Above(at));
        }
        if self.settings.broken != Broken::AcceptBelowWrites {
            place = place.max(self.place_among_writes(transaction.writes(), at));
        }
        place.max(self.place_in_lists(transaction.writes(), at))
    }

    /// Above the commits that these writes do not commute with.
    fn place_among_writes(&self, writes: &[Write], at: Timestamp) -> Place {
        let conflicts = writes.iter().filter_map(|write| {
            let row = self.versions.row(write.cell.table, &write.cell.row)?;
            let mut newest_first = row.history_above(at).rev();
            newest_first
                .find(|version| writes_commute(write, version.write()) == Commutativity::Conflict)
                .map(|version| Place::Above(version.at))
        });
        conflicts.max().unwrap_or(Place::Free)
    }
}
