//! The update: what changed at the leader since the one before.

use iolite_values::{Counter, Timestamp};

use super::{TabMutation, UpdateNumber};
use crate::DecodeError;
use crate::client_storage::{StoredEnd, StoredMutation};
use crate::encoding::{Reader, Writer, each, required};
use crate::generated::proto;
use crate::message::{Declined, Goodbye, RowSnapshot, Snapshot, SubscriptionId};
use crate::session::{
    read_declined, read_goodbye, read_rows, read_snapshot, write_declined, write_goodbye, write_rows, write_snapshot,
};

/// The only message that changes what a tab that follows shows: applied whole, when its last part is there, or not at all.
///
/// Invariant: after it, everything that the tab holds is as of `at`, under the mutations that are pending then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TabUpdate {
    pub number: UpdateNumber,
    /// Whether the next message continues this one.
    pub more: bool,
    pub at: Timestamp,
    pub connection: TabConnection,
    /// Rows that changed, as they are now; an empty one holds nothing any more.
    pub rows: Vec<RowSnapshot>,
    /// Interests that are held from now on.
    pub snapshots: Vec<Snapshot>,
    /// Interests that are asked for, are not held, and cannot be fetched at the moment.
    pub unavailable: Vec<SubscriptionId>,
    /// Pending mutations that are new or another than before.
    pub pending: Vec<TabMutation>,
    /// Mutations that are pending no more, and answers about tickets.
    pub ended: Vec<StoredEnd>,
    pub refused: Vec<StoredMutation>,
    /// Refused mutations that were dismissed.
    pub dismissed: Vec<Counter>,
    /// Interests that are asked for and cannot be had.
    pub declined: Vec<Declined>,
    /// Mutations that are pending no more, and whose end is told with a later update.
    pub withdrawn: Vec<Counter>,
    /// Whether there may be room now for what was declined for want of it.
    pub has_room: bool,
}

impl TabUpdate {
    /// One that tells nothing but these.
    pub fn empty(number: UpdateNumber, at: Timestamp, connection: TabConnection) -> TabUpdate {
        TabUpdate {
            number,
            more: false,
            at,
            connection,
            rows: Vec::new(),
            snapshots: Vec::new(),
            unavailable: Vec::new(),
            pending: Vec::new(),
            ended: Vec::new(),
            refused: Vec::new(),
            dismissed: Vec::new(),
            declined: Vec::new(),
            withdrawn: Vec::new(),
            has_room: false,
        }
    }
}

/// How the leader stands to its gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TabConnection {
    Offline,
    Connecting,
    Online,
    Refused(Goodbye),
}

pub(super) fn write(update: &TabUpdate, writer: &mut Writer) -> proto::TabUpdate {
    proto::TabUpdate {
        number: update.number.0,
        more: update.more,
        at: update.at.as_u64(),
        connection: Some(write_connection(&update.connection, writer)),
        rows: write_rows(&update.rows, writer),
        snapshots: update.snapshots.iter().map(|snapshot| write_snapshot(snapshot, writer)).collect(),
        unavailable: update.unavailable.iter().map(|id| id.0).collect(),
        pending: update.pending.iter().map(|mutation| mutation.write(writer)).collect(),
        ended: update.ended.iter().map(|end| end.write(writer)).collect(),
        refused: update.refused.iter().map(|refused| refused.write(writer)).collect(),
        dismissed: update.dismissed.iter().map(|counter| counter.0).collect(),
        declined: update.declined.iter().map(|declined| write_declined(declined, writer)).collect(),
        withdrawn: update.withdrawn.iter().map(|counter| counter.0).collect(),
        has_room: update.has_room,
    }
}

pub(super) fn read(update: proto::TabUpdate, reader: &mut Reader) -> Result<TabUpdate, DecodeError> {
    let connection = required(update.connection, "an update without a connection")?;
    let (rows, snapshots) = (read_rows(update.rows, reader)?, update.snapshots.into_iter());
    let snapshots = snapshots.map(|snapshot| read_snapshot(snapshot, reader)).collect::<Result<_, _>>()?;
    let pending = update.pending.into_iter().map(|mutation| TabMutation::read(mutation, reader));
    let pending = pending.collect::<Result<_, _>>()?;
    let ended = each(update.ended, |end| StoredEnd::read(end, reader))?;
    let refused = update.refused.into_iter().map(|refused| StoredMutation::read(refused, reader));
    let refused = refused.collect::<Result<_, _>>()?;
    let declined = update.declined.into_iter().map(|declined| read_declined(declined, reader));
    Ok(TabUpdate {
        number: UpdateNumber(update.number),
        more: update.more,
        at: Timestamp::from_u64(update.at),
        connection: read_connection(connection, reader)?,
        rows,
        snapshots,
        unavailable: update.unavailable.into_iter().map(SubscriptionId).collect(),
        pending,
        ended,
        refused,
        dismissed: update.dismissed.into_iter().map(Counter).collect(),
        declined: declined.collect::<Result<_, _>>()?,
        withdrawn: update.withdrawn.into_iter().map(Counter).collect(),
        has_room: update.has_room,
    })
}

fn write_connection(connection: &TabConnection, writer: &mut Writer) -> proto::TabConnection {
    use proto::TabConnectionState as State;
    let (state, refusal) = match connection {
        TabConnection::Offline => (State::Offline, None),
        TabConnection::Connecting => (State::Connecting, None),
        TabConnection::Online => (State::Online, None),
        TabConnection::Refused(goodbye) => (State::Refused, Some(write_goodbye(goodbye, writer))),
    };
    proto::TabConnection { state: state.into(), refusal }
}

fn read_connection(connection: proto::TabConnection, reader: &Reader) -> Result<TabConnection, DecodeError> {
    use proto::TabConnectionState as State;
    let unknown = DecodeError::malformed("a connection of no known state");
    Ok(match (State::try_from(connection.state).map_err(|_| unknown)?, connection.refusal) {
        (State::Offline, None) => TabConnection::Offline,
        (State::Connecting, None) => TabConnection::Connecting,
        (State::Online, None) => TabConnection::Online,
        (State::Refused, Some(goodbye)) => TabConnection::Refused(read_goodbye(goodbye, reader)?),
        (State::Unspecified | State::Offline | State::Connecting | State::Online | State::Refused, _) => {
            return Err(unknown);
        }
    })
}
