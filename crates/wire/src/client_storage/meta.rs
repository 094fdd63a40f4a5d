//! What a client knows of itself and of its cache.

use iolite_values::{ClientId, Counter, DeviceSecret, Id, SchemaHash, StoreIncarnation, Timestamp};

use crate::centres::{CentreToken, read_token, write_token};
use crate::encoding::{Reader, Writer, identity};
use crate::generated::{proto, shapes};
use crate::limits::{CLIENT_STORAGE, NAME};
use crate::{DecodeError, EncodeError, frame};

/// The version of a client's storage that is written here. All versions from 1 to this one are read.
pub const FORMAT_VERSION: u32 = 7;

/// The version since which a device has a secret.
const SECRETS: u32 = 4;

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
    /// The secret that ids and authors are drawn from. None before version 4: they were made of `client`, which is therefore no secret.
    pub secret: Option<DeviceSecret>,
    /// Whether others may have computed `client` from ids of its rows: it was drawn before version 4, and is to be drawn again.
    pub others_know_client: bool,
    /// Effects of calls after this one were never sent. None: any may have been.
    pub unsent_after: Option<Counter>,
    /// Everything that the cache has seen of a group of data centres.
    pub centre_token: Option<CentreToken>,
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
            secret: self.secret.map(|DeviceSecret(secret)| secret.to_vec()).unwrap_or_default(),
            others_know_client: self.others_know_client,
            unsent_after: self.unsent_after.map(|counter| counter.0),
            centre_token: self.centre_token.as_ref().map(|token| write_token(token, &mut writer)),
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
        let secret = if stored.secret.is_empty() { None } else { Some(identity(&stored.secret)?) };
        let store = if stored.store.is_empty() { None } else { Some(StoreIncarnation(identity(&stored.store)?)) };
        Ok(StoredMeta {
            client: ClientId(identity(&stored.client)?),
            next_counter: Counter(stored.next_counter),
            store,
            at: Timestamp::from_u64(stored.at),
            acknowledged: Counter(stored.acknowledged),
            user: Reader::default().text(stored.user, NAME)?,
            schema: SchemaHash(identity(&stored.schema)?.to_bytes()),
            others_know_client: stored.others_know_client || stored.format_version < SECRETS,
            secret: secret.map(|secret: Id| DeviceSecret(secret.to_bytes())),
            unsent_after: stored.unsent_after.map(Counter),
            centre_token: read_token(stored.centre_token, &Reader::default())?,
        })
    }
}
