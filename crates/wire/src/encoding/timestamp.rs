//! Timestamps, near the one before them or in full.
//!
//! A near one is a number: the difference of the microseconds, zigzag; then, if the coordinator is another, its 12 bits; then a bit that
//! says whether it is. The encoder takes the near form while it has at most 8 bytes, the full form's length.

use iolite_values::{CoordinatorId, Timestamp};

use crate::DecodeError;

use super::{Reader, Writer};

const COORDINATOR_BITS: u32 = 12;
const COORDINATOR_MASK: u64 = (1 << COORDINATOR_BITS) - 1;
/// The largest number that a varint holds in 8 bytes.
const NEAR_MAX: u64 = (1 << 56) - 1;

/// The last timestamp of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chain {
    last: Timestamp,
}

/// A timestamp as two fields have it: `near` is 0 beside a full one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub near: u64,
    pub full: Option<u64>,
}

impl Writer {
    pub(crate) fn timestamp(&mut self, timestamp: Timestamp) -> Moment {
        let near = self.times.near(timestamp);
        self.times.last = timestamp;
        match near {
            Some(near) => Moment { near, full: None },
            None => Moment { near: 0, full: Some(timestamp.as_u64()) },
        }
    }
}

impl Reader {
    pub(crate) fn timestamp(&mut self, near: u64, full: Option<u64>) -> Result<Timestamp, DecodeError> {
        let timestamp = match (near, full) {
            (0, Some(full)) => Timestamp::from_u64(full),
            (near, None) => {
                self.times.resolve(near).ok_or(DecodeError::malformed("a timestamp is out of its range"))?
            }
            (_, Some(_)) => return Err(DecodeError::malformed("a timestamp is given twice")),
        };
        self.times.last = timestamp;
        Ok(timestamp)
    }
}

impl Chain {
    fn near(self, timestamp: Timestamp) -> Option<u64> {
        // Both have 52 bits, so the difference fits.
        let difference = timestamp.micros() as i64 - self.last.micros() as i64;
        let zigzag = ((difference << 1) ^ (difference >> 63)) as u64;
        let number = if coordinator(timestamp) == coordinator(self.last) {
            zigzag << 1
        } else if zigzag <= NEAR_MAX >> (COORDINATOR_BITS + 1) {
            zigzag << (COORDINATOR_BITS + 1) | coordinator(timestamp) << 1 | 1
        } else {
            return None;
        };
        (number <= NEAR_MAX).then_some(number)
    }

    fn resolve(self, number: u64) -> Option<Timestamp> {
        let changed = number & 1 == 1;
        let (zigzag, coordinator) = if changed {
            (number >> (COORDINATOR_BITS + 1), number >> 1 & COORDINATOR_MASK)
        } else {
            (number >> 1, coordinator(self.last))
        };
        let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        let micros = self.last.micros().checked_add_signed(difference)?;
        let coordinator = CoordinatorId::new(u16::try_from(coordinator).ok()?)?;
        (micros <= Timestamp::MAX.micros()).then(|| Timestamp::new(micros, coordinator))
    }
}

fn coordinator(timestamp: Timestamp) -> u64 {
    timestamp.as_u64() & COORDINATOR_MASK
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_sequence_of_timestamps_reads_back(
            bits in proptest::collection::vec(prop_oneof![any::<u64>(), 0u64..1 << 20, Just(u64::MAX), Just(0)], 1..8),
        ) {
            let (mut writer, mut reader) = (Writer::default(), Reader::default());
            for timestamp in bits.into_iter().map(Timestamp::from_u64) {
                let Moment { near, full } = writer.timestamp(timestamp);
                prop_assert_eq!(reader.timestamp(near, full), Ok(timestamp));
            }
        }

        #[test]
        fn any_number_is_a_timestamp_or_an_error(last in any::<u64>(), near in any::<u64>()) {
            let mut reader = Reader::default();
            prop_assert_eq!(reader.timestamp(0, Some(last)), Ok(Timestamp::from_u64(last)));
            let _ = reader.timestamp(near, None);
        }
    }

    #[test]
    fn the_same_coordinator_milliseconds_later_is_three_bytes_at_most() {
        let mut writer = Writer::default();
        let coordinator = CoordinatorId::new(1).expect("small");
        writer.timestamp(Timestamp::new(1_800_000_000_000_000, coordinator));
        let moment = writer.timestamp(Timestamp::new(1_800_000_000_005_000, coordinator));
        assert!(moment.near < 1 << 21 && moment.full.is_none(), "{moment:?}");
    }
}
