//! The rows of `_leases` and `_seals`, read when the schema has blobs, and kept up to date from the feed.
//!
//! Invariant: what is known is as of the gateway's position.

use iolite_blobs::{LEASES_TABLE, Leases, SEALS_TABLE};
use iolite_machine::Now;
use iolite_store::{Commit, ReadLimit, ReadReply, Request, RequestId, TooOld};
use iolite_values::{Interest, KeyRange, TableId};

use crate::Gateway;
use crate::store::Purpose;

/// How much is known of the leases.
#[derive(Debug, Default)]
pub enum KnownLeases {
    /// No table has blobs.
    #[default]
    Unread,
    Reading(Reading),
    Known(Leases),
}

/// Both tables, while they are read.
#[derive(Debug)]
pub struct Reading {
    requests: Vec<RequestId>,
    leases: Leases,
    /// Commits since then.
    since: Vec<Commit>,
}

impl KnownLeases {
    pub fn known(&self) -> Option<&Leases> {
        match self {
            KnownLeases::Known(leases) => Some(leases),
            KnownLeases::Unread | KnownLeases::Reading(_) => None,
        }
    }
}

impl Gateway {
    /// Reads the leases, if that is to be done and was not.
    pub(crate) fn read_leases(&mut self) {
        let is_due = matches!(self.blobs.leases, KnownLeases::Unread);
        if is_due && self.home.is_serving() && self.catalog.schema().has_blobs() {
            let at = self.position();
            let requests = [LEASES_TABLE, SEALS_TABLE].map(|table| {
                let interest = Interest::Range { table: TableId::of(table), range: KeyRange::all() };
                self.ask(Purpose::Leases, Request::ReadAt { interest, at, limit: ReadLimit::NONE })
            });
            let (requests, leases) = (requests.into(), Leases::default());
            self.blobs.leases = KnownLeases::Reading(Reading { requests, leases, since: Vec::new() });
        }
    }

    /// Takes what the feed tells of leases.
    pub(crate) fn watch_leases(&mut self, commits: &[Commit]) {
        let of_leases = |commit: &&Commit| commit.writes.iter().any(|write| is_of_leases(write.cell.table));
        match &mut self.blobs.leases {
            KnownLeases::Unread => {}
            KnownLeases::Reading(reading) => reading.since.extend(commits.iter().filter(of_leases).cloned()),
            KnownLeases::Known(leases) => {
                for commit in commits.iter().filter(of_leases) {
                    leases.take(commit.at, &commit.writes);
                }
            }
        }
    }

    /// The feed has been taken up to the gateway's position.
    pub(crate) fn advance_leases(&mut self) {
        let position = self.position();
        if let KnownLeases::Known(leases) = &mut self.blobs.leases {
            leases.advance(position);
        }
    }

    pub(crate) fn on_leases(&mut self, now: Now, request: RequestId, reply: Result<ReadReply, TooOld>) {
        let position = self.position();
        let KnownLeases::Reading(reading) = &mut self.blobs.leases else { return };
        reading.requests.retain(|open| *open != request);
        let Ok(reply) = reply else {
            self.on_leases_refused();
            return self.read_leases();
        };
        for row in &reply.rows {
            reading.leases.restore(reply.at, row.table, &row.key, &row.row);
        }
        if !reading.requests.is_empty() {
            return;
        }
        let mut leases = std::mem::take(&mut reading.leases);
        for commit in &reading.since {
            leases.take(commit.at, &commit.writes);
        }
        leases.advance(position);
        self.blobs.leases = KnownLeases::Known(leases);
        self.retry_held_links(now);
    }

    /// The store could not read them. The next commit, or connection, has them read again.
    pub(crate) fn on_leases_refused(&mut self) {
        if let KnownLeases::Reading(Reading { requests, .. }) = std::mem::take(&mut self.blobs.leases) {
            self.give_up(requests);
        }
    }
}

fn is_of_leases(table: TableId) -> bool {
    [LEASES_TABLE, SEALS_TABLE].map(TableId::of).contains(&table)
}
