//! The clock of a process, which runs a little faster or slower than those of others.
//!
//! Invariant: two clocks run apart by less than a sixteenth.

use iolite_machine::{Instant, Now, WallTime};

use crate::history::Moment;
use crate::random::Random;

/// Wall clocks begin here.
const EPOCH_MICROS: u64 = 1_700_000_000_000_000;
/// A clock goes on by so many nanoseconds in 1,000, give or take [`DRIFT`].
const WHOLE: u64 = 1_000;
/// 1,029 / 971 is less than 17 / 16.
const DRIFT: u64 = 29;

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Moment,
    offset: u64,
    rate: u64,
}

impl Clock {
    pub fn random(random: &mut Random, started: Moment) -> Clock {
        Clock { started, offset: random.below(1_000_000_000), rate: random.between(WHOLE - DRIFT, WHOLE + DRIFT) }
    }

    pub fn now(&self, moment: Moment) -> Now {
        let instant = self.offset + (moment - self.started) * self.rate / WHOLE;
        Now { instant: Instant::from_nanos(instant), wall: WallTime::from_micros(EPOCH_MICROS + moment / 1_000) }
    }

    /// The first moment at which the clock shows this.
    pub fn moment(&self, at: Instant) -> Moment {
        self.started + (at.as_nanos().saturating_sub(self.offset) * WHOLE).div_ceil(self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_a_time_at_the_moment_that_it_says_and_not_before() {
        for seed in 0..20 {
            let clock = Clock::random(&mut Random::from_seed(seed), 7_000);
            let at = Instant::from_nanos(clock.offset + 123_456_789);
            let moment = clock.moment(at);
            assert!(clock.now(moment).instant >= at && clock.now(moment - 2).instant < at, "{clock:?}");
        }
    }
}
