//! Commit timestamps: one order for everything that a store commits.
//!
//! Invariant: no two transactions commit at the same timestamp, because the low 12 bits name the coordinator that proposed it and a
//! coordinator never proposes one twice.
//! Source: TAPIR (TOCS 2018) section 5.1: a timestamp is a time and a coordinator's id.

use crate::CoordinatorId;

/// 52 bits of microseconds since 1970 (enough until 2112), then 12 bits of coordinator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Before everything: an empty store is at zero.
    pub const ZERO: Timestamp = Timestamp(0);
    pub const MAX: Timestamp = Timestamp(u64::MAX);
    const COORDINATOR_BITS: u32 = 12;
    const COORDINATOR_MASK: u64 = (1 << Self::COORDINATOR_BITS) - 1;

    pub const fn from_u64(bits: u64) -> Timestamp {
        Timestamp(bits)
    }

    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Times past the year 2112 are held at the last one.
    pub fn new(micros: u64, coordinator: CoordinatorId) -> Timestamp {
        let micros = micros.min(u64::MAX >> Self::COORDINATOR_BITS);
        Timestamp(micros << Self::COORDINATOR_BITS | u64::from(coordinator.number()))
    }

    /// Every timestamp of that microsecond and before it is at or below this one.
    pub fn end_of(micros: u64) -> Timestamp {
        let micros = micros.min(u64::MAX >> Self::COORDINATOR_BITS);
        Timestamp(micros << Self::COORDINATOR_BITS | Self::COORDINATOR_MASK)
    }

    pub const fn micros(self) -> u64 {
        self.0 >> Self::COORDINATOR_BITS
    }

    /// Who proposed it, if it is a commit's.
    pub fn coordinator(self) -> CoordinatorId {
        CoordinatorId::new((self.0 & Self::COORDINATOR_MASK) as u16)
            .expect("the numbers that fit into a timestamp are all there are")
    }

    /// The first timestamp of `coordinator` that is above this one.
    pub fn next_for(self, coordinator: CoordinatorId) -> Timestamp {
        let same_micros = Timestamp::new(self.micros(), coordinator);
        if same_micros > self { same_micros } else { Timestamp::new(self.micros() + 1, coordinator) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_is_above_and_keeps_the_coordinator() {
        let three = CoordinatorId::new(3).expect("small");
        let five = CoordinatorId::new(5).expect("small");
        let base = Timestamp::new(10, five);
        assert_eq!(base.next_for(five), Timestamp::new(11, five));
        assert_eq!(base.next_for(three), Timestamp::new(11, three));
        assert_eq!(Timestamp::new(10, three).next_for(five), Timestamp::new(10, five));
    }

    #[test]
    fn the_end_of_a_microsecond_covers_every_coordinator() {
        let last = CoordinatorId::new(CoordinatorId::MAX).expect("allowed");
        assert_eq!(Timestamp::end_of(7), Timestamp::new(7, last));
        assert!(Timestamp::end_of(7) < Timestamp::new(8, CoordinatorId::default()));
    }
}
