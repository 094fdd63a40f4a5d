//! Randomness that a mutation can repeat: a function of its id and of how often it was asked.
//!
//! Invariant: no two ids of one client are equal, because the first half is a bijection of (counter, number); two clients' ids differ by the
//! 128 random bits of their incarnations.

use iolite_values::{ClientId, Counter, Id, TransactionId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Random {
    high: u64,
    low: u64,
}

/// Calls of one mutation that stay apart from the next mutation's.
const STEP: u64 = 1 << 20;

impl Random {
    pub(crate) fn of(transaction: TransactionId) -> Random {
        let TransactionId { client: ClientId(id), counter: Counter(counter) } = transaction;
        let [high, low] = [(id.as_u128() >> 64) as u64, id.as_u128() as u64];
        Random {
            high: high.wrapping_add(counter.wrapping_mul(STEP)),
            low: low.wrapping_add(counter.wrapping_mul(STEP)),
        }
    }

    /// Randomness of an operation of a log, at every member alike.
    pub(crate) fn seeded(seed: [u8; 16]) -> Random {
        let whole = u128::from_be_bytes(seed);
        Random { high: (whole >> 64) as u64, low: whole as u64 }
    }

    pub(crate) fn next_bits(&mut self) -> u64 {
        self.high = self.high.wrapping_add(1);
        self.low = self.low.wrapping_add(1);
        mix(self.high) ^ mix(self.low).rotate_left(32)
    }

    pub(crate) fn next_id(&mut self) -> Id {
        self.next_bits();
        Id::from_u128(u128::from(mix(self.high)) << 64 | u128::from(mix(!self.low)))
    }
}

/// The finaliser of SplitMix64: a bijection in which every input bit reaches every output bit.
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn of(client: u128, counter: u64) -> Random {
        Random::of(TransactionId { client: ClientId(Id::from_u128(client)), counter: Counter(counter) })
    }

    #[test]
    fn equal_mutations_draw_equal_ids_and_others_draw_others() {
        let mut ids = BTreeSet::new();
        for client in [1u128 << 64, 2, 3 << 70] {
            for counter in 1..50 {
                let (mut random, mut again) = (of(client, counter), of(client, counter));
                for _ in 0..20 {
                    let id = random.next_id();
                    assert_eq!(id, again.next_id());
                    assert!(ids.insert(id), "{id} came twice");
                }
            }
        }
    }
}
