//! How far clients of this data centre have seen the outboxes of the group.
//!
//! Invariants:
//! - all that was shown of an outbox stands in it at or below `through`, and all that was taken from it stands in this one at or below `here`;
//! - one of the two is in a data centre that is left, while fewer than K are lost.
//!
//! Source: Zawirski 2013, section 4.4. Two places in place of one: a data centre may end in the middle of what it takes, and the one it takes from may, too.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::Timestamp;
use iolite_wire::centres::{Ceiling, CentreName, CentreNews, Clock, Place, Taken};

/// The ceilings of what is shown, and what is here.
#[derive(Clone, Debug)]
pub struct Clocks {
    own: CentreName,
    shown: Clock,
    here: BTreeMap<CentreName, Place>,
    has_news: bool,
}

impl Clocks {
    /// At a start, where `last` is the last transaction, which peers have before anything is shown. What was taken before it is not read again: any place may have
    /// been, until a peer says how far its outbox goes.
    pub fn new(own: CentreName, peers: &BTreeSet<CentreName>, last: Place) -> Clocks {
        let through = if last == Place::START { Place::START } else { Place::LAST };
        let unknown = peers.iter().map(|peer| (peer.clone(), Ceiling { through, here: last }));
        let mut shown: Clock = unknown.collect();
        shown.insert(own.clone(), Ceiling { through: last, here: last });
        Clocks { own, shown, here: BTreeMap::new(), has_news: true }
    }

    /// A peer's outbox goes so far: nothing above it was taken before.
    pub fn following(&mut self, peer: &CentreName, last: Place) {
        if let Some(ceiling) = self.shown.get_mut(peer).filter(|own| own.through == Place::LAST) {
            ceiling.through = last;
            self.has_news = true;
        }
    }

    /// An entry of this outbox may be shown.
    pub fn show(&mut self, place: Place, taken: Option<&Taken>) {
        let (name, through) = taken.map_or((&self.own, place), |taken| (&taken.from, taken.place));
        let ceiling = self.shown.entry(name.clone()).or_default();
        *ceiling = Ceiling { through: ceiling.through.max(through), here: ceiling.here.max(place) };
        self.has_news = true;
    }

    /// Everything of an outbox through a place is here.
    pub fn has(&mut self, name: &CentreName, through: Place) {
        if self.here.get(name).is_none_or(|own| *own < through) {
            self.here.insert(name.clone(), through);
            self.has_news = true;
        }
    }

    /// This outbox goes so far.
    pub fn has_own(&mut self, last: Place) {
        let own = self.own.clone();
        self.has(&own, last);
    }

    /// The whole of it is said again.
    pub fn say_again(&mut self) {
        self.has_news = true;
    }

    /// The news since it was last asked. `at`: through where the feed has come, which holds what is here.
    pub fn news(&mut self, at: Timestamp) -> Option<CentreNews> {
        let has_news = std::mem::take(&mut self.has_news);
        has_news.then(|| CentreNews { clock: self.shown.clone(), at, here: self.here.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> CentreName {
        CentreName::new(name).expect("a name")
    }

    #[test]
    fn what_was_taken_before_a_start_is_bounded_by_the_end_of_the_peers_outbox() {
        let mut clocks = Clocks::new(name("eu"), &[name("us"), name("asia")].into(), Place(7));
        clocks.following(&name("us"), Place(90));
        clocks.show(Place(8), Some(&Taken { from: name("us"), place: Place(92) }));
        clocks.show(Place(9), Some(&Taken { from: name("us"), place: Place(91) }));
        clocks.following(&name("us"), Place(99));
        clocks.show(Place(10), None);
        let news = clocks.news(Timestamp::ZERO).expect("there is news");
        let ceiling = |through, here| Ceiling { through: Place(through), here: Place(here) };
        let expected =
            [(name("asia"), ceiling(u64::MAX, 7)), (name("eu"), ceiling(10, 10)), (name("us"), ceiling(92, 9))];
        assert_eq!(news.clock, expected.into());
        assert_eq!(clocks.news(Timestamp::ZERO), None);
    }
}
