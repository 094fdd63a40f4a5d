//! What leaves the replica: records and answers.

use iolite_machine::{Now, PersistId};
use iolite_values::CoordinatorId;

use super::{Replica, ReplicaOutput};
use crate::journal::JournalRecord;
use crate::messages::{Answer, FromReplica, MessageId};

impl Replica {
    pub(super) fn persist(&mut self, record: &JournalRecord) -> PersistId {
        self.persist_bytes(record.encode().expect("a record of a few numbers fits into any journal"))
    }

    pub(super) fn persist_bytes(&mut self, record: Vec<u8>) -> PersistId {
        let id = self.persisted.next();
        self.persisted = id;
        self.outputs.push_back(ReplicaOutput::Persist { id, record });
        id
    }

    pub(super) fn reply(&mut self, now: Now, to: CoordinatorId, id: MessageId, after: PersistId, answer: Answer) {
        let message = FromReplica {
            to,
            id,
            boot: self.settings.boot,
            store: self.settings.store,
            highest: self.highest(),
            limit: self.limit(now),
            answer,
        };
        self.outputs.push_back(ReplicaOutput::Reply { after, message });
    }
}
