//! The monotonic clock of this machine, which all its processes share.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since some start, the same one for all processes.
pub fn now_nanos() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let nanos = i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
    u64::try_from(nanos).expect("the monotonic clock starts at zero and runs for centuries")
}
