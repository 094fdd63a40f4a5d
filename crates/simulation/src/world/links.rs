//! Session links: ordered, and either whole, gone, or half-open, which neither end is told.

use std::collections::BTreeMap;

use iolite_gateway::SessionId;

use crate::history::{ClientIndex, Moment};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkId(pub u64);

#[derive(Clone, Debug)]
pub struct Link {
    pub client: ClientIndex,
    pub client_life: u64,
    pub front: usize,
    pub front_life: u64,
    pub up: Way,
    pub down: Way,
    /// How slowly the client's end takes frames.
    slow: Slow,
    /// The last arrivals, so that nothing overtakes.
    up_until: Moment,
    down_until: Moment,
}

/// What becomes of the frames of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Whole,
    /// Buffers on the way take them, and nobody gets them.
    Swallowed,
    /// Nothing takes them.
    Stuck,
}

/// Until when frames come down one by one, with pauses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slow {
    pub until: Moment,
    pub pause: Moment,
}

impl LinkId {
    pub fn session(self) -> SessionId {
        SessionId(self.0)
    }
}

impl Link {
    pub fn is_half_open(&self) -> bool {
        self.up != Way::Whole || self.down != Way::Whole
    }
}

#[derive(Debug, Default)]
pub struct Links {
    links: BTreeMap<LinkId, Link>,
    last: u64,
}

impl Links {
    pub fn add(&mut self, client: ClientIndex, client_life: u64, front: usize, front_life: u64) -> LinkId {
        self.last += 1;
        let (up, down, slow) = (Way::Whole, Way::Whole, Slow::default());
        let link = Link { client, client_life, front, front_life, up, down, slow, up_until: 0, down_until: 0 };
        self.links.insert(LinkId(self.last), link);
        LinkId(self.last)
    }

    pub fn get(&self, id: LinkId) -> Option<&Link> {
        self.links.get(&id)
    }

    pub fn remove(&mut self, id: LinkId) -> Option<Link> {
        self.links.remove(&id)
    }

    pub fn of_client(&self, client: ClientIndex) -> Option<LinkId> {
        self.links.iter().find(|(_, link)| link.client == client).map(|(id, _)| *id)
    }

    pub fn of_front(&self, front: usize) -> Vec<LinkId> {
        self.links.iter().filter(|(_, link)| link.front == front).map(|(id, _)| *id).collect()
    }

    /// Whether a client has a link that is whole, and nothing is on the way to it.
    pub fn is_clear_for(&self, client: ClientIndex, now: Moment) -> bool {
        let link = self.of_client(client).and_then(|id| self.get(id));
        link.is_some_and(|link| !link.is_half_open() && link.down_until <= now)
    }

    pub fn ids(&self) -> Vec<LinkId> {
        self.links.keys().copied().collect()
    }

    /// Frames vanish from now on. A way that lost some brings no later ones.
    pub fn open_half(&mut self, id: LinkId, up: Way, down: Way) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let worse = |way: &mut Way, to: Way| match way {
            Way::Whole => *way = to,
            Way::Swallowed | Way::Stuck => {}
        };
        worse(&mut link.up, up);
        worse(&mut link.down, down);
    }

    /// Whoever is told of a half-open link is told now, whatever was lost on it.
    pub fn reset(&mut self, id: LinkId) {
        if let Some(link) = self.links.get_mut(&id) {
            (link.up, link.down) = (Way::Whole, Way::Whole);
        }
    }

    pub fn slow_down(&mut self, id: LinkId, slow: Slow) {
        if let Some(link) = self.links.get_mut(&id) {
            link.slow = slow;
        }
    }

    /// All sockets take what they get from now on.
    pub fn speed_up(&mut self) {
        self.links.values_mut().for_each(|link| link.slow = Slow::default());
    }

    /// When a frame that would arrive at `at` arrives, behind those before it.
    pub fn up_at(&mut self, id: LinkId, at: Moment) -> Option<Moment> {
        let link = self.links.get_mut(&id)?;
        link.up_until = at.max(link.up_until + 1);
        Some(link.up_until)
    }

    pub fn down_at(&mut self, id: LinkId, at: Moment) -> Option<Moment> {
        let link = self.links.get_mut(&id)?;
        let pause = if at < link.slow.until { link.slow.pause } else { 0 };
        link.down_until = at.max(link.down_until + 1 + pause);
        Some(link.down_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_that_lost_a_frame_brings_none_again() {
        let mut links = Links::default();
        let link = links.add(ClientIndex(0), 1, 0, 1);
        links.open_half(link, Way::Whole, Way::Stuck);
        links.open_half(link, Way::Swallowed, Way::Whole);
        let ways = links.get(link).map(|link| (link.up, link.down));
        assert_eq!(ways, Some((Way::Swallowed, Way::Stuck)));
    }

    #[test]
    fn a_slow_socket_takes_frames_one_by_one_until_it_does_not() {
        let mut links = Links::default();
        let link = links.add(ClientIndex(0), 1, 0, 1);
        links.slow_down(link, Slow { until: 50, pause: 30 });
        let arrivals = [10, 11, 60].map(|at| links.down_at(link, at));
        assert_eq!(arrivals, [Some(31), Some(62), Some(63)]);
    }

    #[test]
    fn a_link_is_clear_when_it_is_whole_and_has_brought_everything() {
        let mut links = Links::default();
        let client = ClientIndex(0);
        assert!(!links.is_clear_for(client, 9), "there is none");
        let link = links.add(client, 1, 0, 1);
        links.down_at(link, 10);
        assert_eq!([9, 10].map(|now| links.is_clear_for(client, now)), [false, true]);
        links.open_half(link, Way::Swallowed, Way::Whole);
        assert!(!links.is_clear_for(client, 10), "it is half-open");
    }
}
