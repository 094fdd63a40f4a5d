//! The two clocks of this process.
//!
//! The monotonic one counts from the clock's making; the wall clock is the operating system's, which may jump.

use std::time::{Duration, SystemTime};

use iolite_machine::{Instant, Now, WallTime};

/// Gives machines their time. Copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: std::time::Instant,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { start: std::time::Instant::now() }
    }

    pub fn now(&self) -> Now {
        let since_start = self.start.elapsed();
        let instant = Instant::from_nanos(0) + since_start;
        // A clock before 1970 shows 1970: it is wrong either way, and machines do not trust it.
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Now { instant, wall: WallTime::from_micros(u64::try_from(wall.as_micros()).unwrap_or(u64::MAX)) }
    }

    /// The runtime's name for a machine's instant.
    pub fn deadline(&self, at: Instant) -> tokio::time::Instant {
        (self.start + Duration::from_nanos(at.as_nanos())).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_reads_back_as_the_time_it_was() {
        let clock = Clock::start();
        let now = clock.now();
        let later = now.instant + Duration::from_secs(1);
        assert_eq!(clock.deadline(later) - clock.deadline(now.instant), Duration::from_secs(1));
        assert!(clock.now().instant >= now.instant);
    }
}
