//! Mutations of a client's queue.

use iolite_values::Counter;

use crate::encoding::{Reader, Writer};
use crate::generated::{proto, shapes};
use crate::limits::{CLIENT_STORAGE, NAME, REASON};
use crate::message::Submit;
use crate::session::{read_submit, write_submit};
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
    /// What the mutator's random numbers come from.
    pub seed: Option<u64>,
    /// What was sent last, to be sent again unchanged until its outcome is known.
    pub in_flight: Option<Submit>,
    pub status: MutationStatus,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MutationStatus {
    /// It will be sent, or its outcome is awaited.
    Waiting,
    /// Refused for good, and kept with the reason until the app or the user decides.
    Quarantined(String),
}

impl StoredMutation {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let (status, quarantine_reason) = match &self.status {
            MutationStatus::Waiting => (proto::MutationStatus::Waiting, String::new()),
            MutationStatus::Quarantined(reason) => (proto::MutationStatus::Quarantined, writer.text(reason, REASON)),
        };
        let stored = proto::StoredMutation {
            counter: self.counter.0,
            name: writer.text(&self.name, NAME),
            arguments: self.arguments.clone(),
            called_at_micros: self.called_at_micros,
            seed: self.seed,
            in_flight: self.in_flight.as_ref().map(|submit| write_submit(submit, &mut writer)),
            status: status.into(),
            quarantine_reason,
        };
        writer.check()?;
        frame::encode(&stored, shapes::STORED_MUTATION, CLIENT_STORAGE)
    }

    /// # Errors
    /// [`DecodeError`]: the storage is damaged.
    pub fn decode(bytes: &[u8]) -> Result<StoredMutation, DecodeError> {
        let stored: proto::StoredMutation = frame::decode(bytes, shapes::STORED_MUTATION, CLIENT_STORAGE)?;
        let mut reader = Reader::default();
        let unknown = DecodeError::malformed("a mutation of no known status");
        let status = match proto::MutationStatus::try_from(stored.status).map_err(|_| unknown)? {
            proto::MutationStatus::Unspecified => return Err(unknown),
            proto::MutationStatus::Waiting if stored.quarantine_reason.is_empty() => MutationStatus::Waiting,
            proto::MutationStatus::Waiting => return Err(DecodeError::malformed("a reason for no quarantine")),
            proto::MutationStatus::Quarantined => {
                MutationStatus::Quarantined(reader.text(stored.quarantine_reason, REASON)?)
            }
        };
        Ok(StoredMutation {
            counter: Counter(stored.counter),
            name: reader.text(stored.name, NAME)?,
            arguments: stored.arguments,
            called_at_micros: stored.called_at_micros,
            seed: stored.seed,
            in_flight: stored.in_flight.map(|submit| read_submit(submit, &mut reader)).transpose()?,
            status,
        })
    }
}
