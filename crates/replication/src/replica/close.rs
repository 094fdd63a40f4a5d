//! Close: nothing new is voted OK at or below a timestamp any more; and what committed there, or may yet.
//!
//! Invariants: the barrier is raised before the answer is made; what it says to be complete stays so after a crash, for others forget by it; an answer names every OK without outcome at or below what it closes, and every commit.
//! Source: Iolite's own (docs/protocols/feed.md).

use std::sync::Arc;

use iolite_machine::{Now, PersistId};
use iolite_store::{Commit, TooOld};
use iolite_values::Timestamp;

use super::Replica;
use crate::journal::{JournalRecord, commit_bytes};
use crate::node::{Answer, Closed, ClosedList, Detail, Outcome, ProposalId, Undecided, View};

/// One answer carries about this much, so that a coordinator that was away for long does not get everything at once.
pub const CLOSED_WRITES_MAX: usize = 4096;

/// And about so many bytes: with one commit more, it fits into a message.
pub const ANSWER_BYTES_MAX: usize = 8 << 20;

/// How much of the log an answer tells so far.
#[derive(Default)]
pub(super) struct Filled {
    writes: usize,
    bytes: usize,
}

impl Filled {
    pub fn add(&mut self, commit: &Commit) {
        self.writes += commit.writes.len().max(1);
        self.bytes += commit_bytes(commit);
    }

    pub fn is_enough(&self) -> bool {
        self.writes >= CLOSED_WRITES_MAX || self.bytes >= ANSWER_BYTES_MAX
    }
}

impl Replica {
    pub(super) fn on_close(
        &mut self,
        now: Now,
        through: Timestamp,
        cursor: Timestamp,
        detail: Detail,
    ) -> (PersistId, Answer) {
        self.raise_barrier(through.min(self.limit(now)));
        (self.barrier_after.max(self.complete_after), Answer::Closed(self.stretch(cursor, self.closed(), detail)))
    }

    /// What is known of (cursor, end], or its beginning if that is much. Any commit's timestamp up to the barrier is a place to pause.
    fn stretch(&self, cursor: Timestamp, end: Timestamp, detail: Detail) -> Result<Closed, TooOld> {
        let mut commits: Vec<Commit> = Vec::new();
        let (mut committed, mut given_up) = (Vec::new(), Vec::new());
        let mut last = cursor;
        let mut filled = Filled::default();
        let mut through = end.max(cursor);
        for logged in self.versions.logged(cursor, end)? {
            if filled.is_enough() {
                through = last;
                break;
            }
            filled.add(&logged.commit);
            let Commit { at, transaction, writes: _ } = logged.commit;
            last = at;
            let id = ProposalId { at, transaction, attempt: logged.attempt };
            if logged.is_abort {
                given_up.push(id);
                continue;
            }
            committed.push(id);
            if detail != Detail::Names {
                commits.push(logged.commit.clone());
            }
        }
        let aborted = self
            .record
            .through(through)
            .filter(|(id, entry)| id.at > cursor && entry.outcome == Some(Outcome::Aborted));
        Ok(Closed {
            through,
            barrier: self.closed(),
            latest: self.versions.last_commit().unwrap_or_default(),
            complete: self.complete(),
            undecided: self.undecided(cursor, through),
            aborted: aborted.map(|(id, _)| id).collect(),
            committed,
            given_up,
            commits,
        })
    }

    /// What is prepared in (cursor, through].
    fn undecided(&self, cursor: Timestamp, through: Timestamp) -> Vec<Undecided> {
        let prepared = self.prepared.iter().take_while(|proposal| proposal.id.at <= through);
        let undecided = prepared.filter(|proposal| proposal.id.at > cursor);
        undecided.map(|own| Undecided { id: own.id, participants: own.participants.clone() }).collect()
    }

    pub(super) fn on_close_list(
        &mut self,
        view: View,
        through: Timestamp,
        may_commit: &Arc<[ProposalId]>,
    ) -> (PersistId, Answer) {
        if view != self.standing.view() || through > self.closes_to() {
            // The answer tells the view: who asks may hear of it from nobody else.
            return (PersistId::START, Answer::Unknown);
        }
        let list = ClosedList { through, may_commit: may_commit.to_vec() };
        if through > self.complete() && !self.closed_lists.contains(&list) {
            self.raise_barrier(through);
            self.persist(&JournalRecord::ClosedList(list.clone()));
            self.closed_lists.push(list);
        }
        (self.persisted, Answer::Listed)
    }
}
