//! How much a user may store of blobs.
//!
//! Invariants: a seal of a user is committed only if it fits into what a user may have, as of a moment before, and the same commit counts it. So only
//! seals that are made at the same time pass the bound together. What is stored and not sealed has the same bound, which each gateway keeps for itself: it
//! counts as long as its lease, and for a day at least, until a sweep has taken it away.
//! Each chunk counts as a whole one, since nobody looks into it before it is counted.
//! With the development token there are no quotas.

use std::collections::BTreeMap;

use iolite_access::{ANONYMOUS_ISSUER, Access, AccessRows, blob_bytes_interest, blob_bytes_of, more_blob_bytes};
use iolite_blobs::{Done, Leases, ObjectName, RowCommit, SessionInput, Ticket, limits::LEASE_FOR};
use iolite_machine::{Instant, Now};
use iolite_store::{ReadLimit, ReadReply, Request, RequestId, TooOld};
use iolite_values::{Counter, Cutting, Id, LeaseName};

use crate::Gateway;
use crate::interface::{BlobLink, BlobOutput, Output};
use crate::store::Purpose;

/// Bytes of a chunk, whatever it holds.
const CHUNK_BYTES: u64 = Cutting::CHUNK_BYTES_MAX as u64;

/// The blobs of users, as far as they are counted here.
#[derive(Debug, Default)]
pub struct Quotas {
    users: BTreeMap<Id, UserBlobs>,
    /// Commits that wait for the row of their user.
    reads: BTreeMap<RequestId, Asked>,
    /// Seals that are being committed.
    sealing: BTreeMap<Counter, (Id, LeaseName, u64)>,
}

/// The blobs of a user, by the digest of the subject.
#[derive(Debug, Default)]
struct UserBlobs {
    /// Bytes that were sealed when the row was last read.
    sealed: u64,
    /// Bytes that were stored here and are not sealed, and when the last of them came.
    unsealed: BTreeMap<LeaseName, (u64, Instant)>,
}

#[derive(Debug)]
struct Asked {
    link: BlobLink,
    ticket: Ticket,
    commit: RowCommit,
}

/// The bound for a user.
#[derive(Clone, Copy, Debug)]
struct Quota {
    subject: Id,
    bytes_max: u64,
}

impl UserBlobs {
    fn unsealed(&self) -> u64 {
        self.unsealed.values().map(|(bytes, _)| bytes).sum()
    }

    fn forget_old(&mut self, now: Instant, leases: &Leases) {
        self.unsealed.retain(|lease, (_, last)| leases.get(*lease).is_some() || *last + LEASE_FOR > now);
    }
}

impl Quotas {
    /// The store has started again.
    pub fn clear(&mut self) {
        (self.reads, self.sealing) = Default::default();
    }

    /// Takes the reads for a connection that is over.
    pub fn take_reads(&mut self, link: BlobLink) -> Vec<RequestId> {
        let of_link = self.reads.iter().filter(|(_, asked)| asked.link == link).map(|(request, _)| *request);
        let requests: Vec<RequestId> = of_link.collect();
        requests.iter().for_each(|request| drop(self.reads.remove(request)));
        requests
    }

    /// A commit has ended.
    pub fn ended(&mut self, counter: Counter, is_committed: bool) {
        let Some((subject, lease, bytes)) = self.sealing.remove(&counter).filter(|_| is_committed) else { return };
        let Some(user) = self.users.get_mut(&subject) else { return };
        user.sealed += bytes;
        if let Some((unsealed, _)) = user.unsealed.get_mut(&lease) {
            *unsealed = unsealed.saturating_sub(bytes);
        }
    }

    /// Forgets what a sweep has taken away by now.
    pub fn forget_old(&mut self, now: Instant, leases: &Leases) {
        self.users.values_mut().for_each(|user| user.forget_old(now, leases));
        self.users.retain(|_, user| !user.unsealed.is_empty());
    }
}

impl Gateway {
    fn quota(&self, link: BlobLink) -> Option<Quota> {
        match self.settings.access {
            Access::Development(_) => return None,
            Access::Tokens(_) => {}
        }
        let subject = &self.blobs.links.get(&link)?.identity()?.user()?.subject;
        let bytes_max = match &*subject.issuer {
            ANONYMOUS_ISSUER => self.settings.limits.blob_bytes_anonymous_max,
            _ => self.settings.limits.blob_bytes_user_max,
        };
        Some(Quota { subject: subject.digest(), bytes_max })
    }

    /// Commits a row of a connection, if its user has room for that.
    pub(crate) fn commit_row(&mut self, link: BlobLink, ticket: Ticket, commit: RowCommit) {
        let quota = match commit {
            RowCommit::Grant { .. } | RowCommit::Seal { .. } => self.quota(link),
            RowCommit::Renew { .. } => None,
        };
        let Some(quota) = quota else {
            self.commit_row_with(link, ticket, &commit, None);
            return;
        };
        let (interest, at) = (blob_bytes_interest(quota.subject), self.position());
        let request = self.ask(Purpose::BlobQuota, Request::ReadAt { interest, at, limit: ReadLimit::NONE });
        self.blobs.quotas.reads.insert(request, Asked { link, ticket, commit });
    }

    pub(crate) fn on_quota(&mut self, now: Now, request: RequestId, reply: Option<Result<ReadReply, TooOld>>) {
        let Some(Asked { link, ticket, commit }) = self.blobs.quotas.reads.remove(&request) else { return };
        let (Some(Ok(reply)), Some(quota)) = (reply, self.quota(link)) else {
            return self.tell_link(now, link, SessionInput::Done(ticket, Done::Unavailable));
        };
        let rows = reply.rows.iter().filter(|own| own.table == AccessRows::table());
        let sealed = rows.map(|own| blob_bytes_of(&own.row)).sum();
        let user = self.blobs.quotas.users.entry(quota.subject).or_default();
        user.sealed = sealed;
        if let Some(leases) = self.blobs.leases.known() {
            user.forget_old(now.instant, leases);
        }
        let (wanted, counted) = match &commit {
            RowCommit::Grant { .. } | RowCommit::Renew { .. } => (user.unsealed() + CHUNK_BYTES, None),
            RowCommit::Seal { lease, chunks, .. } => (chunks * CHUNK_BYTES, Some((*lease, chunks * CHUNK_BYTES))),
        };
        if sealed.saturating_add(wanted) > quota.bytes_max {
            return self.tell_link(now, link, SessionInput::Done(ticket, Done::NoRoom));
        }
        let more = counted.map(|(_, bytes)| more_blob_bytes(quota.subject, bytes));
        let counter = self.commit_row_with(link, ticket, &commit, more);
        if let Some((lease, bytes)) = counted {
            self.blobs.quotas.sealing.insert(counter, (quota.subject, lease, bytes));
        }
    }

    /// Has a chunk stored, if its user has room for that.
    pub(crate) fn store_chunk(
        &mut self,
        now: Now,
        link: BlobLink,
        ticket: Ticket,
        object: ObjectName,
        content: Vec<u8>,
    ) {
        if let Some(quota) = self.quota(link) {
            let user = self.blobs.quotas.users.entry(quota.subject).or_default();
            if user.sealed + user.unsealed() + CHUNK_BYTES > quota.bytes_max {
                return self.tell_link(now, link, SessionInput::Done(ticket, Done::NoRoom));
            }
            let (bytes, last) = user.unsealed.entry(object.lease).or_insert((0, now.instant));
            (*bytes, *last) = (*bytes + CHUNK_BYTES, now.instant);
        }
        self.output(Output::Blobs(link, BlobOutput::Store(ticket, object, content)));
    }
}
