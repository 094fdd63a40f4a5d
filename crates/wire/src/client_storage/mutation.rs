//! Mutations of a client's queue.

use iolite_values::{Counter, Id, Write};

use super::StoredLogCall;
use crate::encoding::{Reader, Writer, identity};
use crate::generated::{proto, shapes};
use crate::limits::{CLIENT_STORAGE, NAME, REASON};
use crate::{DecodeError, EncodeError, frame};

/// A mutation that waits, with all that a run of it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMutation {
    pub counter: Counter,
    pub name: String,
    /// JSON.
    pub arguments: String,
    /// Microseconds since 1970, at the call.
    pub called_at_micros: u64,
    /// What a tab that does not lead named its call with, before it had a counter.
    pub ticket: Option<Id>,
    pub status: MutationStatus,
    /// The part that only operations of logs have.
    pub log: Option<StoredLogCall>,
    /// The effects of a call that has taken place at the device, of tables that merge. A closure that did so has an empty name.
    pub effects: Option<Vec<Write>>,
    /// Whether nothing of it was sent: it has run to no end yet, or has a time that the server does not take yet.
    pub unsent: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MutationStatus {
    /// It will be sent, or its outcome is awaited.
    Waiting,
    /// Its own closure gave up for good; kept with the reason until the app or the user dismisses it.
    Rejected(String),
    /// Refused for good; kept with the reason likewise.
    Quarantined(String),
    /// The call has taken place at the device. Its effects are stored as kept rows.
    Kept,
}

impl StoredMutation {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let stored = self.write(&mut writer);
        writer.check()?;
        frame::encode(&stored, shapes::STORED_MUTATION, CLIENT_STORAGE)
    }

    /// # Errors
    /// [`DecodeError`]: the storage is damaged.
    pub fn decode(bytes: &[u8]) -> Result<StoredMutation, DecodeError> {
        let stored = frame::decode(bytes, shapes::STORED_MUTATION, CLIENT_STORAGE)?;
        StoredMutation::read(stored, &mut Reader::default())
    }

    pub(crate) fn write(&self, writer: &mut Writer) -> proto::StoredMutation {
        let (status, reason) = match &self.status {
            MutationStatus::Waiting => (proto::MutationStatus::Waiting, String::new()),
            MutationStatus::Rejected(reason) => (proto::MutationStatus::Rejected, writer.text(reason, REASON)),
            MutationStatus::Quarantined(reason) => (proto::MutationStatus::Quarantined, writer.text(reason, REASON)),
            MutationStatus::Kept => (proto::MutationStatus::Kept, String::new()),
        };
        proto::StoredMutation {
            counter: self.counter.0,
            name: writer.text(&self.name, NAME),
            arguments: self.arguments.clone(),
            called_at_micros: self.called_at_micros,
            ticket: self.ticket.map(|ticket| ticket.to_bytes().to_vec()).unwrap_or_default(),
            status: status.into(),
            reason,
            log: self.log.as_ref().map(|log| log.write(writer)),
            effects: self.effects.as_ref().map(|writes| proto::StoredEffects { writes: writer.writes(writes) }),
            unsent: self.unsent,
        }
    }

    pub(crate) fn read(stored: proto::StoredMutation, reader: &mut Reader) -> Result<StoredMutation, DecodeError> {
        let unknown = DecodeError::malformed("a mutation of no known status");
        let status = match proto::MutationStatus::try_from(stored.status).map_err(|_| unknown)? {
            proto::MutationStatus::Unspecified => return Err(unknown),
            proto::MutationStatus::Waiting if stored.reason.is_empty() => MutationStatus::Waiting,
            proto::MutationStatus::Kept if stored.reason.is_empty() => MutationStatus::Kept,
            proto::MutationStatus::Waiting | proto::MutationStatus::Kept => {
                return Err(DecodeError::malformed("a reason for what waits"));
            }
            proto::MutationStatus::Rejected => MutationStatus::Rejected(reader.text(stored.reason, REASON)?),
            proto::MutationStatus::Quarantined => MutationStatus::Quarantined(reader.text(stored.reason, REASON)?),
        };
        Ok(StoredMutation {
            counter: Counter(stored.counter),
            name: reader.text(stored.name, NAME)?,
            arguments: stored.arguments,
            called_at_micros: stored.called_at_micros,
            ticket: if stored.ticket.is_empty() { None } else { Some(identity(&stored.ticket)?) },
            status,
            log: stored.log.map(|log| StoredLogCall::read(log, reader)).transpose()?,
            effects: stored.effects.map(|effects| reader.writes(effects.writes)).transpose()?,
            unsent: stored.unsent,
        })
    }
}
