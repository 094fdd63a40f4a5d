//! Messages between data centres.

use iolite_values::StoreIncarnation;

use super::Place;
use crate::encoding::{Writer, identity, required};
use crate::generated::proto::{self, from_centre_frame::Message};
use crate::generated::shapes;
use crate::limits::{CENTRE_GROUP, FROM_CENTRE};
use crate::{DecodeError, EncodeError, frame};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromCentre {
    /// The first message, from who dialled: serve your outbox behind `after`.
    Follow {
        /// Both have to be of one group.
        group: String,
        /// The store whose outbox it followed before, if it did.
        known_store: Option<StoreIncarnation>,
        after: Place,
    },
    /// The answer: the outbox of this store comes.
    Following {
        store: StoreIncarnation,
        /// The last place of it.
        last: Place,
    },
    Entries(Entries),
    /// From who dialled: everything through this place is in its store, durable.
    Applied {
        through: Place,
    },
    /// In place of [`FromCentre::Following`], or after it: what is asked for was deleted. The one that asked is lost, and has to be made anew.
    Lost,
}

/// A stretch of an outbox without a hole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries {
    /// The place before the first one.
    pub after: Place,
    /// In order, each with the bytes of a [`super::OutboxEntry`].
    pub entries: Vec<(Place, Vec<u8>)>,
}

impl FromCentre {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let message = match self {
            FromCentre::Follow { group, known_store, after } => Message::Follow(proto::CentreFollow {
                group: writer.text(group, CENTRE_GROUP),
                known_store: known_store.map(|store| store.0.to_bytes().to_vec()).unwrap_or_default(),
                after: after.0,
            }),
            FromCentre::Following { store, last } => {
                Message::Following(proto::CentreFollowing { store: store.0.to_bytes().to_vec(), last: last.0 })
            }
            FromCentre::Entries(Entries { after, entries }) => Message::Entries(proto::CentreEntries {
                after: after.0,
                places: entries.iter().map(|(place, _)| place.0).collect(),
                entries: entries.iter().map(|(_, bytes)| bytes.clone()).collect(),
            }),
            FromCentre::Applied { through } => Message::Applied(proto::CentreApplied { through: through.0 }),
            FromCentre::Lost => Message::Lost(proto::CentreLost {}),
        };
        writer.check()?;
        frame::encode(&proto::FromCentreFrame { message: Some(message) }, shapes::FROM_CENTRE_FRAME, FROM_CENTRE)
    }

    /// # Errors
    /// [`DecodeError`]: the peer is of another version, or wrong.
    pub fn decode(bytes: &[u8]) -> Result<FromCentre, DecodeError> {
        let frame: proto::FromCentreFrame = frame::decode(bytes, shapes::FROM_CENTRE_FRAME, FROM_CENTRE)?;
        Ok(match required(frame.message, "no message that is known here")? {
            Message::Follow(follow) => FromCentre::Follow {
                group: crate::encoding::Reader::default().text(follow.group, CENTRE_GROUP)?,
                known_store: if follow.known_store.is_empty() { None } else { Some(store(&follow.known_store)?) },
                after: Place(follow.after),
            },
            Message::Following(following) => {
                FromCentre::Following { store: store(&following.store)?, last: Place(following.last) }
            }
            Message::Entries(entries) => FromCentre::Entries(read_entries(entries)?),
            Message::Lost(proto::CentreLost {}) => FromCentre::Lost,
            Message::Applied(applied) => FromCentre::Applied { through: Place(applied.through) },
        })
    }
}

fn store(bytes: &[u8]) -> Result<StoreIncarnation, DecodeError> {
    Ok(StoreIncarnation(identity(bytes)?))
}

fn read_entries(entries: proto::CentreEntries) -> Result<Entries, DecodeError> {
    let proto::CentreEntries { after, places, entries } = entries;
    let rises = places.first().is_some_and(|first| *first > after) && places.windows(2).all(|pair| pair[0] < pair[1]);
    if places.len() != entries.len() || !rises {
        return Err(DecodeError::malformed("entries whose places do not rise, or are not as many"));
    }
    Ok(Entries { after: Place(after), entries: places.into_iter().map(Place).zip(entries).collect() })
}
