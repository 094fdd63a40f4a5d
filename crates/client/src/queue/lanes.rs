//! The pending mutations of each lane.
//!
//! Invariant: each pending mutation is of one lane, and a lane that is here has some. A lane is in the order of calls, which is that of counters.
//! There are few lanes, and mutations come at their ends and leave at their fronts.

use std::collections::VecDeque;

use iolite_values::{Counter, Domain, LaneNumber};

#[derive(Debug, Default)]
pub(super) struct Lanes(Vec<(LaneNumber, VecDeque<Counter>)>);

/// How many mutations of a lane may be sent and not be in the confirmed state yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    pub(crate) strong: usize,
    pub(crate) log: usize,
}

impl Default for Windows {
    fn default() -> Windows {
        Windows { strong: Windows::STRONG, log: Windows::LOG }
    }
}

impl Windows {
    /// Strong mutations that are sent ahead.
    pub(crate) const STRONG: usize = 32;
    /// Operations of a log that are sent ahead.
    const LOG: usize = 64;
    /// Calls of tables that merge. They wait for nothing, so what is sent ahead is bounded by what a gateway takes.
    const CAUSAL: usize = 128;
    /// Change sets of a table.
    const ROWS: usize = 1;

    pub(super) fn of(&self, domain: &Domain) -> usize {
        match domain {
            Domain::Strong => self.strong,
            Domain::Log(_) => self.log,
            Domain::Rows(_) => Windows::ROWS,
            Domain::Causal => Windows::CAUSAL,
        }
    }
}

impl Windows {
    /// Among how many of a lane's first mutations those are that were sent. A call of tables that merge which waited for data takes its place before
    /// others that were sent meanwhile.
    pub(super) fn reach_of(&self, domain: &Domain) -> usize {
        match domain {
            Domain::Strong | Domain::Log(_) | Domain::Rows(_) => self.of(domain),
            Domain::Causal => 4 * self.of(domain),
        }
    }
}

impl Lanes {
    pub(super) fn insert(&mut self, lane: LaneNumber, counter: Counter) {
        let at = self.0.iter().position(|(number, _)| *number == lane).unwrap_or_else(|| {
            self.0.push((lane, VecDeque::new()));
            self.0.len() - 1
        });
        let own = &mut self.0[at].1;
        if let Err(place) = own.binary_search(&counter) {
            own.insert(place, counter);
        }
    }

    pub(super) fn remove(&mut self, lane: LaneNumber, counter: Counter) {
        let Some((_, own)) = self.0.iter_mut().find(|(number, _)| *number == lane) else { return };
        if let Ok(place) = own.binary_search(&counter) {
            own.remove(place);
        }
        self.0.retain(|(_, own)| !own.is_empty());
    }

    /// The mutations of a lane, in order.
    pub(super) fn of(&self, lane: LaneNumber) -> impl Iterator<Item = Counter> {
        self.0.iter().filter(move |(number, _)| *number == lane).flat_map(|(_, own)| own.iter().copied())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The mutations of each lane, in the order of their calls.
    pub(super) fn each(&self) -> impl Iterator<Item = &VecDeque<Counter>> {
        self.0.iter().map(|(_, own)| own)
    }

    pub(super) fn each_with_number(&self) -> impl Iterator<Item = (LaneNumber, &VecDeque<Counter>)> {
        self.0.iter().map(|(number, own)| (*number, own))
    }

    pub(super) fn validate<'a>(&self, entries: impl Iterator<Item = (LaneNumber, &'a Counter)>) {
        let mut count = 0;
        for (lane, counter) in entries {
            count += 1;
            let own = self.0.iter().find(|(number, _)| *number == lane);
            assert!(own.is_some_and(|(_, own)| own.binary_search(counter).is_ok()), "a mutation is in its lane");
        }
        assert_eq!(self.each().map(VecDeque::len).sum::<usize>(), count, "a lane has pending mutations only");
        assert!(self.each().all(|own| !own.is_empty()), "a lane that is here has some");
    }
}
