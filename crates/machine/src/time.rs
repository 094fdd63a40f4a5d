//! Time as machines see it: supplied by the host, never read.
//!
//! `std::time::Instant` panics in wasm32-unknown-unknown, so machines use their own.

use std::time::Duration;

/// A point on the host's monotonic clock, in nanoseconds since an arbitrary start. Only differences mean something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    pub const fn from_nanos(nanos: u64) -> Instant {
        Instant(nanos)
    }

    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Instant(self.0.saturating_add(nanos))
    }
}

/// What the host's wall clock shows, in microseconds since 1970 (UTC). It may jump, and be wrong by years: it proposes
/// timestamps and is shown to people; it never decides order or leases by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(u64);

impl WallTime {
    pub const fn from_micros(micros: u64) -> WallTime {
        WallTime(micros)
    }

    pub const fn as_micros(self) -> u64 {
        self.0
    }
}

/// Both clocks of the host, read together before an input is handed to a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    pub instant: Instant,
    pub wall: WallTime,
}
