//! How a call that came by ticket ended.

use iolite_values::{Counter, Id, Timestamp};

use crate::encoding::{Reader, Writer, identity, required};
use crate::generated::proto::{self, stored_end::How};
use crate::generated::shapes;
use crate::limits::{CLIENT_STORAGE, REASON};
use crate::{DecodeError, EncodeError, frame};

/// The end of a mutation, for those who know its ticket or its counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEnd {
    /// `None`: it ended under an earlier leader, and nobody knows its counter any more.
    pub counter: Option<Counter>,
    /// `None`: it was called where it was queued.
    pub ticket: Option<Id>,
    pub how: EndedAs,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndedAs {
    Confirmed(Timestamp),
    /// It took effect, at a timestamp that nobody knows any more.
    ConfirmedEarlier,
    Rejected(String),
    Quarantined(String),
    Cancelled(String),
    /// A person did not keep what it wrote.
    Overruled,
}

impl StoredEnd {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let stored = self.write(&mut writer);
        writer.check()?;
        frame::encode(&stored, shapes::STORED_END, CLIENT_STORAGE)
    }

    /// # Errors
    /// [`DecodeError`]: the storage is damaged.
    pub fn decode(bytes: &[u8]) -> Result<StoredEnd, DecodeError> {
        let stored = frame::decode(bytes, shapes::STORED_END, CLIENT_STORAGE)?;
        StoredEnd::read(stored, &Reader::default())
    }

    pub(crate) fn write(&self, writer: &mut Writer) -> proto::StoredEnd {
        let how = match &self.how {
            EndedAs::Confirmed(at) => How::Confirmed(at.as_u64()),
            EndedAs::ConfirmedEarlier => How::ConfirmedEarlier(true),
            EndedAs::Rejected(reason) => How::Rejected(writer.text(reason, REASON)),
            EndedAs::Quarantined(reason) => How::Quarantined(writer.text(reason, REASON)),
            EndedAs::Cancelled(reason) => How::Cancelled(writer.text(reason, REASON)),
            EndedAs::Overruled => How::Overruled(true),
        };
        let ticket = self.ticket.map(|ticket| ticket.to_bytes().to_vec()).unwrap_or_default();
        proto::StoredEnd { counter: self.counter.map(|counter| counter.0), ticket, how: Some(how) }
    }

    pub(crate) fn read(stored: proto::StoredEnd, reader: &Reader) -> Result<StoredEnd, DecodeError> {
        let how = match required(stored.how, "an end of no known kind")? {
            How::Confirmed(at) => EndedAs::Confirmed(Timestamp::from_u64(at)),
            How::ConfirmedEarlier(true) => EndedAs::ConfirmedEarlier,
            How::Overruled(true) => EndedAs::Overruled,
            How::ConfirmedEarlier(false) | How::Overruled(false) => {
                return Err(DecodeError::malformed("an end that is none"));
            }
            How::Rejected(reason) => EndedAs::Rejected(reader.text(reason, REASON)?),
            How::Quarantined(reason) => EndedAs::Quarantined(reader.text(reason, REASON)?),
            How::Cancelled(reason) => EndedAs::Cancelled(reader.text(reason, REASON)?),
        };
        let ticket = if stored.ticket.is_empty() { None } else { Some(identity(&stored.ticket)?) };
        Ok(StoredEnd { counter: stored.counter.map(Counter), ticket, how })
    }
}
