//! What both sides of a link say first: who they are, or why not.
//!
//! Invariants:
//! - the first 16 bytes mean the same in every version: magic, versions, length of the rest;
//! - whatever the bytes are, reading them is an error or a hello, and takes no more memory than they have.
//!
//! Source: Iolite's own; docs/protocols/links.md has the bytes.

use super::NodeName;

/// Versions of this transport that this program speaks.
pub(crate) const VERSION_OLDEST: u16 = 1;
pub(crate) const VERSION_NEWEST: u16 = 1;
/// Bytes that a program may add to its hello.
pub(crate) const SAID_BYTES_MAX: usize = 4096;
/// Bytes after the preamble that are read at all: later versions may say more than this one.
pub(crate) const HELLO_BYTES_MAX: usize = 8192;
/// Bytes of a refusal's sentence. It is cut.
pub(crate) const REFUSAL_BYTES_MAX: usize = 1024;

const HELLO_MAGIC: [u8; 8] = *b"IOLITEL\n";
const REFUSAL_MAGIC: [u8; 8] = *b"IOLITEX\n";
/// Magic, versions, length of the rest.
pub(crate) const PREAMBLE_BYTES: usize = 16;

/// What one side says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub name: NodeName,
    /// Bytes of the largest frame that it takes.
    pub frame_bytes_max: u32,
    /// What the protocol above has it say.
    pub said: Vec<u8>,
}

/// The first 16 bytes that a peer sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preamble {
    pub kind: Kind,
    pub oldest: u16,
    pub newest: u16,
    pub body_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Hello,
    Refusal,
}

/// Why bytes are no beginning of a link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HelloError {
    #[error("it speaks TLS")]
    Tls,
    #[error("it does not speak this protocol")]
    OtherProtocol,
    #[error("it speaks versions {oldest} to {newest} of links, and this node {VERSION_OLDEST} to {VERSION_NEWEST}")]
    Version { oldest: u16, newest: u16 },
    #[error("its hello has {0} bytes, at most {HELLO_BYTES_MAX}")]
    TooLong(usize),
    #[error("its hello makes no sense: {0}")]
    Garbled(String),
}

impl Hello {
    /// # Errors
    /// When the program says more than [`SAID_BYTES_MAX`] bytes: how many.
    pub fn encode(&self) -> Result<Vec<u8>, usize> {
        if self.said.len() > SAID_BYTES_MAX {
            return Err(self.said.len());
        }
        let name = self.name.as_str().as_bytes();
        let name_bytes = u8::try_from(name.len()).expect("a name has at most 63 bytes");
        let mut body = vec![name_bytes];
        body.extend_from_slice(name);
        body.extend_from_slice(&self.frame_bytes_max.to_le_bytes());
        body.extend_from_slice(&self.said);
        Ok(with_preamble(HELLO_MAGIC, &body))
    }

    /// # Errors
    /// [`HelloError::Garbled`] and [`HelloError::TooLong`].
    pub fn decode(body: &[u8]) -> Result<Hello, HelloError> {
        let short = || HelloError::Garbled("it ends too early".into());
        let (&name_bytes, rest) = body.split_first().ok_or_else(short)?;
        let (name, rest) = rest.split_at_checked(name_bytes.into()).ok_or_else(short)?;
        let (frame_bytes_max, said) = rest.split_first_chunk().ok_or_else(short)?;
        let name = std::str::from_utf8(name).map_err(|error| HelloError::Garbled(error.to_string()))?;
        let name = NodeName::new(name).map_err(|error| HelloError::Garbled(error.to_string()))?;
        if said.len() > SAID_BYTES_MAX {
            return Err(HelloError::TooLong(body.len()));
        }
        Ok(Hello { name, frame_bytes_max: u32::from_le_bytes(*frame_bytes_max), said: said.to_vec() })
    }
}

impl Preamble {
    /// Judges the first two bytes, so that nobody waits for the rest of what another protocol never sends.
    ///
    /// # Errors
    /// What else the peer speaks.
    pub fn judge(first: [u8; 2]) -> Result<(), HelloError> {
        match first {
            [first, second] if [first, second] == HELLO_MAGIC[..2] => Ok(()),
            // A handshake or an alert of TLS, any version.
            [0x15 | 0x16, 0x03] => Err(HelloError::Tls),
            _ => Err(HelloError::OtherProtocol),
        }
    }

    /// # Errors
    /// What else the peer speaks.
    pub fn decode(bytes: &[u8; PREAMBLE_BYTES]) -> Result<Preamble, HelloError> {
        let kind = match bytes.first_chunk() {
            Some(&HELLO_MAGIC) => Kind::Hello,
            Some(&REFUSAL_MAGIC) => Kind::Refusal,
            _ => return Err(HelloError::OtherProtocol),
        };
        let [.., oldest_low, oldest_high, newest_low, newest_high, a, b, c, d] = *bytes;
        let body_bytes = u32::from_le_bytes([a, b, c, d]) as usize;
        if body_bytes > HELLO_BYTES_MAX {
            return Err(HelloError::TooLong(body_bytes));
        }
        let oldest = u16::from_le_bytes([oldest_low, oldest_high]);
        let newest = u16::from_le_bytes([newest_low, newest_high]);
        Ok(Preamble { kind, oldest, newest, body_bytes })
    }

    /// The newest version that both sides speak.
    ///
    /// # Errors
    /// [`HelloError::Version`], when there is none.
    pub fn negotiate(&self) -> Result<u16, HelloError> {
        let version = self.newest.min(VERSION_NEWEST);
        if version >= self.oldest.max(VERSION_OLDEST) {
            Ok(version)
        } else {
            Err(HelloError::Version { oldest: self.oldest, newest: self.newest })
        }
    }
}

/// What a listener says instead of its hello.
pub(crate) fn encode_refusal(reason: &str) -> Vec<u8> {
    let fits = |at: &usize| reason.is_char_boundary(*at);
    let cut = (0..=REFUSAL_BYTES_MAX.min(reason.len())).rev().find(fits).unwrap_or(0);
    with_preamble(REFUSAL_MAGIC, &reason.as_bytes()[..cut])
}

pub(crate) fn decode_refusal(body: &[u8]) -> String {
    // For people and their terminals.
    String::from_utf8_lossy(body).chars().filter(|character| !character.is_control()).collect()
}

fn with_preamble(magic: [u8; 8], body: &[u8]) -> Vec<u8> {
    let body_bytes = u32::try_from(body.len()).expect("what is said first is short");
    let mut bytes = magic.to_vec();
    bytes.extend_from_slice(&VERSION_OLDEST.to_le_bytes());
    bytes.extend_from_slice(&VERSION_NEWEST.to_le_bytes());
    bytes.extend_from_slice(&body_bytes.to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

#[cfg(test)]
mod tests;
