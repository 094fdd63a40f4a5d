//! Copies of the store: completion records are read like rows, and the history behind a copy's timestamp is kept meanwhile.
//!
//! Invariant: while a copy is held, and as long as history is not far too much, everything at its timestamp can be read.
//! Nobody but who copies a store reads completion records of more than one client, so that is how a replica knows: each such read holds its timestamp for a
//! while, and a copy that takes longer says so again. What is held is kept in memory only: after a restart the next read holds it again.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_machine::{Instant, Now, PersistId};
use iolite_store::{ReadLimit, ReadReply, TooOld};
use iolite_values::{Direction, KeyRange, Timestamp};

use super::Replica;
use crate::completions::is_of_one_client;
use crate::node::{Answer, Piece};

/// A copy that is not heard of for this long is over.
pub const COPY_HELD_FOR: Duration = Duration::from_secs(60);

/// So many copies are held at a time; another one is not.
pub const COPIES_MAX: usize = 8;

/// With so many times the operations in history that are kept without a copy, nothing is held: the copy fails, and the replica goes on.
pub const COPY_HISTORY_MAX: usize = 4;

/// The timestamps of copies that are under way, and until when each is held.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies(BTreeMap<Timestamp, Instant>);

impl Copies {
    fn hold(&mut self, now: Instant, at: Timestamp) {
        self.0.retain(|_, until| *until > now);
        if self.0.len() < COPIES_MAX || self.0.contains_key(&at) {
            self.0.insert(at, now + COPY_HELD_FOR);
        }
    }

    fn oldest(&self, now: Instant) -> Option<Timestamp> {
        self.0.iter().find(|(_, until)| **until > now).map(|(at, _)| *at)
    }
}

impl Replica {
    pub(super) fn on_read_completions(
        &mut self,
        now: Now,
        range: &KeyRange,
        at: Timestamp,
        limit: ReadLimit,
    ) -> (PersistId, Answer) {
        if !is_of_one_client(range) {
            self.copies.hold(now.instant, at);
        }
        let answer = self.incomplete(at).unwrap_or_else(|| {
            let read = self.read_completions(range, at, limit);
            self.waiting_reads.note_rows(read.as_ref().map_or(0, |piece| piece.reply.rows.len()));
            Answer::Read(read)
        });
        // What was acknowledged may still be on its way into the journal.
        (self.persisted, answer)
    }

    fn read_completions(&self, range: &KeyRange, at: Timestamp, limit: ReadLimit) -> Result<Piece, TooOld> {
        let low_watermark = self.versions.low_watermark();
        if at < low_watermark {
            return Err(TooOld { low_watermark });
        }
        let rows = self.clients.rows_at(range, at);
        let reply = match limit.direction {
            Direction::Ascending => ReadReply::through_limit(at, rows, limit),
            Direction::Descending => ReadReply::through_limit(at, rows.collect::<Vec<_>>().into_iter().rev(), limit),
        };
        Ok(reply.into())
    }

    /// The end of what may be collected. What is not here yet is not old.
    pub(super) fn collected_through(&self, now: Now) -> Timestamp {
        let settled = self.settled.min(self.complete());
        let held = self.copies.oldest(now.instant);
        let operations_max = self.settings.retention.operations_max.saturating_mul(COPY_HISTORY_MAX);
        let held = held.filter(|_| self.versions.history_operations() <= operations_max);
        held.map_or(settled, |at| settled.min(at))
    }
}
