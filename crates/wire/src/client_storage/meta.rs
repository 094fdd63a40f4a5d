//! What a client knows of itself and of its cache.

use iolite_values::{ClientId, Counter, DeviceSecret, Id, SchemaHash, StoreIncarnation, Timestamp};

use crate::centres::{CentreToken, read_token, write_token};
use crate::encoding::{Reader, Writer, bytes_of, id_of, identity};
use crate::generated::{proto, shapes};
use crate::limits::{CLIENT_STORAGE, NAME};
use crate::{DecodeError, EncodeError, frame};

/// The version of a client's storage that is written here. All versions from 1 to this one are read.
pub const FORMAT_VERSION: u32 = 8;

/// The version since which a device has a secret.
const SECRETS: u32 = 4;

/// The version since which a client's id is the gateway's to tell.
const BOUND: u32 = 8;

/// The identity of a client at the store, as a welcome has told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    pub client: ClientId,
    /// The digest of the user. None: a development token was shown.
    pub subject: Option<Id>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMeta {
    /// The id that the device drew.
    pub device: ClientId,
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
    /// The secret that ids and authors are drawn from. None before version 4: they were made of `device`, which is therefore no secret.
    pub secret: Option<DeviceSecret>,
    /// Whether others may have computed `device` from ids of its rows: it was drawn before version 4, and is to be drawn again.
    pub others_know_client: bool,
    /// Effects of calls after this one were never sent. None: any may have been.
    pub unsent_after: Option<Counter>,
    /// Everything that the cache has seen of a group of data centres.
    pub centre_token: Option<CentreToken>,
    /// None before the first welcome. Nothing was sent as anybody then.
    pub bound: Option<Bound>,
    /// The digest of rights that the cache is by, if an advance told one.
    pub rights: Option<Id>,
}

impl StoredMeta {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let stored = proto::StoredMeta {
            format_version: FORMAT_VERSION,
            device: self.device.0.to_bytes().to_vec(),
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
            client: bytes_of(self.bound.map(|bound| bound.client.0)),
            subject: bytes_of(self.bound.and_then(|bound| bound.subject)),
            rights: bytes_of(self.rights),
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
        let secret = id_of(&stored.secret)?;
        let device = ClientId(identity(&stored.device)?);
        Ok(StoredMeta {
            device,
            next_counter: Counter(stored.next_counter),
            store: id_of(&stored.store)?.map(StoreIncarnation),
            at: Timestamp::from_u64(stored.at),
            acknowledged: Counter(stored.acknowledged),
            user: Reader::default().text(stored.user, NAME)?,
            schema: SchemaHash(identity(&stored.schema)?.to_bytes()),
            others_know_client: stored.others_know_client || stored.format_version < SECRETS,
            secret: secret.map(|secret| DeviceSecret(secret.to_bytes())),
            unsent_after: stored.unsent_after.map(Counter),
            centre_token: read_token(stored.centre_token, &Reader::default())?,
            bound: read_bound(stored.format_version, device, &stored.client, &stored.subject)?,
            rights: id_of(&stored.rights)?,
        })
    }
}

fn read_bound(version: u32, device: ClientId, client: &[u8], subject: &[u8]) -> Result<Option<Bound>, DecodeError> {
    let subject = id_of(subject)?;
    match id_of(client)? {
        Some(client) => Ok(Some(Bound { client: ClientId(client), subject })),
        None if subject.is_some() => Err(DecodeError::malformed("a user without the id of a client")),
        None if version < BOUND => Ok(Some(Bound { client: device, subject: None })),
        None => Ok(None),
    }
}
