//! The pending mutations of each lane.
//!
//! Invariant: each pending mutation is of one lane, and a lane that is here has some.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Counter, Domain, LaneNumber};

#[derive(Debug, Default)]
pub(super) struct Lanes(BTreeMap<LaneNumber, BTreeSet<Counter>>);

/// How many mutations of a lane may be sent and not be in the confirmed state yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    pub(super) strong: usize,
}

impl Default for Windows {
    fn default() -> Windows {
        Windows { strong: 1 }
    }
}

impl Windows {
    pub(super) fn of(&self, domain: Domain) -> usize {
        match domain {
            Domain::Strong => self.strong,
        }
    }
}

/// The lane of a domain's mutations.
pub(super) fn lane_of(domain: Domain) -> LaneNumber {
    match domain {
        Domain::Strong => LaneNumber::STRONG,
    }
}

impl Lanes {
    pub(super) fn insert(&mut self, lane: LaneNumber, counter: Counter) {
        self.0.entry(lane).or_default().insert(counter);
    }

    pub(super) fn remove(&mut self, lane: LaneNumber, counter: Counter) {
        let Some(own) = self.0.get_mut(&lane) else { return };
        own.remove(&counter);
        if own.is_empty() {
            self.0.remove(&lane);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The mutations of each lane, in the order of their calls.
    pub(super) fn each(&self) -> impl Iterator<Item = &BTreeSet<Counter>> {
        self.0.values()
    }

    pub(super) fn validate<'a>(&self, entries: impl Iterator<Item = (LaneNumber, &'a Counter)>) {
        let mut count = 0;
        for (lane, counter) in entries {
            count += 1;
            assert!(self.0.get(&lane).is_some_and(|own| own.contains(counter)), "a mutation is in its lane");
        }
        assert_eq!(self.0.values().map(BTreeSet::len).sum::<usize>(), count, "a lane has pending mutations only");
        assert!(self.0.values().all(|own| !own.is_empty()), "a lane that is here has some");
    }
}
