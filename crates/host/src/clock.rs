//! The two clocks of this process.
//!
//! The monotonic one counts from the clock's making; the wall clock is the operating system's, which may jump.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use iolite_machine::{Instant, Now, WallTime};
use rustix::time::{ClockId, clock_gettime};

/// Gives machines their time. Copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: std::time::Instant,
    /// Microseconds by which the wall clock is wrong on purpose.
    shift: Option<&'static AtomicI64>,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { start: std::time::Instant::now(), shift: None }
    }

    /// One whose wall clock is wrong by so many microseconds, which may change at any time: for tests with real processes.
    pub fn shifted(shift: &'static AtomicI64) -> Clock {
        Clock { shift: Some(shift), ..Clock::start() }
    }

    pub fn now(&self) -> Now {
        let since_start = self.start.elapsed();
        let instant = Instant::from_nanos(0) + since_start;
        // A clock before 1970 shows 1970: it is wrong either way, and machines do not trust it.
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let micros = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
        let shift = self.shift.map_or(0, |shift| shift.load(Ordering::Relaxed));
        Now { instant, wall: WallTime::from_micros(micros.saturating_add_signed(shift)) }
    }

    /// The runtime's name for a machine's instant.
    pub fn deadline(&self, at: Instant) -> tokio::time::Instant {
        (self.start + Duration::from_nanos(at.as_nanos())).into()
    }
}

/// Nanoseconds since some start, the same one for all processes of this machine.
pub fn monotonic_nanos() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let nanos = i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
    u64::try_from(nanos).expect("the monotonic clock starts at zero and runs for centuries")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shifted_wall_clock_is_wrong_by_what_it_is_told_now() {
        static SHIFT: AtomicI64 = AtomicI64::new(0);
        let (right, wrong) = (Clock::start(), Clock::shifted(&SHIFT));
        for shift in [-3_600_000_000, 3_600_000_000] {
            SHIFT.store(shift, Ordering::Relaxed);
            let away = wrong.now().wall.as_micros() as i64 - right.now().wall.as_micros() as i64 - shift;
            assert!(away.abs() < 60_000_000, "{away}");
        }
    }

    #[test]
    fn an_instant_reads_back_as_the_time_it_was() {
        let clock = Clock::start();
        let now = clock.now();
        let later = now.instant + Duration::from_secs(1);
        assert_eq!(clock.deadline(later) - clock.deadline(now.instant), Duration::from_secs(1));
        assert!(clock.now().instant >= now.instant);
    }
}
