//! Messages of a gateway.

use std::time::Duration;

use iolite_values::{
    Attempt, ClientId, Counter, Id, KeyRange, Row, RowKey, StoreIncarnation, TableId, Timestamp, Write,
};

use crate::centres::{CentreName, Clock};

use super::{LogHash, LogMembers, LogPart, ProtocolVersion, SubscriptionId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromGateway {
    /// The session is open.
    Welcome(Welcome),
    /// The schema's hash is not known here: send it whole.
    SchemaWanted,
    Advance(Advance),
    Pong(u32),
    /// The session ends after this message.
    Goodbye(Goodbye),
    /// A part of a log's state is wanted, of a member that has said its hash.
    LogWanted(LogPart),
    /// Another member of a log has another state, with this hash.
    LogDiffers(LogHash),
    /// A transaction of tables that merge is in the store of this data centre, and will be shown once enough others have it. Its outcome comes then.
    Stored(Counter),
    /// The token that was sent last has taken the place of the one before. It is good for so long, in whole milliseconds.
    Renewed(Duration),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    pub version: ProtocolVersion,
    pub store: StoreIncarnation,
    /// Whether the resume token is good: held interests get changes. Otherwise they get snapshots.
    pub resumed: bool,
    /// The server's clock, in microseconds since 1970, if it says so: a device whose clock is wrong bounds the times of its effects by it.
    pub clock_micros: Option<u64>,
    /// The data centre, if it is of a group of several.
    pub centre: Option<CentreName>,
    /// The store is another one than that of the resume token, but has all that the client has seen: `centre_token` of the hello says so.
    pub moved: bool,
    /// The id of the client: its transactions carry it, and it belongs to one user on one device.
    pub client: ClientId,
    /// A digest of who the user is. None with the development token.
    pub subject: Option<Id>,
    /// For how long the token is good, in whole milliseconds. None: it does not run out.
    pub token_left: Option<Duration>,
}

/// The only message that changes what a client sees: applied whole, or not at all.
///
/// Invariant: after it, everything subscribed is as of `to`. Interests that are not mentioned did not change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advance {
    pub to: Timestamp,
    /// Whether the next message continues this one: nothing is to be applied before the last part is there.
    pub more: bool,
    /// Changes of cells that were subscribed before, in order.
    pub changes: Vec<Write>,
    /// The interests that are new, as of `to`; they come after `changes`.
    pub snapshots: Vec<Snapshot>,
    pub outcomes: Vec<Outcome>,
    /// Interests that are not subscribed to. What the client held of them is as of `to` no more.
    pub declined: Vec<Declined>,
    /// Rows that became answers of queries, whole, as of `to`; they come after `changes`. Those that are answers no more are told by what was changed in them.
    pub entered: Vec<RowSnapshot>,
    /// Own commits at or below this are delivered: everybody who follows what they wrote has applied it, but for who owed that for too long. `None`:
    /// there is no news of it.
    pub delivered: Option<Timestamp>,
    /// The client is to say [`super::FromClient::Applied`] once it has applied this: others wait for that.
    pub is_owed: bool,
    /// The members of logs that the client follows, or how they changed: at most one of a log.
    pub members: Vec<LogMembers>,
    /// How far the outboxes of data centres are seen with this advance and those before it, where that has changed.
    pub clock: Clock,
    /// Rows that are in no interest of the session any more, as of `to`; they come after `changes`. Nothing of what was written in them is told.
    pub gone: Vec<GoneRow>,
    /// A digest of all by which it is decided what the client's user may see, as of `to`. None: it is as was told before, or no rule decides.
    pub rights: Option<Id>,
}

/// A row that a client holds no more: it is out of its user's sight, or has left all that its user asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoneRow {
    pub table: TableId,
    pub key: RowKey,
}

/// An interest that is not subscribed to, although it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declined {
    pub subscription: SubscriptionId,
    pub why: Declination,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declination {
    /// There was no room for it beside the others of its answer, or for what was written while it was read: ask again.
    Later,
    /// It is more than a session ever gets. The text is for people.
    TooLarge(String),
    /// The rights do not let its user have it. The text is for people.
    Denied(String),
}

/// All rows of one interest. What the client held of it before is replaced. Snapshots of one subscription in several parts of one
/// [`Advance`] are one: their rows together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub subscription: SubscriptionId,
    pub rows: Vec<RowSnapshot>,
    /// Of a query of which not all was asked for: the part of its range to which this reaches, and the subscription with it. None: the whole range.
    pub reaches: Option<Box<KeyRange>>,
}

/// One row; of a cell interest, only that cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSnapshot {
    pub table: TableId,
    pub key: RowKey,
    pub row: Row,
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub counter: Counter,
    /// The attempt that was decided; it may be an earlier one than the last that was sent.
    pub attempt: Attempt,
    pub verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Final: it took effect at this timestamp, and never will again.
    Committed(Timestamp),
    /// Final: the app's own abort held, and the mutation took no effect.
    Aborted,
    /// Something that it read has changed: run it again on a snapshot at or above this timestamp. This attempt will never take effect
    /// unless its outcome comes in place of a later one's.
    Conflict(Timestamp),
    /// Final for this mutation: it cannot be accepted as it is.
    Rejected(Rejection),
}

/// Why a mutation is refused for good. Its payload is kept by the client, in quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It does not fit the schema, or a limit.
    Invalid(String),
    /// The rights do not let this user do it. The sentence names table and rule, and no value.
    Denied(String),
    /// Its outcome was acknowledged before: the client's store is an old copy.
    Forgotten,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goodbye {
    pub reason: GoodbyeReason,
    /// For people: what happened, and what to do.
    pub message: String,
    /// When to try again; never, without the app's or the user's doing, if `None`.
    pub retry_after: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoodbyeReason {
    /// No common protocol version.
    Version,
    /// The token is missing, wrong or expired. The queue is held, not dropped.
    Unauthorized,
    /// The schema does not fit the server's.
    Schema,
    /// A frame that cannot be read, or a message out of place.
    Protocol,
    /// A limit was passed: docs/limits.md.
    Limit,
    /// The client did not read fast enough: come back with the resume token.
    Slow,
    /// Another session of the same client has taken over.
    Replaced,
    /// The server stops, or cannot serve at the moment.
    Unavailable,
    /// The token is of another user than this device's data. The queue is held, not dropped. A client tells it to itself and to its tabs, too.
    OtherUser,
}
