//! The state of a decoder, and the checks of plain fields.

use iolite_values::{ClientId, Id};

use crate::DecodeError;
use crate::limits::Limit;

use super::cell::ReceivedCells;
use super::timestamp::Chain;

#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub(super) cells: ReceivedCells,
    pub(super) times: Chain,
    /// Those that this message has told, in the order of their numbers.
    pub(super) clients: Vec<ClientId>,
}

impl Reader {
    pub(crate) fn text(&self, text: String, limit: Limit) -> Result<String, DecodeError> {
        self.count(text.len(), limit)?;
        Ok(text)
    }

    pub(crate) fn count(&self, count: usize, limit: Limit) -> Result<(), DecodeError> {
        if count > limit.most { Err(DecodeError::TooLarge { limit }) } else { Ok(()) }
    }
}

/// 16 bytes that name a client, a store, a schema.
pub(crate) fn identity(bytes: &[u8]) -> Result<Id, DecodeError> {
    let bytes = bytes.try_into().map_err(|_| DecodeError::malformed("an identity has 16 bytes"))?;
    Ok(Id::from_bytes(bytes))
}

/// The identity of a field that is empty if there is none.
pub(crate) fn id_of(bytes: &[u8]) -> Result<Option<Id>, DecodeError> {
    if bytes.is_empty() { Ok(None) } else { identity(bytes).map(Some) }
}

/// What a field holds that no message goes without.
pub(crate) fn required<T>(field: Option<T>, what: &'static str) -> Result<T, DecodeError> {
    field.ok_or(DecodeError::Malformed { what })
}

/// What each of some fields holds. There is room for all from the beginning, which `collect` of results does not make: long lists are decoded all the time.
pub(crate) fn each<F, T>(
    fields: Vec<F>,
    mut read: impl FnMut(F) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let mut all = Vec::with_capacity(fields.len());
    for field in fields {
        all.push(read(field)?);
    }
    Ok(all)
}

/// A field whose presence says it all.
pub(crate) fn only_true(field: bool) -> Result<(), DecodeError> {
    if field { Ok(()) } else { Err(DecodeError::malformed("a field that can only be true is not")) }
}
