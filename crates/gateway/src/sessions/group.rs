//! A group of data centres, as the gateway of one of them sees it: how far its clients see the group, and who of another data centre is let in.
//!
//! Invariant: a client that has seen something is let in only where all of that is, at or below the position of the feed.
//! Source: Zawirski 2013, section 4.4; docs/protocols/centres.md.

use std::collections::{BTreeMap, VecDeque};

use iolite_values::{StoreIncarnation, Timestamp};
use iolite_wire::centres::{Ceiling, CentreName, CentreNews, CentreToken, Clock, Place};
use iolite_wire::message::Hello;

/// Pieces of news that wait for the feed. Past it the last ones become one.
const LATER: usize = 64;

#[derive(Debug)]
pub struct Group {
    name: CentreName,
    /// Each with the number of the news that changed it.
    clock: BTreeMap<CentreName, (Revision, Ceiling)>,
    revision: Revision,
    /// Everything of these outboxes is here, at or below the position.
    here: BTreeMap<CentreName, Place>,
    /// The same at later positions.
    later: VecDeque<(Timestamp, BTreeMap<CentreName, Place>)>,
}

/// Counts the news.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(u64);

impl Group {
    pub fn new(name: CentreName) -> Group {
        let (clock, here, later) = (BTreeMap::new(), BTreeMap::new(), VecDeque::new());
        Group { name, clock, revision: Revision::default(), here, later }
    }

    pub fn name(&self) -> &CentreName {
        &self.name
    }

    /// The store is there, perhaps with another history: nothing is known of it.
    pub fn clear(&mut self) {
        self.here.clear();
        self.later.clear();
    }

    pub fn on_news(&mut self, news: CentreNews) {
        self.revision.0 += 1;
        for (name, ceiling) in news.clock {
            if self.clock.get(&name).is_none_or(|(_, own)| *own != ceiling) {
                self.clock.insert(name, (self.revision, ceiling));
            }
        }
        if self.later.len() >= LATER {
            self.later.pop_back();
        }
        self.later.push_back((news.at, news.here));
    }

    /// The feed is taken through a position. Returns whether more is here.
    pub fn advance(&mut self, position: Timestamp) -> bool {
        let due = self.later.partition_point(|(at, _)| *at <= position);
        let last = self.later.drain(..due).next_back();
        let is_news = last.is_some();
        self.here = last.map_or_else(|| std::mem::take(&mut self.here), |(_, here)| here);
        is_news
    }

    /// The changes of the clock since it was told at a revision, and the newest one.
    pub fn changed_since(&self, told: Revision) -> (Clock, Revision) {
        let changed = self.clock.iter().filter(|(_, (at, _))| *at > told);
        (changed.map(|(name, (_, ceiling))| (name.clone(), *ceiling)).collect(), self.revision)
    }

    /// The token of a client that another data centre of the group has served, with another store.
    pub fn token_from_elsewhere<'a>(&self, hello: &'a Hello, store: StoreIncarnation) -> Option<&'a CentreToken> {
        let is_elsewhere = hello.resume.is_some_and(|resume| resume.store != store);
        hello.centre_token.as_ref().filter(|token| is_elsewhere && token.at != self.name)
    }

    /// Whether all that a client has seen is here.
    pub fn covers(&self, token: &CentreToken) -> bool {
        let through = |name| self.here.get(name).copied().unwrap_or(Place::START);
        let at = through(&token.at);
        token.clock.iter().all(|(name, ceiling)| through(name) >= ceiling.through || at >= ceiling.here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> CentreName {
        CentreName::new(name).expect("a name")
    }

    fn news(at: u64, here: &[(&str, u64)]) -> CentreNews {
        let here = here.iter().map(|(own, place)| (name(own), Place(*place))).collect();
        CentreNews { clock: Clock::new(), at: Timestamp::from_u64(at), here }
    }

    #[test]
    fn a_client_of_another_data_centre_is_covered_by_one_of_two_outboxes_once_the_feed_is_there() {
        let ceiling = |through, here| Ceiling { through: Place(through), here: Place(here) };
        let clock = [(name("eu"), ceiling(5, 5)), (name("us"), ceiling(9, 4))].into();
        let token = CentreToken { at: name("eu"), clock };
        let mut group = Group::new(name("asia"));
        assert!(!group.covers(&token));
        group.on_news(news(10, &[("eu", 4), ("us", 8)]));
        group.on_news(news(20, &[("eu", 5)]));
        assert!(!group.advance(Timestamp::from_u64(9)));
        assert!(group.advance(Timestamp::from_u64(19)) && !group.covers(&token), "of eu 5 is not here");
        assert!(group.advance(Timestamp::from_u64(20)) && group.covers(&token), "eu through 5 has us through 9");
    }

    #[test]
    fn the_clock_is_told_where_it_has_changed() {
        let ceiling = Ceiling { through: Place(1), here: Place(1) };
        let mut group = Group::new(name("eu"));
        group.on_news(CentreNews { clock: [(name("eu"), ceiling)].into(), ..news(1, &[]) });
        let (changed, told) = group.changed_since(Revision::default());
        assert_eq!(changed, [(name("eu"), ceiling)].into());
        group.on_news(CentreNews { clock: [(name("eu"), ceiling), (name("us"), ceiling)].into(), ..news(2, &[]) });
        let (changed, told) = group.changed_since(told);
        assert_eq!((changed, group.changed_since(told).0), ([(name("us"), ceiling)].into(), Clock::new()));
    }
}
