//! What can go wrong with an encoding, by remedy.

use crate::limits::Limit;

/// Bytes that are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end inside a field. Of a stored record: it was not written whole.
    #[error("the message ends in its middle: it was cut off on its way or on its disk")]
    Truncated,
    /// The peer is wrong, or the bytes were damaged. End the session; do not read on.
    #[error("not a message: {what}")]
    Malformed { what: &'static str },
    /// The peer passed a limit of docs/protocols/wire.md.
    #[error("too large: a message has at most {limit}")]
    TooLarge { limit: Limit },
    /// Written by a newer program. Leave it untouched, and use that program.
    #[error("version {version} of the format is not known here: use a newer release; nothing was changed")]
    UnknownVersion { version: u32 },
    /// An earlier frame of this session could not be decoded, so nothing after it can be trusted.
    #[error("an earlier message of this session could not be read: connect again")]
    Broken,
}

/// A message that no peer would accept. Nothing was encoded, and the encoder is as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Split the message, or refuse what it is made of.
    #[error("too large to send: a message has at most {limit}")]
    TooLarge { limit: Limit },
}

impl DecodeError {
    pub(crate) const fn malformed(what: &'static str) -> DecodeError {
        DecodeError::Malformed { what }
    }
}
