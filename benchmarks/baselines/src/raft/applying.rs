//! What the log is applied to: the shard's machine, through its mailbox, in the order of the log.

use std::io;

use futures_util::{Stream, StreamExt};
use iolite_host::Mailbox;
use openraft::storage::{EntryResponder, RaftStateMachine};
use openraft::{EntryPayload, OptionalSend, RaftSnapshotBuilder, StoredMembership};
use prost::Message;

use super::{LogId, Proposal, Types};
use crate::command::{Command, Leadership};
use crate::shard::{Entry, Input, LogIndex};

type Members = openraft::alias::StoredMembershipOf<Types>;
type Snapshot = openraft::alias::SnapshotOf<Types, ()>;
type SnapshotMeta = openraft::alias::SnapshotMetaOf<Types>;

/// Hands entries to the machine.
pub struct Applying {
    machine: Mailbox<Input>,
    last: Option<LogId>,
    members: Members,
}

/// Refuses to: nothing is compacted.
pub struct NoSnapshots;

impl Applying {
    pub fn to(machine: Mailbox<Input>) -> Applying {
        Applying { machine, last: None, members: Members::default() }
    }
}

impl RaftStateMachine<Types> for Applying {
    type SnapshotData = ();
    type SnapshotBuilder = NoSnapshots;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, Members), io::Error> {
        Ok((self.last, self.members.clone()))
    }

    async fn apply<Strm>(&mut self, mut entries: Strm) -> Result<(), io::Error>
    where
        Strm: Stream<Item = Result<EntryResponder<Types>, io::Error>> + Unpin + OptionalSend,
    {
        while let Some(next) = entries.next().await {
            let (entry, responder) = next?;
            let id = entry.log_id;
            self.last = Some(id);
            let entry = match entry.payload {
                EntryPayload::Blank => Some(Entry::First),
                EntryPayload::Normal(Proposal(bytes)) => {
                    Some(Entry::Command(Command::decode(bytes).map_err(io::Error::other)?))
                }
                EntryPayload::Membership(members) => {
                    self.members = StoredMembership::new(Some(id), members);
                    None
                }
            };
            let leadership = Leadership { term: id.leader_id.term, node: id.leader_id.node_id };
            let applied = entry.map(|entry| Input::Applied { index: LogIndex(id.index), leadership, entry });
            applied.into_iter().for_each(|applied| self.machine.send(applied));
            if let Some(responder) = responder {
                responder.send(());
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> NoSnapshots {
        NoSnapshots
    }

    async fn install_snapshot(&mut self, _: &SnapshotMeta, (): ()) -> Result<(), io::Error> {
        Err(no_snapshots())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot>, io::Error> {
        Ok(None)
    }
}

impl RaftSnapshotBuilder<Types> for NoSnapshots {
    type SnapshotData = ();

    async fn build_snapshot(&mut self) -> Result<Snapshot, io::Error> {
        Err(no_snapshots())
    }
}

fn no_snapshots() -> io::Error {
    io::Error::other("the log is kept for good, so there are no snapshots")
}
