//! How a node is reached: it is this one, it has dialled this one, or it is behind another server.
//!
//! Tracking knows to which server a device is connected. It is asked once, and again when the device is not there.

use std::collections::BTreeMap;

use iolite_values::{CoordinatorId, NodeId, NodeName, ObjectName};
use iolite_wire::objects::Rpc;

use super::asking::Asked;
use super::holds::ToHold;
use super::{Asker, PeerLink, Server, SessionId, TrackAsk, Tracked};
use crate::limits::LOCATIONS_MAX;

#[derive(Debug, Default)]
pub(super) struct Routes {
    /// The servers of devices, as they were last heard of.
    servers: BTreeMap<NodeId, CoordinatorId>,
    /// Parcels for devices of which tracking is asked.
    waiting: BTreeMap<NodeId, Vec<Parcel>>,
}

/// The way to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Kernel,
    Session(SessionId),
    Peer(PeerLink),
    Nowhere,
}

/// Something for a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parcel {
    /// A call. `again`: it came back from a server at which its node is not any more.
    Call { from: Asker, rpc: Box<Rpc>, again: bool },
    /// An object that moves there.
    Hold(ObjectName, Box<ToHold>),
}

impl Routes {
    fn learn(&mut self, node: NodeId, server: CoordinatorId) {
        if self.servers.len() >= LOCATIONS_MAX {
            self.servers.clear();
        }
        self.servers.insert(node, server);
    }
}

impl Server {
    /// The node has answered by this link: its server was free to choose it.
    pub(super) fn found_behind(&mut self, node: NodeId, link: PeerLink) {
        if let (NodeName::Device(_), Some(server)) = (node.name, self.peers.server(link)) {
            self.routes.learn(node, server);
        }
    }

    /// The link to the server at which a node is thought to be.
    pub(super) fn link_to(&self, node: NodeId) -> Option<PeerLink> {
        match node.name {
            NodeName::Server(server) => self.peers.link(server),
            NodeName::Device(_) => self.routes.servers.get(&node).and_then(|server| self.peers.link(*server)),
        }
    }

    /// The way to a node. None: tracking has to be asked.
    fn route(&self, node: NodeId) -> Option<Route> {
        if Some(node) == self.kernel.node() {
            return Some(Route::Kernel);
        }
        if let Some(session) = self.sessions.of_node(node) {
            return Some(Route::Session(session));
        }
        if let Some(link) = self.link_to(node) {
            return Some(Route::Peer(link));
        }
        let may_be_elsewhere = matches!(node.name, NodeName::Device(_)) && !self.peers.is_empty();
        if may_be_elsewhere { None } else { Some(Route::Nowhere) }
    }

    pub(super) fn send_parcel(&mut self, to: NodeId, parcel: Parcel) {
        match self.route(to) {
            Some(route) => self.deliver(to, route, parcel),
            None => self.find_route(to, parcel),
        }
    }

    fn find_route(&mut self, to: NodeId, parcel: Parcel) {
        let waiting = self.routes.waiting.entry(to).or_default();
        waiting.push(parcel);
        if waiting.len() == 1 {
            self.ask(Asked::Route(to), TrackAsk::Where(to));
        }
    }

    fn deliver(&mut self, to: NodeId, route: Route, parcel: Parcel) {
        match parcel {
            Parcel::Call { from, rpc, again } => self.relay_by(route, from, to, *rpc, again),
            Parcel::Hold(object, to_hold) => self.move_routed(object, to, route, *to_hold),
        }
    }

    pub(super) fn route_told(&mut self, node: NodeId, tracked: &Tracked) {
        if let Tracked::At(Some(server)) = tracked {
            self.routes.learn(node, *server);
        }
        for parcel in self.routes.waiting.remove(&node).unwrap_or_default() {
            let route = self.route(node).unwrap_or(Route::Nowhere);
            self.deliver(node, route, parcel);
        }
    }

    /// The node was not where it was thought to be.
    pub(super) fn forget_route(&mut self, node: NodeId) {
        self.routes.servers.remove(&node);
    }
}
