//! The gateway's requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iolite_machine::{Instant, Now, Tallied};
use iolite_store::{Reply, Request, RequestId};

use super::questions::{Purpose, Target};
use super::reading::Kind;
use super::validating::Reader;
use super::{Coordinator, Session};
use crate::node::{Ask, ReplicaId, ShardId};

/// Acknowledgements that wait for a majority.
pub(super) type Acknowledging = BTreeMap<RequestId, Acknowledgement>;

#[derive(Clone, Debug, Default)]
pub(super) struct Acknowledgement {
    questions: Vec<u64>,
    /// Who has it.
    by: BTreeSet<ReplicaId>,
}

impl Coordinator {
    pub(super) fn on_request(&mut self, now: Now, id: RequestId, request: Request) {
        self.time_limits.note(now.instant, id, &request);
        match self.session {
            Session::Opening(_) => self.waiting.push_back((Tallied(now.instant), id, request)),
            Session::Open { .. } => self.begin(now, now.instant, id, request),
        }
    }

    /// Nobody waits for it any more. What may change the store is seen through all the same.
    pub(super) fn give_up(&mut self, id: RequestId) {
        self.waiting.retain(|(_, own, request)| *own != id || !request.only_reads());
        self.end_reading(id);
    }

    pub(super) fn begin_waiting(&mut self, now: Now) {
        for (begun, id, request) in std::mem::take(&mut self.waiting) {
            self.begin(now, *begun, id, request);
        }
    }

    /// Of a request that came at `begun`.
    fn begin(&mut self, now: Now, begun: Instant, id: RequestId, request: Request) {
        match request {
            Request::Commit { transaction, floor, within: _ } => {
                self.begin_transaction(now, begun, id, Arc::new(transaction), floor);
            }
            Request::Validate { transaction, attempt, snapshot, reads, floor } => {
                let reader = Reader { transaction, attempt, snapshot, reads, floor };
                self.begin_validation(now, id, reader);
            }
            Request::ReadAt { interest, at, limit } => self.begin_read(now, id, &interest, at, limit),
            Request::Changes { interests, after, through, bytes_max } => {
                self.begin_changes(now, id, &interests, after, Kind::Changes { through, bytes_max });
            }
            Request::Completions { client, after, at, most } => {
                self.begin_completions(now, id, (client, after), at, most);
            }
            Request::LastOutcome { client, at } => self.begin_last_outcome(now, id, client, at),
            Request::Acknowledge { client, through } => {
                let shard = self.settings.shards.of_client(client);
                self.acknowledge_at(now, shard, id, &Ask::Acknowledge { client, through });
            }
        }
    }

    pub(super) fn acknowledge_at(&mut self, now: Now, shard: ShardId, request: RequestId, ask: &Ask) {
        let questions = self.ask_all(now, shard, &Purpose::Acknowledge(request), ask);
        self.acknowledging.insert(request, Acknowledgement { questions, by: BTreeSet::new() });
    }

    /// Done when a majority has it. The others were told too; whoever did not hear it hears the client's next one, which says as much. (To one that is
    /// down for long, there would be more and more to say.)
    pub(super) fn on_acknowledged(&mut self, request: RequestId, from: Target) {
        let majority = self.quorums(from.shard).majority();
        let Some(own) = self.acknowledging.get_mut(&request) else { return };
        own.by.insert(from.replica);
        if own.by.len() < majority {
            return;
        }
        if let Some(own) = self.acknowledging.remove(&request) {
            self.questions.drop_all(own.questions);
        }
        self.reply(request, Reply::Acknowledged);
    }
}
