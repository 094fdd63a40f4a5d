//! Growing pauses between tries, spread so that clients of a restarted gateway do not all come at once.

use std::time::Duration;

#[derive(Debug)]
pub(super) struct Backoff {
    failures: u32,
    random: u64,
}

impl Backoff {
    const FIRST_MS: u64 = 100;
    const LAST_MS: u64 = 10_000;

    pub(super) fn new(seed: u64) -> Backoff {
        Backoff { failures: 0, random: seed | 1 }
    }

    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    /// Between half and all of a limit that doubles from 0.1 s to 10 s.
    pub(super) fn next_pause(&mut self) -> Duration {
        let limit = (Self::FIRST_MS << self.failures.min(10)).min(Self::LAST_MS);
        self.failures = self.failures.saturating_add(1);
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis(limit / 2 + (self.random >> 33) % (limit / 2 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_start_over() {
        let mut backoff = Backoff::new(7);
        let pauses: Vec<u64> = (0..12).map(|_| backoff.next_pause().as_millis() as u64).collect();
        assert!((50..=100).contains(&pauses[0]), "{pauses:?}");
        assert!((5_000..=10_000).contains(&pauses[11]), "{pauses:?}");
        backoff.reset();
        assert!(backoff.next_pause() <= Duration::from_millis(100));
    }
}
