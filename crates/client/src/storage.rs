//! What a client keeps on its device: a map of keys to values that the host stores, and that survives a restart.
//!
//! Invariants:
//! - the row changes of an `Advance`, its timestamp and the mutations that it confirmed are stored together or not at all;
//! - no counter is used that a restart could use again: counters are reserved in blocks, on disk, ahead of use;
//! - an unknown format version is refused and left as it is.

mod load;
mod pending_changes;
mod refused;

use iolite_wire::DecodeError;

pub(crate) use load::Loaded;
pub(crate) use pending_changes::PendingChanges;

/// One change of the host's map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageChange {
    Put { key: Vec<u8>, value: Vec<u8> },
    Delete { key: Vec<u8> },
}

/// Why a client's storage cannot be used. It is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("the client's storage: {0}")]
    Unreadable(#[from] DecodeError),
    #[error("the client's storage has an entry of an unknown kind {0:?}: it was written by a newer release")]
    UnknownKey(Vec<u8>),
    #[error("the client's storage is of user {stored:?}, not of {asked:?}: give each user a storage of their own")]
    OtherUser { stored: String, asked: String },
    #[error("a user's name has at most {limit} bytes")]
    UserTooLong { limit: usize },
    #[error(transparent)]
    Kept(#[from] iolite_rowsync::RestoreError),
    #[error("the client's storage has entries but lacks its head: it is damaged")]
    Headless,
}

/// Kinds of entries: the first byte of a key.
pub(crate) mod kind {
    pub(super) const META: u8 = b'm';
    pub(super) const MUTATION: u8 = b'q';
    pub(super) const REFUSED: u8 = b'x';
    pub(super) const ROW: u8 = b'r';
    pub(super) const INTEREST: u8 = b'i';
    /// Calls of tabs that do not lead, by ticket.
    pub(crate) const OUTBOX: u8 = b'o';
    /// Ends of calls by ticket that nothing else tells any more.
    pub(super) const END: u8 = b'e';
    /// How far logs are replayed.
    pub(super) const LOG: u8 = b'l';
}
