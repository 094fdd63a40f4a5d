//! Close: nothing new is voted OK at or below a timestamp any more; and what committed there, or may yet.
//!
//! Invariants: the barrier is raised before the answer is made; what it says to be complete stays so after a crash, for others forget by it; an answer names every OK without outcome at or below what it closes, and every commit; it is bounded,
//! however long something stays undecided.
//! Source: Iolite's own (docs/protocols/feed.md).

use std::sync::Arc;

use iolite_machine::{Now, PersistId};
use iolite_store::{Commit, TooOld};
use iolite_values::Timestamp;

use super::Replica;
use crate::ir::Entry;
use crate::journal::commit_bytes;
use crate::node::{Answer, Closed, Detail, Outcome, Proposal, ProposalId, ShardId, Undecided};
use crate::versions::Logged;

/// One answer carries about this much, so that a coordinator that was away for long does not get everything at once. A proposal that is only named counts as a write.
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

    /// A proposal that did not commit, or not yet.
    fn add_named(&mut self, participants: &[ShardId]) {
        self.writes += 1;
        self.bytes += size_of::<ProposalId>() + size_of_val(participants);
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

    /// What is known of (cursor, end], or its beginning if that is much. The timestamp of anything that is told, up to the barrier, is a place to pause.
    fn stretch(&self, cursor: Timestamp, end: Timestamp, detail: Detail) -> Result<Closed, TooOld> {
        let mut logged = self.versions.logged(cursor, end)?.peekable();
        let mut open = self
            .record
            .between(cursor, end)
            .filter(|(_, entry)| is_aborted(entry) || undecided(entry).is_some())
            .peekable();
        let mut closed = Closed {
            through: end.max(cursor),
            barrier: self.closed(),
            latest: self.versions.last_commit().unwrap_or_default(),
            complete: self.complete(),
            undecided: Vec::new(),
            aborted: Vec::new(),
            committed: Vec::new(),
            given_up: Vec::new(),
            commits: Vec::new(),
        };
        let (mut filled, mut last) = (Filled::default(), cursor);
        let next = |logged: Option<&&Logged>, open: Option<&(ProposalId, &Entry)>| {
            let both = [logged.map(|logged| logged.commit.at), open.map(|(id, _)| id.at)];
            both.into_iter().flatten().min()
        };
        while let Some(at) = next(logged.peek(), open.peek()) {
            if filled.is_enough() {
                closed.through = last;
                break;
            }
            last = at;
            while let Some(logged) = logged.next_if(|logged| logged.commit.at == at) {
                filled.add(&logged.commit);
                tell_logged(&mut closed, logged, detail);
            }
            while let Some((id, entry)) = open.next_if(|(id, _)| id.at == at) {
                filled.add_named(entry.proposal.as_ref().map_or(&[][..], |proposal| &proposal.participants));
                tell_open(&mut closed, id, entry);
            }
        }
        Ok(closed)
    }
}

fn tell_logged(closed: &mut Closed, logged: &Logged, detail: Detail) {
    let Commit { at, transaction, writes: _ } = logged.commit;
    let id = ProposalId { at, transaction, attempt: logged.attempt };
    if logged.is_abort {
        return closed.given_up.push(id);
    }
    closed.committed.push(id);
    if detail != Detail::Names {
        closed.commits.push(logged.commit.clone());
    }
}

fn is_aborted(entry: &Entry) -> bool {
    entry.outcome == Some(Outcome::Aborted)
}

fn undecided(entry: &Entry) -> Option<&Arc<Proposal>> {
    entry.proposal.as_ref().filter(|_| entry.is_prepared())
}

/// What is undecided, or aborted.
fn tell_open(closed: &mut Closed, id: ProposalId, entry: &Entry) {
    match undecided(entry) {
        Some(own) => closed.undecided.push(Undecided { id, participants: own.participants.clone() }),
        None => closed.aborted.push(id),
    }
}
