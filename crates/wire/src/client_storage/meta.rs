//! What a client knows of itself and of its cache.

use iolite_values::{ClientId, Counter, SchemaHash, StoreIncarnation, Timestamp};

use crate::encoding::{Reader, Writer, identity};
use crate::generated::{proto, shapes};
use crate::limits::{CLIENT_STORAGE, NAME};
use crate::{DecodeError, EncodeError, frame};

/// The version of a client's storage that is written here. All versions from 1 to this one are read.
pub const FORMAT_VERSION: u32 = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMeta {
    pub client: ClientId,
    pub next_counter: Counter,
    /// The store that the cache is of, if it holds anything.
    pub store: Option<StoreIncarnation>,
    /// What the cache is as of.
    pub at: Timestamp,
    /// Every outcome through this counter has been taken note of.
    pub acknowledged: Counter,
    /// Whose queue this is.
    pub user: String,
    pub schema: SchemaHash,
}

impl StoredMeta {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let stored = proto::StoredMeta {
            format_version: FORMAT_VERSION,
            client: self.client.0.to_bytes().to_vec(),
            next_counter: self.next_counter.0,
            store: self.store.map(|store| store.0.to_bytes().to_vec()).unwrap_or_default(),
            at: self.at.as_u64(),
            acknowledged: self.acknowledged.0,
            user: writer.text(&self.user, NAME),
            schema: self.schema.0.to_vec(),
        };
        writer.check()?;
        frame::encode(&stored, shapes::STORED_META, CLIENT_STORAGE)
    }

    /// # Errors
    /// [`DecodeError::UnknownVersion`]: leave the storage alone. Others: it is damaged.
    pub fn decode(bytes: &[u8]) -> Result<StoredMeta, DecodeError> {
        let stored: proto::StoredMeta = frame::decode(bytes, shapes::STORED_META, CLIENT_STORAGE)?;
        match stored.format_version {
            1..=FORMAT_VERSION => {}
            0 => return Err(DecodeError::malformed("a storage without a version")),
            version => return Err(DecodeError::UnknownVersion { version }),
        }
        let store = if stored.store.is_empty() { None } else { Some(StoreIncarnation(identity(&stored.store)?)) };
        Ok(StoredMeta {
            client: ClientId(identity(&stored.client)?),
            next_counter: Counter(stored.next_counter),
            store,
            at: Timestamp::from_u64(stored.at),
            acknowledged: Counter(stored.acknowledged),
            user: Reader::default().text(stored.user, NAME)?,
            schema: SchemaHash(identity(&stored.schema)?.to_bytes()),
        })
    }
}
