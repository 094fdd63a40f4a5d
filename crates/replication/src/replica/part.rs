//! What goes over to one of the two parts of a shard that ends.
//!
//! Invariant: every row and every client goes over to one of them; that something committed is known to both.

use iolite_values::{ClientId, RowKey, TableId, Write};

use super::checkpoint::Checkpoint;
use crate::journal::CheckpointChunk;
use crate::node::{ReplicaId, Split};
use crate::shards::Place;
use crate::versions::Logged;

/// The lower part, or the upper one.
#[derive(Clone, Debug)]
pub(super) struct Part {
    at: Place,
    is_upper: bool,
}

impl Part {
    /// The part that a replica has.
    pub fn of(split: &Split, replica: ReplicaId) -> Option<Part> {
        let (table, key) = split.at();
        let is_upper = split.upper().contains(replica);
        let at = Place { table, key: key.clone() };
        (is_upper || split.lower().contains(replica)).then_some(Part { at, is_upper })
    }

    pub fn has_row(&self, table: TableId, key: &RowKey) -> bool {
        self.has(&Place { table, key: key.clone() })
    }

    pub fn has_client(&self, client: ClientId) -> bool {
        self.has(&Place::of_client(client))
    }

    fn has(&self, place: &Place) -> bool {
        (*place >= self.at) == self.is_upper
    }

    /// The commit stays, so that it is known that it was one.
    pub fn of_commit(&self, mut logged: Logged) -> Logged {
        let has = |write: &&Write| self.has_row(write.cell.table, &write.cell.row);
        logged.commit.writes = logged.commit.writes.iter().filter(has).cloned().collect();
        logged.is_home &= self.has_client(logged.commit.transaction.client);
        logged
    }

    /// The first row of the part, if rows above `after` begin below it.
    pub fn beginning_above(&self, after: Option<&(TableId, RowKey)>) -> Option<(TableId, RowKey)> {
        let at = (self.at.table, self.at.key.clone());
        (self.is_upper && after.is_none_or(|after| *after < at)).then_some(at)
    }

    /// What of a chunk goes over, if anything does, and where the next one is from: behind the last row of the part come the clients.
    pub fn of_chunk(
        &self,
        chunk: Option<CheckpointChunk>,
        next: Option<Checkpoint>,
    ) -> (Option<CheckpointChunk>, Option<Checkpoint>) {
        match chunk {
            Some(CheckpointChunk::Rows(mut rows)) => {
                let is_behind = rows.last().is_some_and(|row| !self.has_row(row.table, &row.key));
                rows.retain(|row| self.has_row(row.table, &row.key));
                let next = if is_behind { Some(Checkpoint::Clients { after: None }) } else { next };
                ((!rows.is_empty()).then_some(CheckpointChunk::Rows(rows)), next)
            }
            Some(CheckpointChunk::Clients(mut clients)) => {
                clients.retain(|own| self.has_client(own.client));
                ((!clients.is_empty()).then_some(CheckpointChunk::Clients(clients)), next)
            }
            Some(CheckpointChunk::Commits(commits)) => {
                let commits = commits.into_iter().map(Logged::from_checkpoint);
                let own = commits.map(|logged| self.of_commit(logged).to_checkpoint()).collect();
                (Some(CheckpointChunk::Commits(own)), next)
            }
            Some(CheckpointChunk::Meta(_) | CheckpointChunk::Records(_)) | None => (chunk, next),
        }
    }
}
