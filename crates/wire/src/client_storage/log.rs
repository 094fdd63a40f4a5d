//! How far a client has replayed its logs, and what calls of their operations have beside name and arguments.

use iolite_values::{RowKey, Timestamp};

use crate::encoding::{Reader, Writer};
use crate::generated::{proto, shapes};
use crate::limits::{CLIENT_STORAGE, NAME};
use crate::logs::seed;
use crate::{DecodeError, EncodeError, frame};

/// How far a log is replayed: entries of `page` up to `place` (not included), and `index` entries in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLog {
    pub log: String,
    /// The key of one column that names the instance.
    pub instance: RowKey,
    pub page: u64,
    pub place: u64,
    pub index: u64,
}

/// The part of a call that only operations of logs have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLogCall {
    pub log: String,
    /// The key of one column that names the instance.
    pub instance: RowKey,
    /// The seed of the operation's randomness.
    pub seed: [u8; 16],
    /// When its entry was committed, if that is known.
    pub committed: Option<Timestamp>,
}

impl StoredLog {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let stored = proto::StoredLog {
            log: writer.text(&self.log, NAME),
            instance: self.instance.as_bytes().to_vec(),
            page: self.page,
            place: self.place,
            index: self.index,
        };
        writer.check()?;
        frame::encode(&stored, shapes::STORED_LOG, CLIENT_STORAGE)
    }

    /// # Errors
    /// [`DecodeError`]: the storage is damaged.
    pub fn decode(bytes: &[u8]) -> Result<StoredLog, DecodeError> {
        let stored: proto::StoredLog = frame::decode(bytes, shapes::STORED_LOG, CLIENT_STORAGE)?;
        Ok(StoredLog {
            log: Reader::default().text(stored.log, NAME)?,
            instance: instance(&stored.instance)?,
            page: stored.page,
            place: stored.place,
            index: stored.index,
        })
    }
}

impl StoredLogCall {
    pub(super) fn write(&self, writer: &mut Writer) -> proto::StoredLogCall {
        proto::StoredLogCall {
            log: writer.text(&self.log, NAME),
            instance: self.instance.as_bytes().to_vec(),
            seed: self.seed.to_vec(),
            committed: self.committed.map(Timestamp::as_u64),
        }
    }

    pub(super) fn read(stored: proto::StoredLogCall, reader: &Reader) -> Result<StoredLogCall, DecodeError> {
        Ok(StoredLogCall {
            log: reader.text(stored.log, NAME)?,
            instance: instance(&stored.instance)?,
            seed: seed(&stored.seed)?,
            committed: stored.committed.map(Timestamp::from_u64),
        })
    }
}

fn instance(bytes: &[u8]) -> Result<RowKey, DecodeError> {
    RowKey::from_bytes(bytes).map_err(|_| DecodeError::malformed("an instance is a key"))
}
