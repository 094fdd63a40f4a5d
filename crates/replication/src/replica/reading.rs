//! Questions that only read, and acknowledgements.

use std::sync::Arc;

use iolite_machine::{Now, PersistId};
use iolite_store::{ReadLimit, Refusal, TooOld};
use iolite_values::{ClientId, Counter, Interest, Interests, Read, Timestamp, disturbs};

use super::Replica;
use super::close::Filled;
use crate::broken::Broken;
use crate::completions::completions_table;
use crate::journal::JournalRecord;
use crate::node::{Answer, Changed, Invalid, Proposal};
use crate::versions::Logged;

/// So many writes are looked at for one piece of changes, whether they are asked for or not.
pub const CHANGES_LOOKS_MAX: usize = 16_384;

impl Replica {
    pub(super) fn on_read_at(
        &mut self,
        now: Now,
        interest: &Interest,
        at: Timestamp,
        limit: ReadLimit,
        looks: usize,
    ) -> (PersistId, Answer) {
        if let Err(refusal) = self.check_interest_is_here(interest) {
            return (PersistId::START, Answer::Refused(refusal));
        }
        if let Interest::Range { table, range } = interest
            && *table == completions_table()
        {
            return self.on_read_completions(now, range, at, limit);
        }
        let incomplete = self.incomplete(at);
        let answer = incomplete.unwrap_or_else(|| {
            let read = self.versions.read_and_count(interest, at, limit, looks);
            Answer::Read(read.map(|(piece, looked)| {
                self.waiting_reads.note_rows(looked);
                self.waiting_reads.note_answer(&piece);
                piece
            }))
        });
        (self.barrier_after, answer)
    }

    pub(super) fn on_changes(
        &mut self,
        interests: &[Interest],
        after: Timestamp,
        through: Timestamp,
    ) -> (PersistId, Answer) {
        let changes = || Answer::Changes(self.changes_from(interests, after, through));
        (self.barrier_after, self.incomplete(through).unwrap_or_else(changes))
    }

    /// The commits of the stretch, or of its beginning if that is much, or takes much to look through.
    fn changes_from(&self, interests: &[Interest], after: Timestamp, through: Timestamp) -> Result<Changed, TooOld> {
        let mut changed = Changed { through, commits: Vec::new() };
        let (interests, mut filled, mut looks, mut last) = (Interests::new(interests), Filled::default(), 0, after);
        for Logged { commit, is_abort, .. } in self.versions.logged(after, through)? {
            if filled.is_enough() || looks >= CHANGES_LOOKS_MAX {
                changed.through = last;
                break;
            }
            looks += commit.writes.len().max(1);
            last = commit.at;
            if !is_abort && commit.writes.iter().any(|write| interests.include(&write.cell)) {
                filled.add(commit);
                changed.commits.push(commit.clone());
            }
        }
        Ok(changed)
    }

    /// A transaction that only reads: whether that is true still. What committed elsewhere before this was asked is prepared or committed here, or at
    /// another replica of any majority. Waits for no record: what it finds valid rests on nothing that is not durable yet.
    pub(super) fn on_validate(&self, snapshot: Timestamp, reads: &[Read]) -> (PersistId, Answer) {
        if let Err(refusal) = self.check_reads_are_here(reads) {
            return (PersistId::START, Answer::Refused(refusal));
        }
        let changed = self.last_change(reads, snapshot, Timestamp::MAX).map(Invalid::Changed);
        let invalid = changed.or_else(|| self.last_under_way(reads, snapshot).map(Invalid::UnderWay));
        (PersistId::START, Answer::Valid(invalid.map_or(Ok(()), Err)))
    }

    /// The last prepared proposal that would change what was read. One at or below the snapshot is decided, and in what was read if it committed.
    fn last_under_way(&self, reads: &[Read], snapshot: Timestamp) -> Option<Timestamp> {
        if self.settings.broken == Broken::ValidateWithoutPrepared {
            return None;
        }
        let disturbs = |proposal: &&Arc<Proposal>| {
            let later = proposal.id.at > snapshot;
            later && reads.iter().any(|read| disturbs(proposal.writes(), read))
        };
        self.prepared.writing_on(reads).filter(disturbs).map(|proposal| proposal.id.at).max()
    }

    pub(super) fn on_acknowledge(&mut self, client: ClientId, through: Counter) -> (PersistId, Answer) {
        if self.clients.acknowledge(client, through) {
            self.attempts.forget_through(client, through);
            self.persist(&JournalRecord::Acknowledged { client, through });
        }
        (self.persisted, Answer::Acknowledged)
    }

    /// What to answer when not everything at or below `asked` is here. Who is the whole group says what is not resolved; others may only be behind.
    pub(super) fn incomplete(&self, asked: Timestamp) -> Option<Answer> {
        let complete = self.complete();
        if asked <= complete {
            None
        } else if self.is_alone() && asked > self.closed() {
            Some(Answer::Refused(Refusal::NotResolved { asked, resolved: self.closed() }))
        } else {
            Some(Answer::Behind { complete })
        }
    }
}
