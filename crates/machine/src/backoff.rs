//! Growing pauses between tries, spread so that clients which failed together do not try again together.

use std::time::Duration;

/// The pauses of one that tries.
#[derive(Debug)]
pub struct Backoff {
    /// Of the first pause and of the longest one, half to all is waited.
    first: Duration,
    last: Duration,
    failures: u32,
    random: u64,
}

impl Backoff {
    /// `seed` spreads many clients. Any number.
    pub fn new(first: Duration, last: Duration, seed: u64) -> Backoff {
        Backoff { first, last, failures: 0, random: seed | 1 }
    }

    /// A try has succeeded: the next pause is the first one again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// Between half and all of a time that doubles from the first to the last.
    pub fn next_pause(&mut self) -> Duration {
        let limit = self.first.saturating_mul(1 << self.failures.min(20)).min(self.last).as_micros() as u64;
        self.failures = self.failures.saturating_add(1);
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_micros(limit / 2 + (self.random >> 33) % (limit / 2 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_start_over() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10), 7);
        let pauses: Vec<u128> = (0..12).map(|_| backoff.next_pause().as_millis()).collect();
        assert!((50..=100).contains(&pauses[0]), "{pauses:?}");
        assert!((5_000..=10_000).contains(&pauses[11]), "{pauses:?}");
        backoff.reset();
        assert!(backoff.next_pause() <= Duration::from_millis(100));
    }
}
