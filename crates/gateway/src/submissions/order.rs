//! The lanes of a session: what each is of, and which mutations do not go to the store because one before them has to be tried again.
//!
//! Invariants: a lane is of one domain for as long as a session; a mutation is with the store only if the one that it follows has its end, and it commits
//! above those of its lane that have committed. So a client's calls of one lane commit in the order in which it made them, through whatever gateways.

use std::collections::BTreeMap;

use iolite_values::{Counter, Domain, LaneNumber, Timestamp};
use iolite_wire::message::Verdict;

use crate::limits;

/// The lanes that a session has used.
#[derive(Debug, Default)]
pub struct SessionLanes {
    strong: Order,
    others: BTreeMap<LaneNumber, SessionLane>,
}

#[derive(Debug)]
struct SessionLane {
    domain: Domain,
    order: Order,
}

/// How the mutations of a lane ended.
#[derive(Debug, Default)]
struct Order {
    /// Mutations that conflicted when they were last tried, and what their client needs to have seen before it tries again.
    failed: BTreeMap<Counter, Timestamp>,
    /// The last one to commit.
    committed: Timestamp,
}

/// Lanes that a session may use.
pub const LANES_MAX: usize = 128;
/// Mutations of a lane of which it is kept that they did not commit, the last ones: more than a client can have sent behind one of them.
const FAILED_KEPT: usize = limits::SUBMITS_OPEN_MAX;

/// Why a submission cannot stand in its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfLane {
    TooMany,
    OtherDomain,
}

impl std::fmt::Display for OutOfLane {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OutOfLane::TooMany => write!(to, "a session has at most {LANES_MAX} lanes"),
            OutOfLane::OtherDomain => to.write_str(
                "a lane is of one log, or one table that syncs, for as long as the session, and a mutation of something else was sent in it",
            ),
        }
    }
}

impl SessionLanes {
    /// The domain of a mutation that is sent in a lane: what it writes to, or, if it writes nothing, what the lane is of.
    ///
    /// # Errors
    /// [`OutOfLane`].
    pub fn enter(&mut self, lane: LaneNumber, written: Option<Domain>) -> Result<Domain, OutOfLane> {
        if lane == LaneNumber::STRONG {
            return match written {
                Some(Domain::Strong) | None => Ok(Domain::Strong),
                Some(Domain::Log(_) | Domain::Rows(_) | Domain::Causal) => Err(OutOfLane::OtherDomain),
            };
        }
        match (self.others.get(&lane), written) {
            (Some(own), Some(written)) if own.domain != written => Err(OutOfLane::OtherDomain),
            (Some(own), _) => Ok(own.domain.clone()),
            (None, Some(Domain::Strong)) => Err(OutOfLane::OtherDomain),
            // An abort in a lane that was not used yet: nothing is to be said of its domain.
            (None, None) => Ok(Domain::Strong),
            (None, Some(_)) if self.others.len() >= LANES_MAX => Err(OutOfLane::TooMany),
            (None, Some(domain)) => {
                self.others.insert(lane, SessionLane { domain: domain.clone(), order: Order::default() });
                Ok(domain)
            }
        }
    }

    /// Notes how an attempt of a mutation ended. One that was given up, or can never be accepted, holds up nothing: the store has recorded its end.
    pub fn ended(&mut self, lane: LaneNumber, counter: Counter, at: Timestamp, verdict: &Verdict) {
        let Some(own) = self.order_mut(lane) else { return };
        match verdict {
            Verdict::Committed(at) => {
                own.committed = own.committed.max(*at);
                own.failed.remove(&counter);
            }
            Verdict::Aborted | Verdict::Rejected(_) => drop(own.failed.remove(&counter)),
            Verdict::Conflict(_) => drop(own.failed.insert(counter, at)),
        }
        if own.failed.len() > FAILED_KEPT {
            own.failed.pop_first();
        }
    }

    /// The timestamp that a mutation has to wait for that follows one that conflicted.
    pub fn held_up(&self, lane: LaneNumber, follows: Option<Counter>) -> Option<Timestamp> {
        self.order(lane)?.failed.get(&follows?).copied()
    }

    /// A mutation of the lane commits above this.
    pub fn committed(&self, lane: LaneNumber) -> Timestamp {
        self.order(lane).map_or(Timestamp::ZERO, |own| own.committed)
    }

    fn order(&self, lane: LaneNumber) -> Option<&Order> {
        match lane {
            LaneNumber::STRONG => Some(&self.strong),
            other => self.others.get(&other).map(|own| &own.order),
        }
    }

    fn order_mut(&mut self, lane: LaneNumber) -> Option<&mut Order> {
        match lane {
            LaneNumber::STRONG => Some(&mut self.strong),
            other => self.others.get_mut(&other).map(|own| &mut own.order),
        }
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::{LogId, Value};
    use iolite_wire::message::Rejection;

    use super::*;

    fn log(instance: i64) -> Option<Domain> {
        Some(Domain::Log(LogId::new("sheet", &Value::Int(instance)).expect("short")))
    }

    #[test]
    fn a_lane_is_of_what_was_first_written_in_it() {
        let (mut lanes, first) = (SessionLanes::default(), LaneNumber(1));
        assert_eq!(lanes.enter(LaneNumber::STRONG, Some(Domain::Strong)), Ok(Domain::Strong));
        assert_eq!(lanes.enter(LaneNumber::STRONG, log(1)), Err(OutOfLane::OtherDomain));
        assert_eq!(lanes.enter(first, Some(Domain::Strong)), Err(OutOfLane::OtherDomain));
        assert_eq!(lanes.enter(first, log(1)).ok(), log(1));
        assert_eq!(lanes.enter(first, None).ok(), log(1), "an abort is of the lane's domain");
        assert_eq!(lanes.enter(first, log(2)), Err(OutOfLane::OtherDomain));
        for number in 2..=LANES_MAX as u32 {
            assert!(lanes.enter(LaneNumber(number), log(number.into())).is_ok());
        }
        assert_eq!(lanes.enter(LaneNumber(1000), log(1000)), Err(OutOfLane::TooMany));
        assert!(lanes.enter(first, log(1)).is_ok());
    }

    #[test]
    fn only_what_follows_one_that_conflicted_is_held_up() {
        for lane in [LaneNumber::STRONG, LaneNumber(1)] {
            holds_up_until_it_has_its_end(lane);
        }
        let (mut lanes, lane, at) = (SessionLanes::default(), LaneNumber(1), Timestamp::from_u64(7));
        lanes.enter(lane, log(1)).expect("it is new");
        for counter in 10..1000 {
            lanes.ended(lane, Counter(counter), at, &Verdict::Conflict(at));
        }
        assert_eq!(lanes.others[&lane].order.failed.len(), FAILED_KEPT);
        assert_eq!(lanes.held_up(lane, Some(Counter(999))), Some(at));
    }

    fn holds_up_until_it_has_its_end(lane: LaneNumber) {
        let (mut lanes, at) = (SessionLanes::default(), Timestamp::from_u64(7));
        lanes.enter(lane, log(1).filter(|_| lane != LaneNumber::STRONG)).expect("it is new");
        lanes.ended(lane, Counter(4), at, &Verdict::Conflict(at));
        assert_eq!(lanes.held_up(lane, Some(Counter(4))), Some(at));
        assert_eq!(lanes.held_up(lane, Some(Counter(3))), None);
        assert_eq!(lanes.held_up(lane, None), None, "it is the first of a session, or all before it are answered");
        // It holds up what follows it until it commits itself, whatever commits before it.
        lanes.ended(lane, Counter(3), at, &Verdict::Committed(at));
        assert_eq!(lanes.held_up(lane, Some(Counter(4))), Some(at));
        lanes.ended(lane, Counter(4), at, &Verdict::Committed(at));
        assert_eq!(lanes.held_up(lane, Some(Counter(4))), None);
        for end in [Verdict::Aborted, Verdict::Rejected(Rejection::Forgotten)] {
            lanes.ended(lane, Counter(5), at, &Verdict::Conflict(at));
            lanes.ended(lane, Counter(5), at, &end);
            assert_eq!(lanes.held_up(lane, Some(Counter(5))), None, "{end:?}");
        }
        lanes.ended(lane, Counter(6), Timestamp::ZERO, &Verdict::Committed(Timestamp::from_u64(9)));
        lanes.ended(lane, Counter(7), at, &Verdict::Committed(at));
        assert_eq!(lanes.committed(lane), Timestamp::from_u64(9), "what follows commits above both");
    }
}
