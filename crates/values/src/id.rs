//! Identities: of things (128 random bits), of clients, transactions and their attempts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// 128 random bits: the value of an `id` column, an incarnation. Written as 32 hexadecimal digits, in JSON too.
///
/// As bytes, the highest first: their order is that of the number, and nothing that holds one is aligned to 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Id([u8; 16]);

impl Id {
    pub const fn from_u128(bits: u128) -> Id {
        Id(bits.to_be_bytes())
    }

    pub const fn as_u128(self) -> u128 {
        u128::from_be_bytes(self.0)
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Id {
        Id(bytes)
    }

    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.as_u128())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id is 32 hexadecimal digits, not {0:?}")]
pub struct ParseIdError(String);

impl FromStr for Id {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Id, ParseIdError> {
        let plain = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = if plain { u128::from_str_radix(text, 16).ok() } else { None };
        bits.map(Id::from_u128).ok_or_else(|| ParseIdError(text.chars().take(64).collect()))
    }
}

impl From<Id> for String {
    fn from(id: Id) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for Id {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Id, ParseIdError> {
        text.parse()
    }
}

/// One life of a client's store: made at random when the store is created, and never used by another store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ClientId(pub Id);

/// The secret that a device draws ids of rows and authors of texts from: 128 random bits, drawn once, which never leave its user's tabs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DeviceSecret(pub [u8; 16]);

impl fmt::Debug for DeviceSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeviceSecret(..)")
    }
}

/// One life of a server's store. A restore makes a new one, so that no client resumes on another history.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct StoreIncarnation(pub Id);

/// Numbers the lanes of a client: the orders in which it submits mutations. A lane is of one domain for as long as a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LaneNumber(pub u32);

impl LaneNumber {
    /// The lane of strong mutations.
    pub const STRONG: LaneNumber = LaneNumber(0);
}

/// Numbers a client's mutations from 1, without reuse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Counter(pub u64);

impl Counter {
    pub fn next(self) -> Counter {
        Counter(self.0 + 1)
    }
}

/// The identity of a transaction: it takes effect once, whatever is sent or sent again under it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TransactionId {
    pub client: ClientId,
    pub counter: Counter,
}

/// Numbers the runs of one transaction that were submitted, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Attempt(pub u32);

impl Attempt {
    pub fn next(self) -> Attempt {
        Attempt(self.0 + 1)
    }
}

/// Names who proposes timestamps, so that no two propose the same one. At most 4,095.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CoordinatorId(u16);

impl CoordinatorId {
    pub const MAX: u16 = 4095;

    /// `None` past [`CoordinatorId::MAX`].
    pub const fn new(number: u16) -> Option<CoordinatorId> {
        if number <= CoordinatorId::MAX { Some(CoordinatorId(number)) } else { None }
    }

    pub const fn number(self) -> u16 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_from_its_text() {
        let id = Id::from_u128(0x00ab_cdef);
        assert_eq!(id.to_string().parse::<Id>(), Ok(id));
        assert_eq!(Id::from_bytes(id.to_bytes()), id);
        let json = serde_json::to_string(&id).expect("a string");
        assert_eq!(json, "\"00000000000000000000000000abcdef\"");
        assert_eq!(serde_json::from_str::<Id>(&json).expect("its own"), id);
    }

    #[test]
    fn what_is_not_an_id_is_refused() {
        for text in ["", "12", "+0000000000000000000000000000001", "0000000000000000000000000000000g"] {
            assert!(text.parse::<Id>().is_err(), "{text:?}");
            assert!(serde_json::from_str::<Id>(&format!("{text:?}")).is_err(), "{text:?}");
        }
    }
}
