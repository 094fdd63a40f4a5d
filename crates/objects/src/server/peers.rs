//! Other servers of the same store, by links.
//!
//! Invariant: servers of different stores say nothing to each other but their hellos.

use std::collections::BTreeMap;

use iolite_machine::Machine;
use iolite_values::{CoordinatorId, NodeId, StoreIncarnation};
use iolite_wire::limits::{CLASSES, SERVED_NODES};
use iolite_wire::objects::{Answer, CallFailure, Hold, NotRun, OfferedClass, PeerHello, PeerMessage, ServedClass};

use super::holds::{HoldFor, HoldKey, Spot, ToHold};
use super::{Asker, PeerEvent, PeerLink, Server, ServerOutput};
use crate::kernel::KernelInput;
use crate::parts::Parts;

#[derive(Debug, Default)]
pub(super) struct Peers {
    links: BTreeMap<PeerLink, Peer>,
    /// The latest link with each server.
    by_server: BTreeMap<CoordinatorId, PeerLink>,
    /// The classes that the others were told.
    told: Vec<ServedClass>,
}

#[derive(Debug)]
struct Peer {
    server: CoordinatorId,
    /// None: it has said nothing yet.
    store: Option<StoreIncarnation>,
    classes: Vec<ServedClass>,
    sent: u64,
    parts: Parts,
}

impl Peers {
    pub fn is_empty(&self) -> bool {
        self.by_server.is_empty()
    }

    pub fn link(&self, server: CoordinatorId) -> Option<PeerLink> {
        self.by_server.get(&server).copied()
    }

    pub fn server(&self, link: PeerLink) -> Option<CoordinatorId> {
        self.links.get(&link).map(|peer| peer.server)
    }

    pub fn next_number(&mut self, link: PeerLink) -> u64 {
        self.links.get_mut(&link).map_or(0, |peer| {
            peer.sent += 1;
            peer.sent
        })
    }

    /// A server that reaches a node of the service which runs this class.
    pub fn serving(&self, class: &OfferedClass) -> Option<PeerLink> {
        let mut linked = self.by_server.values();
        let runs = |peer: &Peer| peer.classes.iter().any(|served| served.class == *class);
        linked.find(|link| self.links.get(link).is_some_and(runs)).copied()
    }

    /// The classes that other servers reach.
    pub fn served(&self) -> impl Iterator<Item = ServedClass> {
        let linked = self.by_server.values().filter_map(|link| self.links.get(link));
        linked.flat_map(|peer| peer.classes.clone())
    }
}

impl Server {
    pub(super) fn on_peer(&mut self, link: PeerLink, event: PeerEvent) {
        match event {
            PeerEvent::Opened(server) => {
                let (store, classes, sent, parts) = (None, Vec::new(), 0, Parts::default());
                self.peers.links.insert(link, Peer { server, store, classes, sent, parts });
                self.peers.by_server.insert(server, link);
                // Without a link nobody was told, and nobody looked.
                self.peers.told = self.reached_classes();
                self.greet(link);
            }
            PeerEvent::Message(message) => self.on_peer_message(link, message),
            PeerEvent::Closed => self.peer_closed(link),
        }
    }

    fn peer_closed(&mut self, link: PeerLink) {
        let Some(peer) = self.peers.links.remove(&link) else { return };
        if self.peers.by_server.get(&peer.server) == Some(&link) {
            self.peers.by_server.remove(&peer.server);
        }
        self.relays_unlinked(link);
        self.holds_closed(|key| matches!(key, HoldKey::Peer(own, _) if *own == link));
    }

    pub(super) fn tell_peer(&mut self, link: PeerLink, message: PeerMessage) {
        if self.peers.links.contains_key(&link) {
            self.emit(ServerOutput::ToPeer(link, message));
        }
    }

    fn greet(&mut self, link: PeerLink) {
        if let (Some(store), Some(_)) = (self.store, self.kernel.node()) {
            let classes = self.peers.told.clone();
            self.tell_peer(link, PeerMessage::Hello(PeerHello { store, classes }));
        }
    }

    /// Greets all others again, as this node has registered under a store.
    pub(super) fn greet_all(&mut self) {
        let links: Vec<PeerLink> = self.peers.links.keys().copied().collect();
        links.into_iter().for_each(|link| self.greet(link));
    }

    /// The classes of nodes that serve, and that this server reaches by itself.
    pub(super) fn reached_classes(&self) -> Vec<ServedClass> {
        let own = self.settings.classes.iter();
        let own = own.map(|class| ServedClass {
            class: OfferedClass { name: class.name.clone(), declared: class.declared.clone() },
            nodes: self.kernel.node().into_iter().collect(),
        });
        let mut classes: Vec<ServedClass> = own.collect();
        for (class, node) in self.sessions.served() {
            match classes.iter_mut().find(|served| served.class == class) {
                Some(served) if served.nodes.len() >= SERVED_NODES.most => {}
                Some(served) => served.nodes.push(node),
                None => classes.push(ServedClass { class, nodes: vec![node] }),
            }
        }
        classes.truncate(CLASSES.most);
        classes
    }

    /// The others are told which classes nodes run that this server reaches, if these are others than before.
    pub(super) fn tell_classes(&mut self) {
        if self.peers.links.is_empty() && self.peers.told.is_empty() && self.settings.classes.is_empty() {
            return;
        }
        let classes = self.reached_classes();
        if classes != self.peers.told {
            self.peers.told = classes;
            self.greet_all();
        }
    }

    /// Whether a server speaks of the same store.
    fn is_of_own_store(&self, link: PeerLink) -> bool {
        let peer = self.peers.links.get(&link);
        peer.is_some_and(|peer| peer.store.is_some() && peer.store == self.store)
    }

    fn on_peer_message(&mut self, link: PeerLink, message: PeerMessage) {
        let is_own_store = self.is_of_own_store(link);
        match message {
            PeerMessage::Hello(hello) => self.on_peer_hello(link, hello),
            PeerMessage::Call { number, to, .. } if !is_own_store || !self.is_here(to) => {
                let answer = Answer::Failed(CallFailure::NotRun(NotRun::Unreachable));
                self.tell_peer(link, PeerMessage::Answer { number, answer });
            }
            PeerMessage::Call { number, to, rpc } => self.relay(Asker::Peer(link, number), to, rpc),
            PeerMessage::Answer { number, answer } => self.peer_answered(link, number, answer),
            PeerMessage::Hold { to, hold } => self.on_peer_hold(link, to, hold),
            PeerMessage::Held { number, held } => drop(self.held(HoldKey::Peer(link, number), held)),
            PeerMessage::Serve { to, object, epoch } if is_own_store && self.is_here(to) => {
                self.decided(to, object, epoch, true);
            }
            PeerMessage::Drop { to, object, epoch } if is_own_store && self.is_here(to) => {
                self.decided(to, object, epoch, false);
            }
            PeerMessage::Serve { .. } | PeerMessage::Drop { .. } => {}
            PeerMessage::Part { number, part } => {
                // A part that is missing shows at the end, where the state is refused.
                if let Some(peer) = self.peers.links.get_mut(&link) {
                    let _ = peer.parts.add(number, &part);
                }
            }
        }
    }

    fn on_peer_hello(&mut self, link: PeerLink, hello: PeerHello) {
        if let Some(peer) = self.peers.links.get_mut(&link) {
            (peer.store, peer.classes) = (Some(hello.store), hello.classes);
        }
        self.take_part();
    }

    /// A server without objects of its own takes part once somebody has some.
    pub(super) fn take_part(&mut self) {
        if self.kernel.node().is_none() {
            self.register_own();
        }
    }

    fn is_here(&self, node: NodeId) -> bool {
        Some(node) == self.kernel.node() || self.sessions.of_node(node).is_some()
    }

    fn on_peer_hold(&mut self, link: PeerLink, to: Option<NodeId>, hold: Hold) {
        let Hold { number, begin, epoch, state } = hold;
        let class = OfferedClass { name: begin.object.class().to_owned(), declared: begin.declared.clone() };
        let spot = match to {
            None => self.serving_here(&class).ok_or(NotRun::NoHostForClass),
            Some(to) if Some(to) == self.kernel.node() => Ok(Spot::Kernel),
            Some(to) => self.sessions.of_node(to).map(Spot::Session).ok_or(NotRun::Unreachable),
        };
        let spot = if self.is_of_own_store(link) { spot } else { Err(NotRun::Unreachable) };
        let whole = self.peers.links.get_mut(&link).map(|peer| peer.parts.end(number, state));
        let refused = match (spot, whole) {
            (Ok(spot), Some(Ok(state))) => {
                let to_hold = ToHold { begin, epoch, state };
                return self.hold_at(spot, HoldFor::Peer(link, number), to_hold);
            }
            (Err(why), _) => why,
            (Ok(_), Some(Err(problem))) => NotRun::TooLarge(problem.to_owned()),
            (Ok(_), None) => return,
        };
        self.tell_peer(link, PeerMessage::Held { number, held: Err(refused) });
    }

    /// The kernel of this server has answered a hold.
    pub(super) fn kernel_held(&mut self, key: HoldKey, held: Result<(), NotRun>) {
        let Some(node) = self.kernel.node() else { return };
        self.held(key, held.map(|()| node));
    }

    /// A new lease of this server. After a time without one, others may have begun its objects anew.
    pub(super) fn on_lease(&mut self, until: iolite_machine::Instant) {
        let had_none = self.lease_until.is_some_and(|before| before <= self.now.instant);
        self.lease_until = Some(until);
        if had_none {
            self.kernel.handle(self.now, KernelInput::LookAtRows);
        }
        self.kernel.handle(self.now, KernelInput::Lease(until));
    }
}
