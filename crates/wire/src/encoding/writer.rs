//! The state of an encoder: cells that have numbers, the last timestamp, and the first limit that the message in hand passes.
//!
//! Invariant: after [`Writer::rollback`] it is as after the last [`Writer::commit`], as far as any reader can tell.

use iolite_values::Id;

use crate::EncodeError;
use crate::limits::Limit;

use super::cell::SentCells;
use super::name::ToldClients;
use super::timestamp::Chain;

#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(super) cells: SentCells,
    pub(super) times: Chain,
    /// Only for messages that stand alone: this is not rolled back.
    pub(super) clients: ToldClients,
    times_before: Chain,
    excess: Option<Limit>,
}

impl Writer {
    /// A text within a limit. (Past it, the message in hand fails.)
    pub(crate) fn text(&mut self, text: &str, limit: Limit) -> String {
        self.count(text.len(), limit);
        text.to_owned()
    }

    pub(crate) fn count(&mut self, count: usize, limit: Limit) {
        if count > limit.most {
            self.excess.get_or_insert(limit);
        }
    }

    /// Ends the message in hand: with an error if it passed a limit.
    pub(crate) fn check(&self) -> Result<(), EncodeError> {
        self.excess.map_or(Ok(()), |limit| Err(EncodeError::TooLarge { limit }))
    }

    /// The message is going to be sent.
    pub(crate) fn commit(&mut self) {
        self.cells.commit();
        self.times_before = self.times;
    }

    /// The message is not going to be sent.
    pub(crate) fn rollback(&mut self) {
        self.cells.rollback();
        self.times = self.times_before;
        self.excess = None;
    }
}

/// The bytes of a field that is empty if there is no identity.
pub(crate) fn bytes_of(id: Option<Id>) -> Vec<u8> {
    id.map(|id| id.to_bytes().to_vec()).unwrap_or_default()
}
