//! Links of servers with each other: one for each pair, made anew when it is gone.
//!
//! Invariant: messages come in the order in which they were sent, and none comes after one that was lost.

use std::collections::BTreeMap;

use iolite_objects::{PeerEvent, PeerLink, ServerInput};
use iolite_wire::objects::PeerMessage;

use super::links::Way;
use super::names::{At, gateway};
use super::queue::{Event, NodeEvent, PeerHappened};
use super::roughness::MILLISECOND;
use super::world::World;
use crate::history::Moment;

/// The lower server first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PairId(pub usize, pub usize);

/// One end of one link. Never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerEnd(pub u64);

#[derive(Debug, Default)]
pub struct Peers {
    last: u64,
    ends: BTreeMap<PeerEnd, End>,
    pairs: BTreeMap<PairId, Pair>,
}

#[derive(Debug, Default)]
struct Pair {
    /// Counts the links of the pair.
    generation: u64,
    ends: Option<(PeerEnd, PeerEnd)>,
    cut_until: Moment,
}

#[derive(Debug)]
struct End {
    server: usize,
    life: u64,
    other: PeerEnd,
    other_server: usize,
    /// The way of all that this end sends.
    way: Way,
    /// The server has not been told that it has ended.
    is_open: bool,
}

impl World {
    pub fn pairs(&self) -> Vec<PairId> {
        let all = 0..self.servers.len();
        all.clone().flat_map(|low| (low + 1..all.end).map(move |high| PairId(low, high))).collect()
    }

    /// A server has started: it links with all others.
    pub fn open_peers_of(&mut self, server: usize) {
        for pair in self.pairs() {
            if pair.0 == server || pair.1 == server {
                let at = self.moment + self.random.between(1, 300) * MILLISECOND;
                self.queue.add(at, Event::OpenPeers(pair));
            }
        }
    }

    pub fn open_peers(&mut self, id: PairId) {
        let is_up = |server: usize| self.servers[server].process.is_some();
        let both_up = is_up(id.0) && is_up(id.1);
        let pair = self.peers.pairs.entry(id).or_default();
        if !both_up || pair.ends.is_some() || pair.cut_until > self.moment {
            return;
        }
        pair.generation += 1;
        let ends = (PeerEnd(self.peers.last + 1), PeerEnd(self.peers.last + 2));
        pair.ends = Some(ends);
        self.peers.last += 2;
        let opened = [self.moment + self.delay(), self.moment + self.delay()];
        for (own, server, other, other_server, last) in
            [(ends.0, id.0, ends.1, id.1, opened[1]), (ends.1, id.1, ends.0, id.0, opened[0])]
        {
            let (life, way) = (self.servers[server].host.life, Way { last, ..Way::default() });
            self.peers.ends.insert(own, End { server, life, other, other_server, way, is_open: true });
        }
        self.tell_peer(ends.0, opened[0], PeerHappened::Opened);
        self.tell_peer(ends.1, opened[1], PeerHappened::Opened);
    }

    fn tell_peer(&mut self, end: PeerEnd, at: Moment, happened: PeerHappened) {
        let Some(own) = self.peers.ends.get(&end) else { return };
        self.queue.add(at, Event::Node(At::Server(own.server), own.life, NodeEvent::Peer(end, happened)));
    }

    pub fn send_to_peer(&mut self, link: PeerLink, message: &PeerMessage) {
        let id = PeerEnd(link.0);
        let Some(mut end) = self.peers.ends.remove(&id) else { return };
        if !end.way.vanishes && end.is_open {
            end.way.last = self.arrival(&end.way);
            let frame = message.encode().expect("a server sends what fits");
            self.tell_peer(end.other, end.way.last, PeerHappened::Message(frame));
        }
        self.peers.ends.insert(id, end);
    }

    /// Something comes to an end of a link, as its server is up and knows the link still.
    pub fn on_peer(&mut self, id: PeerEnd, happened: PeerHappened) {
        let Some(end) = self.peers.ends.get_mut(&id).filter(|end| end.is_open) else { return };
        let (server, other) = (end.server, end.other_server);
        let event = match happened {
            PeerHappened::Opened => PeerEvent::Opened(gateway(other)),
            PeerHappened::Message(frame) => {
                PeerEvent::Message(PeerMessage::decode(&frame).expect("a server sends what can be read"))
            }
            PeerHappened::Closed => {
                end.is_open = false;
                PeerEvent::Closed
            }
        };
        self.give_objects(server, ServerInput::Peer(PeerLink(id.0), event));
    }

    /// One direction of the link loses everything from now on; a moment later both ends hear that it has ended.
    pub fn cut_peers(&mut self, id: PairId, until: Moment) {
        let heard_after = self.random.below(2_500) * MILLISECOND;
        let both = self.random.chance(500);
        let pair = self.peers.pairs.entry(id).or_default();
        pair.cut_until = until;
        let (generation, ends) = (pair.generation, pair.ends);
        if let Some((one, other)) = ends {
            for end in if both { vec![one, other] } else { vec![one] } {
                self.peers.ends.get_mut(&end).expect("it is there").way.vanishes = true;
            }
            self.queue.add(self.moment + heard_after, Event::ClosePeers(id, generation));
        }
        self.queue.add(until, Event::OpenPeers(id));
    }

    /// The link ends, and each end hears of it.
    pub fn close_peers(&mut self, id: PairId, generation: u64) {
        let pair = self.peers.pairs.entry(id).or_default();
        if pair.generation != generation {
            return;
        }
        let Some((one, other)) = pair.ends.take() else { return };
        for end in [one, other] {
            self.peers.ends.get_mut(&end).expect("it is there").way.vanishes = true;
            let at = self.moment + self.random.below(200) * MILLISECOND;
            self.tell_peer(end, at, PeerHappened::Closed);
        }
        let again = self.moment + self.random.between(1, 500) * MILLISECOND;
        self.queue.add(again, Event::OpenPeers(id));
    }

    /// A server has ended: so have its links.
    pub fn close_peers_of(&mut self, server: usize) {
        for id in self.pairs() {
            if id.0 == server || id.1 == server {
                let generation = self.peers.pairs.entry(id).or_default().generation;
                self.close_peers(id, generation);
            }
        }
    }

    pub fn heal_peers(&mut self) {
        for id in self.pairs() {
            let pair = self.peers.pairs.entry(id).or_default();
            pair.cut_until = 0;
            let ends = pair.ends;
            let is_cut = |end: PeerEnd| self.peers.ends.get(&end).is_some_and(|own| own.way.vanishes);
            match ends {
                Some((one, other)) if is_cut(one) || is_cut(other) => {
                    let generation = self.peers.pairs.entry(id).or_default().generation;
                    self.close_peers(id, generation);
                }
                Some(_) => {}
                None => self.queue.add(self.moment + MILLISECOND, Event::OpenPeers(id)),
            }
        }
    }
}
