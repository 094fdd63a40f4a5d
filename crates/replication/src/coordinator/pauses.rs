//! Pauses between tries, each twice as long as the one before, up to a longest.
//!
//! Invariant: no pause is longer than the longest; coordinators that meet do not pause alike.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pauses {
    pub first: Duration,
    pub longest: Duration,
}

impl Pauses {
    /// After so many tries before.
    pub fn after(self, tries: u32) -> Duration {
        self.first.saturating_mul(2u32.saturating_pow(tries)).min(self.longest)
    }

    /// Likewise; somewhere between nothing and all of it, as `chance` falls. Equal chances give equal pauses.
    pub fn some_after(self, tries: u32, chance: u64) -> Duration {
        const PARTS: u32 = 1 << 16;
        let mixed = chance.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let share = u32::try_from(mixed).expect("16 bits are left");
        self.after(tries) / PARTS * (share + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSES: Pauses = Pauses { first: Duration::from_millis(1), longest: Duration::from_millis(50) };

    #[test]
    fn pauses_double_up_to_the_longest() {
        let millis = |tries| PAUSES.after(tries).as_millis();
        assert_eq!([0, 1, 2, 5, 6, 40].map(millis), [1, 2, 4, 32, 50, 50]);
    }

    #[test]
    fn chance_takes_some_of_a_pause() {
        let some: Vec<Duration> = (0..1_000).map(|chance| PAUSES.some_after(9, chance)).collect();
        assert!(some.iter().all(|pause| *pause <= PAUSES.longest));
        assert!(some.iter().filter(|pause| **pause < PAUSES.longest / 2).count() > 300);
        assert!(some.iter().filter(|pause| **pause > PAUSES.longest / 2).count() > 300);
    }
}
