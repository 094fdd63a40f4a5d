//! Calls by ticket: how a mutation is named before it has a counter.

use iolite_machine::WallTime;
use iolite_values::{Counter, Id};
use iolite_wire::client_storage::{EndedAs, MutationStatus as StoredStatus, StoredEnd, StoredMutation};

use crate::interface::{MutationStatus, Pending};
use crate::queue::MutationKind;
use crate::storage::{StorageChange, kind};

/// The first byte of the keys of calls that wait for a leader.
pub const OUTBOX: u8 = kind::OUTBOX;

/// The name of a call of a tab that does not lead: 128 random bits, of the host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub Id);

/// How far a call is. The last two are final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// On its way to this device's disk.
    Called,
    /// On the disk: it will be sent, whatever becomes of this tab.
    Stored,
    /// In the queue, under this counter. After a crash of the leader it may get another one, if nothing of it was sent.
    Queued(Counter, Pending),
    Ended(Counter, MutationStatus),
    /// It took effect, under a leader that is gone; nobody knows its counter and its timestamp any more.
    ConfirmedEarlier,
}

impl Ticket {
    /// Where the call is stored until a leader has it.
    pub(crate) fn outbox_key(self) -> Vec<u8> {
        [&[kind::OUTBOX], self.0.to_bytes().as_slice()].concat()
    }
}

/// A call as it is stored and announced.
pub(super) fn stored_call(ticket: Ticket, called_at: WallTime, name: &str, arguments: &str) -> StoredMutation {
    StoredMutation {
        log: None,
        effects: None,
        unsent: false,
        counter: Counter(0),
        name: name.into(),
        arguments: arguments.into(),
        called_at_micros: called_at.as_micros(),
        ticket: Some(ticket.0),
        status: StoredStatus::Waiting,
    }
}

/// The change that stores a call.
pub(super) fn outbox_entry(call: &StoredMutation) -> Option<StorageChange> {
    let ticket = Ticket(call.ticket?);
    let value = call.encode().expect("a call's name and arguments were limited when it was made");
    Some(StorageChange::Put { key: ticket.outbox_key(), value })
}

pub(crate) fn kind_of(name: Option<&str>, arguments: &str) -> MutationKind {
    match name {
        Some(name) => MutationKind::Named { name: name.into(), arguments: arguments.into() },
        None => MutationKind::Closure,
    }
}

/// `None` while it is pending.
pub(crate) fn ended_as(status: &MutationStatus) -> Option<EndedAs> {
    Some(match status {
        MutationStatus::Pending(_) => return None,
        MutationStatus::Confirmed { at } => EndedAs::Confirmed(*at),
        MutationStatus::Rejected { reason } => EndedAs::Rejected(reason.clone()),
        MutationStatus::Quarantined { reason } => EndedAs::Quarantined(reason.clone()),
        MutationStatus::Cancelled { reason } => EndedAs::Cancelled(reason.clone()),
        MutationStatus::Overruled => EndedAs::Overruled,
    })
}

/// `None` when only that it took effect is known.
pub(crate) fn final_status(how: &EndedAs) -> Option<MutationStatus> {
    Some(match how {
        EndedAs::Confirmed(at) => MutationStatus::Confirmed { at: *at },
        EndedAs::ConfirmedEarlier => return None,
        EndedAs::Rejected(reason) => MutationStatus::Rejected { reason: reason.clone() },
        EndedAs::Quarantined(reason) => MutationStatus::Quarantined { reason: reason.clone() },
        EndedAs::Cancelled(reason) => MutationStatus::Cancelled { reason: reason.clone() },
        EndedAs::Overruled => MutationStatus::Overruled,
    })
}

/// What a call's end is to the app.
pub(crate) fn call_status(end: &StoredEnd) -> CallStatus {
    match (end.counter, final_status(&end.how)) {
        (Some(counter), Some(status)) => CallStatus::Ended(counter, status),
        (_, _) => CallStatus::ConfirmedEarlier,
    }
}
