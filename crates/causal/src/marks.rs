//! Marks: entries of the outbox that tell its followers what is here of other outboxes, and what clients have acknowledged.
//!
//! So a data centre learns through a third one that it has all of an outbox whose own data centre is cut off or gone, and the records of a client go in
//! every data centre.
//!
//! Invariants:
//! - a mark is owed for a transaction that was taken and for an acknowledgement that is new here, and never for a mark: marks come to an end;
//! - at most one is written in 100 ms, and one is on its way at a time.
//!
//! Source: Iolite's own; SwiftCloud leaves open how records of silent clients go.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_values::{ClientId, Counter};
use iolite_wire::centres::CentreName;

use crate::limits::ACKNOWLEDGED_MAX;

/// The pause between two marks.
const PAUSE: Duration = Duration::from_millis(100);

/// The content of the next mark.
#[derive(Clone, Debug)]
pub struct Marks {
    /// Peers of whose outboxes something was taken since the last mark.
    owed: BTreeSet<CentreName>,
    /// Counters that are to be told.
    acknowledged: BTreeMap<ClientId, Counter>,
    /// The highest counter of each client that is known to be acknowledged, so that none is told twice.
    known: BTreeMap<ClientId, Counter>,
    next: Instant,
    /// The mark that is on its way.
    writing: Option<Due>,
}

/// The content of a mark that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    pub about: BTreeSet<CentreName>,
    pub acknowledged: BTreeMap<ClientId, Counter>,
}

impl Marks {
    /// At a start it is not known what is owed about peers, so it is about all of these.
    pub fn new(now: Instant, owed: BTreeSet<CentreName>) -> Marks {
        Marks { owed, acknowledged: BTreeMap::new(), known: BTreeMap::new(), next: now, writing: None }
    }

    /// A transaction was taken from a peer.
    pub fn owe(&mut self, peer: &CentreName) {
        if !self.owed.contains(peer) {
            self.owed.insert(peer.clone());
        }
    }

    /// A client needs no outcome through a counter. Returns whether that is new here.
    pub fn acknowledge(&mut self, client: ClientId, through: Counter) -> bool {
        let known = self.known.entry(client).or_default();
        if through <= *known {
            return false;
        }
        *known = through;
        self.acknowledged.insert(client, through);
        true
    }

    /// The next mark, if it is time for one. It is then on its way.
    pub fn due(&mut self, now: Instant) -> Option<Due> {
        if self.deadline().is_none_or(|at| at > now) {
            return None;
        }
        self.next = now + PAUSE;
        let rest = self.acknowledged.keys().nth(ACKNOWLEDGED_MAX).copied();
        let rest = rest.map(|first| self.acknowledged.split_off(&first)).unwrap_or_default();
        let acknowledged = std::mem::replace(&mut self.acknowledged, rest);
        let due = Due { about: std::mem::take(&mut self.owed), acknowledged };
        self.writing = Some(due.clone());
        Some(due)
    }

    /// The mark has come to an end. If it is not written, the next one has its content.
    pub fn ended(&mut self, is_written: bool) {
        let Some(Due { about, acknowledged }) = self.writing.take().filter(|_| !is_written) else { return };
        self.owed.extend(about);
        for (client, through) in acknowledged {
            let own = self.acknowledged.entry(client).or_default();
            *own = through.max(*own);
        }
    }

    /// When a mark is due.
    pub fn deadline(&self) -> Option<Instant> {
        let is_owed = !self.owed.is_empty() || !self.acknowledged.is_empty();
        (is_owed && self.writing.is_none()).then_some(self.next)
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::Id;

    use super::*;

    fn at(milliseconds: u64) -> Instant {
        Instant::from_nanos(milliseconds * 1_000_000)
    }

    #[test]
    fn one_mark_in_a_tenth_of_a_second_says_all_that_is_new() {
        let (client, us) = (ClientId(Id::from_u128(1)), CentreName::new("us").expect("a name"));
        let mut marks = Marks::new(at(0), BTreeSet::new());
        assert_eq!(marks.due(at(0)), None, "nothing is owed");
        marks.owe(&us);
        assert!(marks.acknowledge(client, Counter(3)) && !marks.acknowledge(client, Counter(3)));
        let due = marks.due(at(0)).expect("it is owed");
        assert_eq!((due.about, due.acknowledged), ([us.clone()].into(), [(client, Counter(3))].into()));
        marks.owe(&us);
        assert_eq!((marks.due(at(150)), marks.deadline()), (None, None), "one is on its way");
        marks.ended(true);
        assert!(marks.deadline() == Some(at(100)) && marks.due(at(99)).is_none());
        assert!(marks.due(at(100)).is_some());
        marks.ended(true);
        assert!(!marks.acknowledge(client, Counter(2)) && marks.due(at(900)).is_none(), "it is no news");
        assert!(marks.acknowledge(client, Counter(4)) && marks.due(at(900)).is_some());
        marks.ended(false);
        let again = marks.due(at(1000)).expect("what was not written is owed still");
        assert_eq!(again.acknowledged, [(client, Counter(4))].into());
    }

    #[test]
    fn a_mark_has_so_many_acknowledgements_and_the_next_one_the_rest() {
        let mut marks = Marks::new(at(0), BTreeSet::new());
        for client in 0..=ACKNOWLEDGED_MAX as u128 {
            marks.acknowledge(ClientId(Id::from_u128(client)), Counter(1));
        }
        assert_eq!(marks.due(at(0)).map(|due| due.acknowledged.len()), Some(ACKNOWLEDGED_MAX));
        marks.ended(true);
        assert_eq!(marks.due(at(100)).map(|due| due.acknowledged.len()), Some(1));
    }
}
