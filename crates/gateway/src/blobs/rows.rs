//! Commits of leases and seals, and reads of cells, which sessions of `/blobs` ask of the store of rows.
//!
//! Invariants: a commit is told when the feed contains it, so what rests on it has a snapshot behind it. A cell is read as its client may read it now.

use iolite_access::Identity;
use iolite_blobs::{Done, RowCommit, RowTransaction, SessionInput, Ticket, blob_of_cell};
use iolite_machine::Now;
use iolite_store::{CommitReply, ReadLimit, ReadReply, Request, RequestId, TooOld};
use iolite_values::{Cell, Counter, Decision, Interest, KeyRange, Write};

use crate::Gateway;
use crate::following::load::News;
use crate::following::sets::SetUser;
use crate::following::sight::Sight;
use crate::interface::BlobLink;
use crate::sessions::session::Open;
use crate::store::Purpose;

/// A cell that is read for a connection.
#[derive(Clone, Debug)]
pub struct CellRead {
    pub link: BlobLink,
    ticket: Ticket,
    cell: Cell,
}

impl Gateway {
    /// Commits a row, and counts it for its user.
    pub(crate) fn commit_row_with(
        &mut self,
        link: BlobLink,
        ticket: Ticket,
        commit: &RowCommit,
        more: Option<Write>,
    ) -> Counter {
        let RowTransaction { snapshot, reads, mut writes } = commit.transaction();
        writes.extend(more);
        let snapshot = snapshot.unwrap_or(self.position());
        let counter = self.commit_own(Purpose::BlobRow, snapshot, reads, Decision::Commit(writes));
        self.blobs.commits.insert(counter, (link, ticket));
        counter
    }

    pub(crate) fn on_row_committed(&mut self, now: Now, counter: Counter, reply: &CommitReply) {
        self.own_ended(counter);
        self.blobs.quotas.ended(counter, matches!(reply, CommitReply::Completed(_)));
        let Some((link, ticket)) = self.blobs.commits.remove(&counter) else { return };
        match reply {
            CommitReply::Completed(completion) if completion.at > self.position() => {
                self.blobs.committed.insert((completion.at, link, ticket));
            }
            CommitReply::Completed(completion) => self.tell_committed(now, link, ticket, completion.at),
            CommitReply::Conflict { .. } => self.tell_link(now, link, SessionInput::Done(ticket, Done::Conflict)),
            CommitReply::Forgotten | CommitReply::InDoubt { .. } => {
                self.tell_link(now, link, SessionInput::Done(ticket, Done::Unavailable));
            }
        }
    }

    pub(crate) fn on_row_commit_refused(&mut self, now: Now, counter: Counter) {
        self.own_ended(counter);
        self.blobs.quotas.ended(counter, false);
        if let Some((link, ticket)) = self.blobs.commits.remove(&counter) {
            self.tell_link(now, link, SessionInput::Done(ticket, Done::Unavailable));
        }
    }

    /// Tells what the feed contains now.
    pub(crate) fn tell_committed_rows(&mut self, now: Now) {
        let position = self.position();
        while let Some(first @ (at, link, ticket)) = self.blobs.committed.first().copied()
            && at <= position
        {
            self.blobs.committed.remove(&first);
            self.tell_committed(now, link, ticket, at);
        }
    }

    /// The client's session is told that it is as far: its mutation waits for that.
    fn tell_committed(&mut self, now: Now, link: BlobLink, ticket: Ticket, at: iolite_values::Timestamp) {
        self.tell_link(now, link, SessionInput::Done(ticket, Done::Committed(at)));
        let session = self.client_of_link(link).and_then(|client| self.clients.get(&client).copied());
        if let Some(id) = session
            && self.open(id).is_some_and(|open: &Open| open.is_live() && open.seen < at)
        {
            self.send_advance(now, id, News::default());
        }
    }

    pub(crate) fn read_cell(&mut self, now: Now, identity: &Identity, link: BlobLink, ticket: Ticket, cell: Cell) {
        let interest = Interest::Range { table: cell.table, range: KeyRange::one(&cell.row) };
        let done = |done| SessionInput::Done(ticket, done);
        if self.catalog.schema().check_interest(&interest).is_err() {
            return self.tell_link(now, link, done(Done::Cell(None)));
        }
        // Who may see the row may have its blob. A row that is hidden is none.
        let (sight, rests) = self.sight(identity, &interest);
        let interest = match sight {
            Sight::All => interest,
            Sight::Part(part) => part,
            Sight::Declined(_) => return self.tell_link(now, link, done(Done::Cell(None))),
            Sight::Waits => {
                // It asks again. Its session on `/sync` needs the sets, too, if it shows the row.
                if let Some(id) = self.client_of_link(link).and_then(|client| self.clients.get(&client).copied()) {
                    self.need_sets(SetUser::Session(id), &rests);
                }
                return self.tell_link(now, link, done(Done::Unavailable));
            }
        };
        let at = self.position();
        let request = self.ask(Purpose::BlobCell, Request::ReadAt { interest, at, limit: ReadLimit::NONE });
        self.blobs.reads.insert(request, CellRead { link, ticket, cell });
    }

    pub(crate) fn on_cell(&mut self, now: Now, request: RequestId, reply: Result<ReadReply, TooOld>) {
        let Some(CellRead { link, ticket, cell }) = self.blobs.reads.remove(&request) else { return };
        let done = reply.map_or(Done::Unavailable, |reply| {
            let row = reply.rows.iter().find(|own| own.key == cell.row).map(|own| &own.row);
            let blob = row.and_then(|row| row.cell(cell.column)).and_then(blob_of_cell);
            Done::Cell(blob.map(|blob| (blob.clone(), reply.at)))
        });
        self.tell_link(now, link, SessionInput::Done(ticket, done));
    }

    pub(crate) fn on_cell_refused(&mut self, now: Now, request: RequestId) {
        if let Some(CellRead { link, ticket, .. }) = self.blobs.reads.remove(&request) {
            self.tell_link(now, link, SessionInput::Done(ticket, Done::Unavailable));
        }
    }
}
