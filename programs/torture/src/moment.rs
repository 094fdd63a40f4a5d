//! Moments of the clock that all processes of the machine share.

use iolite_histories::Moment;
use rustix::time::{ClockId, clock_gettime};

pub fn moment() -> Moment {
    let now = clock_gettime(ClockId::Monotonic);
    Moment(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}
