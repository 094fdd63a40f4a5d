//! Names of effects, and their order in time.
//!
//! Invariant: no two effects have the same mark. A mark is a digest of what only one effect has, and a device can make it before it has spoken to any server.
//! A gateway takes marks only from whom they are of.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::{Counter, Id};

/// 64 bits that name one effect: an insertion, an update of a row, or a life of a row by the insertion that began it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mark(pub u64);

impl Mark {
    /// The highest index of an effect in its transaction: a gateway looks for a mark among so many. A run makes at most one for each of its operations,
    /// which are far fewer.
    pub const INDEX_MAX: u32 = 1 << 12;

    /// The mark of an effect: the first 64 bits of SHA-256 of the device's id, the counter of the transaction, and the effect's index in it.
    pub fn of(device: Id, counter: Counter, index: u32) -> Mark {
        let mut hasher = Sha256::new();
        hasher.update(device.to_bytes());
        hasher.update(counter.0.to_be_bytes());
        hasher.update(index.to_be_bytes());
        let digest: [u8; 32] = hasher.finalize().into();
        let first = digest.first_chunk().expect("32 bytes have 8 in front");
        Mark(u64::from_be_bytes(*first))
    }
}

/// Microseconds since 1970 by a device's clock, but above every time that the device has seen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HybridTime(pub u64);

impl HybridTime {
    /// How far a time may be ahead of a gateway's clock. One that is further ahead is refused, or a wrong clock would win for ever.
    pub const AHEAD_MAX: Duration = Duration::from_secs(10);

    /// The last time that a gateway takes, by its clock.
    pub fn last_at(now_micros: u64) -> HybridTime {
        HybridTime(now_micros.saturating_add(HybridTime::AHEAD_MAX.as_micros() as u64))
    }

    #[must_use]
    pub fn next(self) -> HybridTime {
        HybridTime(self.0.saturating_add(1))
    }
}

/// When a register was assigned. The mark orders what is of one time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stamp {
    pub time: HybridTime,
    pub mark: Mark,
}

impl Stamp {
    /// Bytes of a stamp.
    pub(super) const BYTES: usize = 16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_of_device_counter_and_index() {
        let mark = |device, counter, index| Mark::of(Id::from_u128(device), Counter(counter), index);
        // By `printf` of 28 bytes and `sha256sum`.
        assert_eq!(mark(1, 2, 3), Mark(0xfa63_7187_009f_e2d2));
        let others = [mark(2, 2, 3), mark(1, 3, 3), mark(1, 2, 4)];
        assert!(others.iter().all(|other| *other != mark(1, 2, 3)), "{others:?}");
    }
}
