//! Commits that append to the outbox.
//!
//! Invariants: a commit is repeated only because its page was turned or made meanwhile, with the same effects under the same id. So the store decides each
//! once, and whoever asked hears of no repetition. What a commit was judged by is unchanged since then through the snapshot that it is given to the store
//! with: the feed tells of changes before that, and the store validates the rest. If it has changed, whoever asked is told a conflict, and judges again.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use iolite_store::{Commit, CommitReply, Completion, Refusal, Reply, Request};
use iolite_values::{Attempt, ColumnId, Decision, Level, Read, Timestamp, Transaction, TransactionId, Write};
use iolite_wire::centres::{OutboxEntry, Place};
use iolite_wire::limits::OUTBOX_ENTRY;

use crate::limits::TIMES_MAX;
use crate::tail::{Ahead, Tail};

/// Open commits, by who asked. `A` is unique among those that are open.
#[derive(Clone, Debug)]
pub struct Commits<A> {
    open: BTreeMap<A, Open>,
    /// The last entries, with their times.
    counts: VecDeque<(Timestamp, Place)>,
}

#[derive(Clone, Debug)]
struct Open {
    transaction: TransactionId,
    /// The attempt that was asked for.
    asked: Attempt,
    attempt: Attempt,
    effects: Vec<Write>,
    /// The bytes of the entry.
    entry: Vec<u8>,
    floor: Timestamp,
    within: Option<Duration>,
    judged: Judged,
    /// When something changed by which it was judged.
    changed: Option<Timestamp>,
    state: State,
}

/// The reads by which a gateway has judged a transaction, and as of when. None: nobody judged it, or by nothing that changes.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    pub reads: Vec<Read>,
    pub at: Timestamp,
}

impl Judged {
    /// When a commit is later and changes something of what was read, perhaps. Whether a row is there changes all of its cells.
    fn changed_by(&self, commit: &Commit) -> Option<Timestamp> {
        let is_of = |read: &Read, write: &Write| match read {
            Read::Cell { cell, element: _ } => {
                let is_same_row = (cell.table, &cell.row) == (write.cell.table, &write.cell.row);
                is_same_row && [cell.column, ColumnId::ROW].contains(&write.cell.column)
            }
            Read::Range { table, range } => *table == write.cell.table && range.contains(&write.cell.row),
            Read::Query(query) => query.table == write.cell.table && query.keys.contains(&write.cell.row),
        };
        let touches = |write: &Write| self.reads.iter().any(|read| is_of(read, write));
        (commit.at > self.at && commit.writes.iter().any(touches)).then_some(commit.at)
    }
}

/// A transaction that is to be committed.
#[derive(Clone, Debug)]
pub struct Causal {
    pub id: TransactionId,
    pub attempt: Attempt,
    pub entry: OutboxEntry,
    pub floor: Timestamp,
    pub within: Option<Duration>,
    pub judged: Judged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The page, and the bytes of the entry.
    Asked(u64, usize),
    /// Repeated once the feed is so far.
    Until(Timestamp),
}

/// The result of a reply.
#[derive(Debug)]
pub enum Answered {
    /// For who asked.
    Reply(Reply),
    /// The commit will be repeated.
    Again,
}

impl<A: Copy + Ord> Commits<A> {
    /// The feed is at `position`, and `last` the last entry there.
    pub fn new(position: Timestamp, last: Place) -> Commits<A> {
        Commits { open: BTreeMap::new(), counts: [(position, last)].into() }
    }

    /// An entry has come with the feed.
    pub fn entry(&mut self, at: Timestamp, place: Place) {
        self.counts.push_back((at, place));
        if self.counts.len() > TIMES_MAX {
            self.counts.pop_front();
        }
    }

    /// The place through which everything stands that was there at a time. As late as the last entry, where it is not known.
    pub fn place_at(&self, at: Timestamp, last: Place) -> Place {
        let known = self.counts.partition_point(|(own, _)| *own <= at);
        known.checked_sub(1).and_then(|index| self.counts.get(index)).map_or(last, |(_, place)| *place)
    }

    /// Begins a commit. It is due at once.
    ///
    /// # Errors
    /// [`Refusal::TransactionTooLarge`].
    pub fn begin(&mut self, asker: A, causal: Causal) -> Result<(), Refusal> {
        let Causal { id: transaction, attempt, entry, floor, within, judged } = causal;
        let bytes_max = OUTBOX_ENTRY.bytes.most;
        let bytes = entry.encode().map_err(|_| Refusal::TransactionTooLarge { bytes_max })?;
        let effects = match entry {
            OutboxEntry::Transaction(shipped) => shipped.writes,
            OutboxEntry::Seen(_) => Vec::new(),
        };
        let state = State::Until(Timestamp::ZERO);
        let (asked, changed) = (attempt, None);
        let open = Open { transaction, asked, attempt, effects, entry: bytes, floor, within, judged, changed, state };
        self.open.insert(asker, open);
        Ok(())
    }

    /// Commits have come with the feed, or are held back since a commit was judged.
    pub fn note<'a>(&mut self, commits: impl IntoIterator<Item = &'a Commit>) {
        if self.open.values().all(|open| open.judged.reads.is_empty()) {
            return;
        }
        for commit in commits {
            for open in self.open.values_mut() {
                open.changed = open.changed.or_else(|| open.judged.changed_by(commit));
            }
        }
    }

    /// Counts what a commit was judged by as changed at a moment, since nobody can tell.
    pub fn note_unknown(&mut self, asker: A, at: Timestamp) {
        if let Some(open) = self.open.get_mut(&asker).filter(|open| !open.judged.reads.is_empty()) {
            open.changed = Some(at);
        }
    }

    /// Takes the commits that would be given to the store, and were judged by something that has changed since. Each with when.
    pub fn take_changed(&mut self) -> Vec<(A, Timestamp)> {
        let is_idle = |open: &Open| matches!(open.state, State::Until(_));
        let changed = self.open.iter().filter(|(_, open)| is_idle(open));
        let changed: Vec<(A, Timestamp)> = changed.filter_map(|(asker, open)| Some((*asker, open.changed?))).collect();
        changed.iter().for_each(|(asker, _)| drop(self.open.remove(asker)));
        changed
    }

    /// For a simulation: the reads by which a commit was judged count no more.
    pub fn forget_judged(&mut self, asker: A) {
        if let Some(open) = self.open.get_mut(&asker) {
            (open.judged, open.changed) = (Judged::default(), None);
        }
    }

    /// The askers of those that are open.
    pub fn askers(&self) -> impl Iterator<Item = A> {
        self.open.keys().copied()
    }

    /// The commits whose time to be repeated has come.
    pub fn due(&self, position: Timestamp) -> Vec<A> {
        let is_due = |open: &Open| matches!(open.state, State::Until(at) if at <= position);
        self.open.iter().filter(|(_, open)| is_due(open)).map(|(asker, _)| *asker).collect()
    }

    /// The request that the store gets now.
    pub fn submit(&mut self, asker: A, tail: &Tail, position: Timestamp) -> Option<Request> {
        let ahead = self.ahead(tail.page());
        let open = self.open.get_mut(&asker)?;
        let bytes = open.entry.len();
        let append = tail.append(ahead, open.entry.clone());
        open.state = State::Asked(append.page, bytes);
        let mut writes = open.effects.clone();
        writes.extend(append.writes);
        let transaction = Transaction {
            id: open.transaction,
            attempt: open.attempt,
            snapshot: position,
            reads: append.reads.into_iter().chain(open.judged.reads.iter().cloned()).collect(),
            level: Level::Strict,
            decision: Decision::Commit(writes),
        };
        Some(Request::Commit { transaction, floor: open.floor, within: open.within })
    }

    /// Takes the reply to one of these.
    pub fn on_reply(&mut self, asker: A, reply: Reply) -> Answered {
        let Some(open) = self.open.get_mut(&asker) else { return Answered::Reply(reply) };
        if let Reply::Commit(CommitReply::Conflict { at_least }) = reply {
            open.attempt = Attempt(open.attempt.0 + 1);
            open.state = State::Until(at_least);
            return Answered::Again;
        }
        let asked = open.asked;
        self.open.remove(&asker);
        Answered::Reply(match reply {
            // The repetitions have attempts of their own, which nobody else knows.
            Reply::Commit(CommitReply::Completed(completion)) => {
                Reply::Commit(CommitReply::Completed(Completion { attempt: asked, ..completion }))
            }
            other => other,
        })
    }

    /// Entries on their way to a page.
    fn ahead(&self, page: u64) -> Ahead {
        let mut ahead = Ahead::default();
        for open in self.open.values() {
            if let State::Asked(own, bytes) = open.state
                && own == page
            {
                ahead = Ahead { entries: ahead.entries + 1, bytes: ahead.bytes + bytes };
            }
        }
        ahead
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::CoordinatorId;

    use super::*;

    #[test]
    fn the_times_of_so_many_entries_are_known_and_older_ones_count_as_the_last() {
        let at = |micros| Timestamp::new(micros, CoordinatorId::default());
        let mut commits: Commits<u64> = Commits::new(at(10), Place(1));
        commits.entry(at(20), Place(2));
        let place = |commits: &Commits<u64>, micros| commits.place_at(at(micros), Place(99)).0;
        assert_eq!([9, 10, 19, 20, 30].map(|micros| place(&commits, micros)), [99, 1, 1, 2, 2]);
        for number in 0..TIMES_MAX as u64 {
            commits.entry(at(100 + number), Place(10 + number));
        }
        assert_eq!([20, 99, 100].map(|micros| place(&commits, micros)), [99, 99, 10]);
    }
}
