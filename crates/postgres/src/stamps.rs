//! Choosing commit timestamps.
//!
//! Invariant: a timestamp is above everything that the transaction's view of the database shows, and above all that this store gave before.
//! So whatever was committed before it comes before it; docs/protocols/postgres.md says why that is enough.

use std::time::Duration;

use iolite_store::Refusal;
use iolite_values::{CoordinatorId, Timestamp};

use crate::facts::Standing;

/// How far ahead of the database's clock a store's clock is followed.
pub const CLOCK_LEAD_MAX: Duration = Duration::from_secs(10);

/// How far beyond that a client may claim to have seen.
pub const FLOOR_LEAD_MAX: Duration = Duration::from_secs(1);

/// Gives timestamps to the transactions of one store.
#[derive(Debug)]
pub struct Stamps {
    id: CoordinatorId,
    last: Timestamp,
}

impl Stamps {
    pub fn new(id: CoordinatorId) -> Stamps {
        Stamps { id, last: Timestamp::ZERO }
    }

    /// The next timestamp, when this host's clock shows `wall_micros`. Above `floor`, which the client claims to have seen.
    ///
    /// # Errors
    /// [`Refusal::TooFarAhead`] when the floor is.
    pub fn next(&mut self, wall_micros: u64, standing: &Standing, floor: Timestamp) -> Result<Timestamp, Refusal> {
        let limit = end_after(standing.clock_micros, CLOCK_LEAD_MAX).max(standing.highest);
        let floor_limit = end_after(limit.micros(), FLOOR_LEAD_MAX);
        let asked = floor.next_for(self.id);
        if asked > floor_limit {
            return Err(Refusal::TooFarAhead { asked, limit: floor_limit });
        }
        let clock = Timestamp::new(wall_micros.min(limit.micros()), self.id);
        let above = standing.highest.max(self.last).next_for(self.id);
        let at = clock.max(above).max(asked);
        self.last = at;
        Ok(at)
    }
}

fn end_after(micros: u64, by: Duration) -> Timestamp {
    Timestamp::end_of(micros.saturating_add(u64::try_from(by.as_micros()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000_000_000;

    fn id() -> CoordinatorId {
        CoordinatorId::new(3).expect("small")
    }

    fn standing() -> Standing {
        Standing { clock_micros: NOW, ..Standing::default() }
    }

    #[test]
    fn a_timestamp_is_the_clock_and_never_given_twice() {
        let mut stamps = Stamps::new(id());
        let first = stamps.next(NOW, &standing(), Timestamp::ZERO);
        assert_eq!(first, Ok(Timestamp::new(NOW, id())));
        assert_eq!(stamps.next(NOW - 9, &standing(), Timestamp::ZERO), Ok(Timestamp::new(NOW + 1, id())));
    }

    #[test]
    fn a_timestamp_is_above_everything_that_is_visible_and_above_the_floor() {
        let seen = Timestamp::end_of(NOW + 7);
        let at = Stamps::new(id()).next(NOW, &Standing { highest: seen, ..standing() }, Timestamp::ZERO);
        assert_eq!(at, Ok(Timestamp::new(NOW + 8, id())));
        assert_eq!(Stamps::new(id()).next(NOW, &standing(), seen), Ok(Timestamp::new(NOW + 8, id())));
    }

    #[test]
    fn a_clock_far_ahead_is_followed_to_a_limit_only() {
        let lead = u64::try_from(CLOCK_LEAD_MAX.as_micros()).expect("short");
        let at = Stamps::new(id()).next(NOW + 10 * lead, &standing(), Timestamp::ZERO);
        assert_eq!(at, Ok(Timestamp::new(NOW + lead, id())));
    }

    #[test]
    fn a_floor_a_second_past_the_limit_is_taken_and_one_beyond_is_refused() {
        let lead = u64::try_from((CLOCK_LEAD_MAX + FLOOR_LEAD_MAX).as_micros()).expect("short");
        let mut stamps = Stamps::new(id());
        let taken = stamps.next(NOW, &standing(), Timestamp::new(NOW + lead, CoordinatorId::default()));
        assert_eq!(taken, Ok(Timestamp::new(NOW + lead, id())));
        let beyond = stamps.next(NOW, &standing(), Timestamp::end_of(NOW + lead));
        assert!(matches!(beyond, Err(Refusal::TooFarAhead { .. })), "{beyond:?}");
    }
}
