//! Randomness that a mutation can repeat: a function of a secret, of the mutation, and of how often it was asked.
//!
//! Invariants: whoever does not have the device's secret cannot tell an id of it from a random one: neither which client drew it, nor that two ids are of
//! one device, nor the next one. An operation of a log draws from the seed of its entry, and always as it does here: every version replays it alike.
//! Source: SipHash-2-4 with 128 bits (Aumasson and Bernstein 2012) as a keyed function.

use std::hash::Hasher;

use iolite_values::{Author, Counter, DeviceSecret, Id};
use siphasher::sip128::{Hasher128, SipHasher24};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Random {
    OfDevice(Keyed),
    OfEntry(Seeded),
}

/// Draws of one mutation of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed {
    secret: DeviceSecret,
    counter: Counter,
    drawn: u64,
}

/// Draws of one operation of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeded {
    high: u64,
    low: u64,
}

/// A kind of draw. Each has numbers of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Draw,
    /// An author of a run of a mutator.
    RunAuthor,
    /// An author of edits outside of closures.
    LiveAuthor,
}

impl Random {
    pub(crate) fn of(secret: DeviceSecret, counter: Counter) -> Random {
        Random::OfDevice(Keyed { secret, counter, drawn: 0 })
    }

    /// Randomness of an operation of a log, at every member alike.
    pub(crate) fn seeded(seed: [u8; 16]) -> Random {
        let whole = u128::from_be_bytes(seed);
        Random::OfEntry(Seeded { high: (whole >> 64) as u64, low: whole as u64 })
    }

    pub(crate) fn next_bits(&mut self) -> u64 {
        match self {
            Random::OfDevice(keyed) => keyed.next() as u64,
            Random::OfEntry(seeded) => seeded.next_bits(),
        }
    }

    pub(crate) fn next_id(&mut self) -> Id {
        match self {
            Random::OfDevice(keyed) => Id::from_u128(keyed.next()),
            Random::OfEntry(seeded) => seeded.next_id(),
        }
    }
}

impl Keyed {
    fn next(&mut self) -> u128 {
        self.drawn += 1;
        draw(self.secret, Purpose::Draw, [self.counter.0, self.drawn])
    }

    /// The author of the text that a run inserts as the `number`th.
    pub(crate) fn author(&self, number: u64, text: &str) -> Author {
        let mut hasher = keyed(self.secret, Purpose::RunAuthor);
        hasher.write_u64(self.counter.0);
        hasher.write_u64(number);
        hasher.write(text.as_bytes());
        author_of(hasher.finish())
    }
}

impl Seeded {
    pub(crate) fn next_bits(&mut self) -> u64 {
        self.high = self.high.wrapping_add(1);
        self.low = self.low.wrapping_add(1);
        mix(self.high) ^ mix(self.low).rotate_left(32)
    }

    fn next_id(&mut self) -> Id {
        self.next_bits();
        Id::from_u128(u128::from(mix(self.high)) << 64 | u128::from(mix(!self.low)))
    }
}

/// An author for edits outside of closures, drawn from numbers that no other author of the device is drawn from.
pub(crate) fn live_author(secret: DeviceSecret, numbers: impl IntoIterator<Item = u64>) -> Author {
    let mut hasher = keyed(secret, Purpose::LiveAuthor);
    numbers.into_iter().for_each(|number| hasher.write_u64(number));
    author_of(hasher.finish())
}

fn draw(secret: DeviceSecret, purpose: Purpose, numbers: [u64; 2]) -> u128 {
    let mut hasher = keyed(secret, purpose);
    numbers.into_iter().for_each(|number| hasher.write_u64(number));
    hasher.finish128().into()
}

fn keyed(secret: DeviceSecret, purpose: Purpose) -> SipHasher24 {
    let mut hasher = SipHasher24::new_with_key(&secret.0);
    hasher.write_u8(match purpose {
        Purpose::Draw => 1,
        Purpose::RunAuthor => 2,
        Purpose::LiveAuthor => 3,
    });
    hasher
}

fn author_of(bits: u64) -> Author {
    Author((bits & Author::LAST.0).max(1))
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

    /// As ids were drawn before: a bijection without a key.
    fn by_bijection(client: u128, counter: u64) -> Random {
        let step = counter.wrapping_mul(1 << 20);
        let halves = [(client >> 64) as u64, client as u64].map(|half| half.wrapping_add(step));
        Random::OfEntry(Seeded { high: halves[0], low: halves[1] })
    }

    fn unshift(value: u64, by: u32) -> u64 {
        (0..64 / by).fold(value, |x, _| value ^ (x >> by))
    }

    fn inverse(odd: u64) -> u64 {
        (0..6).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))))
    }

    fn unmix(value: u64) -> u64 {
        let value = unshift(value, 31).wrapping_mul(inverse(0x94d0_49bb_1331_11eb));
        let value = unshift(value, 27).wrapping_mul(inverse(0xbf58_476d_1ce4_e5b9));
        unshift(value, 30)
    }

    /// The client that a stranger computes from an id, if it was drawn as the `number`th of this mutation by a bijection.
    fn client_of(id: Id, counter: u64, number: u64) -> u128 {
        let (bits, drawn) = (id.as_u128(), (counter << 20) + number);
        let high = unmix((bits >> 64) as u64).wrapping_sub(drawn);
        let low = (!unmix(bits as u64)).wrapping_sub(drawn);
        u128::from(high) << 64 | u128::from(low)
    }

    /// Pairs of neighbours that lead to one client, for a stranger who reads the ids of one device in order.
    fn traced(ids: impl Iterator<Item = (u64, Id)>) -> usize {
        let clients: Vec<u128> = ids.map(|(counter, id)| client_of(id, counter, 1)).collect();
        clients.windows(2).filter(|pair| pair[0] == pair[1]).count()
    }

    #[test]
    fn ten_thousand_ids_lead_to_no_client_and_are_not_known_to_be_of_one() {
        let (secret, client) = (DeviceSecret([7; 16]), 0x1234_5678_9abc_def0_0fed_cba9_8765_4321);
        let drawn = |of: &dyn Fn(u64) -> Random| -> Vec<(u64, Id)> {
            (1..=10_000).map(|counter| (counter, of(counter).next_id())).collect()
        };
        let own = drawn(&|counter| Random::of(secret, Counter(counter)));
        assert_eq!(traced(own.iter().copied()), 0);
        let broken = drawn(&|counter| by_bijection(client, counter));
        assert_eq!(traced(broken.iter().copied()), 9_999, "the variant ids-by-bijection is found");
        assert_eq!(client_of(broken[0].1, 1, 1), client);
        // Each bit is set in about half of them: five standard deviations of 10,000 throws are 250.
        for bit in 0..128 {
            let set = own.iter().filter(|(_, id)| id.as_u128() >> bit & 1 == 1).count();
            assert!((4_750..=5_250).contains(&set), "bit {bit} is set in {set} of 10,000 ids");
        }
    }

    #[test]
    fn equal_mutations_draw_equal_ids_and_others_draw_others() {
        let mut ids = BTreeSet::new();
        for secret in [1, 2, 3].map(|byte| DeviceSecret([byte; 16])) {
            for counter in (1..50).map(Counter) {
                let (mut random, mut again) = (Random::of(secret, counter), Random::of(secret, counter));
                for _ in 0..20 {
                    let id = random.next_id();
                    assert_eq!(id, again.next_id());
                    assert!(ids.insert(id), "{id} came twice");
                }
            }
        }
    }

    #[test]
    fn an_operation_of_a_log_draws_what_it_has_always_drawn() {
        let mut random = Random::seeded([9; 16]);
        let drawn = (random.next_bits(), random.next_id(), random.next_bits());
        assert_eq!(drawn, SEEDED);
    }

    const SEEDED: (u64, Id, u64) =
        (8508900342200905671, Id::from_u128(0xb5f0_d722_bc7f_6934_d3a8_498c_4525_d1e8), 8725537650847995459);
}
