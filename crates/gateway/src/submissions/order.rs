//! The lanes of a session: what each is of, and which mutations do not go to the store because one before them did not commit.
//!
//! Invariants: a lane is of one domain for as long as a session; a mutation is with the store only if the one that it follows has committed, so a client's
//! calls of one lane commit in the order in which it made them, through whatever gateways.

use std::collections::BTreeMap;

use iolite_values::{Counter, Domain, LaneNumber, Timestamp};
use iolite_wire::message::Verdict;

use crate::limits;

/// The lanes that a session has used, but for the strong one.
#[derive(Debug, Default)]
pub struct SessionLanes(BTreeMap<LaneNumber, SessionLane>);

#[derive(Debug)]
struct SessionLane {
    domain: Domain,
    /// Mutations that did not commit when they were last tried, and what their client needs to have seen before it tries again.
    failed: BTreeMap<Counter, Timestamp>,
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
                "a lane is of one log for as long as the session, and a mutation of something else was sent in it",
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
                Some(Domain::Log(_)) => Err(OutOfLane::OtherDomain),
            };
        }
        match (self.0.get(&lane), written) {
            (Some(own), Some(written)) if own.domain != written => Err(OutOfLane::OtherDomain),
            (Some(own), _) => Ok(own.domain.clone()),
            (None, Some(Domain::Strong)) => Err(OutOfLane::OtherDomain),
            // An abort in a lane that was not used yet: nothing is to be said of its domain.
            (None, None) => Ok(Domain::Strong),
            (None, Some(_)) if self.0.len() >= LANES_MAX => Err(OutOfLane::TooMany),
            (None, Some(domain)) => {
                self.0.insert(lane, SessionLane { domain: domain.clone(), failed: BTreeMap::new() });
                Ok(domain)
            }
        }
    }

    /// Notes how a mutation ended.
    pub fn ended(&mut self, lane: LaneNumber, counter: Counter, at: Timestamp, verdict: &Verdict) {
        let Some(own) = self.0.get_mut(&lane) else { return };
        match verdict {
            Verdict::Committed(_) => drop(own.failed.remove(&counter)),
            Verdict::Conflict(_) | Verdict::Aborted | Verdict::Rejected(_) => drop(own.failed.insert(counter, at)),
        }
        if own.failed.len() > FAILED_KEPT {
            own.failed.pop_first();
        }
    }

    /// The timestamp that a mutation has to wait for that follows one that did not commit.
    pub fn held_up(&self, lane: LaneNumber, follows: Option<Counter>) -> Option<Timestamp> {
        self.0.get(&lane)?.failed.get(&follows?).copied()
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::{LogId, Value};

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
    fn only_what_follows_one_that_did_not_commit_is_held_up() {
        let (mut lanes, lane) = (SessionLanes::default(), LaneNumber(1));
        let at = Timestamp::from_u64(7);
        lanes.enter(lane, log(1)).expect("it is new");
        lanes.ended(lane, Counter(4), at, &Verdict::Conflict(at));
        assert_eq!(lanes.held_up(lane, Some(Counter(4))), Some(at));
        assert_eq!(lanes.held_up(lane, Some(Counter(3))), None);
        assert_eq!(lanes.held_up(lane, None), None, "it is the first of a session, or all before it are answered");
        // It holds up what follows it until it commits itself, whatever commits before it.
        lanes.ended(lane, Counter(3), at, &Verdict::Committed(at));
        assert_eq!(lanes.held_up(lane, Some(Counter(4))), Some(at));
        lanes.ended(lane, Counter(4), at, &Verdict::Committed(at));
        assert_eq!(lanes.held_up(lane, Some(Counter(4))), None);
        for counter in 10..1000 {
            lanes.ended(lane, Counter(counter), at, &Verdict::Aborted);
        }
        assert_eq!(lanes.0[&lane].failed.len(), FAILED_KEPT);
        assert_eq!(lanes.held_up(lane, Some(Counter(999))), Some(at));
    }
}
