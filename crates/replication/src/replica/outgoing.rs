//! What leaves the replica: records and answers.

use iolite_machine::{Now, PersistId};
use iolite_values::CoordinatorId;

use super::{Replica, ReplicaOutput};
use crate::journal::JournalRecord;
use crate::node::{Answer, BetweenReplicas, Epoch, FromReplica, MessageId, Peer, ReplicaId, ShardId};

impl Replica {
    pub(super) fn persist(&mut self, record: &JournalRecord) -> PersistId {
        self.persist_bytes(record.encode().expect("a record of a few numbers fits into any journal"))
    }

    pub(super) fn persist_bytes(&mut self, record: Vec<u8>) -> PersistId {
        for first in self.unsaid_first_group() {
            self.append(first.encode().expect("a group is small"));
        }
        self.append(record)
    }

    fn append(&mut self, record: Vec<u8>) -> PersistId {
        let id = self.persisted.next();
        self.persisted = id;
        *self.journaled += record.len() as u64;
        self.outputs.push_back(ReplicaOutput::Persist { id, record });
        id
    }

    pub(super) fn reply(&mut self, now: Now, to: CoordinatorId, id: MessageId, after: PersistId, answer: Answer) {
        let message = FromReplica {
            to,
            from: self.settings.id,
            shard: self.configuration.group().shard,
            id,
            boot: self.settings.boot,
            store: self.settings.store,
            view: self.standing.view(),
            highest: self.highest(),
            limit: self.limit(now),
            answer,
        };
        self.outputs.push_back(ReplicaOutput::Reply { after, message });
    }

    /// To one of the group that the rows come from, in its own shard's name.
    pub(super) fn tell_parent(&mut self, to: ReplicaId, peer: Peer) {
        let Some(parent) = self.settings.origin.as_ref().map(|split| split.parent()) else { return };
        self.tell_in(parent.shard, parent.epoch, to, peer);
    }

    /// Leaves when everything so far is durable.
    pub(super) fn tell(&mut self, to: ReplicaId, peer: Peer) {
        if self.awaiting.is_some() {
            return self.tell_parent(to, peer);
        }
        self.tell_in(self.configuration.group().shard, self.epoch(), to, peer);
    }

    fn tell_in(&mut self, shard: ShardId, epoch: Epoch, to: ReplicaId, peer: Peer) {
        let message = BetweenReplicas { from: self.settings.id, to, store: self.settings.store, shard, epoch, peer };
        self.outputs.push_back(ReplicaOutput::ToPeer { after: self.persisted, message });
    }

    /// The others of the group, and, until the epoch has begun here, those of the group before.
    pub(super) fn others(&self) -> Vec<ReplicaId> {
        let (own, group) = (self.settings.id, self.configuration.group());
        let before =
            self.configuration.previous().filter(|_| !self.has_begun()).map_or(&[][..], |previous| previous.members());
        let before = before.iter().filter(|replica| !group.contains(**replica));
        group.members().iter().chain(before).copied().filter(|replica| *replica != own).collect()
    }
}
