//! Questions that only read, and acknowledgements.

use iolite_machine::PersistId;
use iolite_store::{ReadLimit, Refusal};
use iolite_values::{ClientId, Counter, Interest, Read, Timestamp, observes};

use super::Replica;
use crate::journal::JournalRecord;
use crate::node::Answer;

impl Replica {
    pub(super) fn on_read_at(&mut self, interest: &Interest, at: Timestamp, limit: ReadLimit) -> (PersistId, Answer) {
        let answer = self.incomplete(at).unwrap_or_else(|| Answer::Read(self.versions.read_at(interest, at, limit)));
        (self.barrier_after, answer)
    }

    pub(super) fn on_changes(
        &mut self,
        interests: &[Interest],
        after: Timestamp,
        through: Timestamp,
    ) -> (PersistId, Answer) {
        let changes = || Answer::Changes(self.versions.changes(interests, after, through));
        (self.barrier_after, self.incomplete(through).unwrap_or_else(changes))
    }

    /// A read-only transaction: whether its reads were true when this was asked. Whatever committed before that was prepared here or at
    /// another replica of any majority.
    pub(super) fn on_validate(&mut self, snapshot: Timestamp, reads: &[Read]) -> (PersistId, Answer) {
        let changed = reads.iter().filter_map(|read| match self.versions.last_change_of(read, snapshot) {
            Ok(change) => change,
            Err(too_old) => Some(too_old.low_watermark),
        });
        let under_way = self
            .prepared
            .iter()
            .filter(|proposal| proposal.writes().iter().any(|write| reads.iter().any(|read| observes(read, write))));
        let last = changed.chain(under_way.map(|proposal| proposal.id.at)).max();
        (PersistId::START, Answer::Valid(last.map_or(Ok(()), Err)))
    }

    pub(super) fn on_acknowledge(&mut self, client: ClientId, through: Counter) -> (PersistId, Answer) {
        if self.clients.acknowledge(client, through) {
            self.attempts.forget_through(client, through);
            self.persist(&JournalRecord::Acknowledged { client, through });
        }
        (self.persisted, Answer::Acknowledged)
    }

    /// What to answer when not everything at or below `asked` is here. Who is the whole group says what is not resolved; others may only be behind.
    fn incomplete(&self, asked: Timestamp) -> Option<Answer> {
        let complete = self.complete();
        if asked <= complete {
            None
        } else if self.is_alone() && asked > self.barrier {
            Some(Answer::Refused(Refusal::NotResolved { asked, resolved: self.barrier }))
        } else {
            Some(Answer::Behind { complete })
        }
    }
}
