//! The leases of servers: when the own one is renewed, and which others have stopped.
//!
//! Invariant: when a server is marked as lost, none of its leases holds. The server counts a lease from when it sent the renewal. Everybody else counts an
//! eighth more, from when it saw the renewal in the feed. Then it marks the row. A renewal that is under way is in conflict with that commit.
//!
//! Nothing here rests on a wall clock. Clocks may run apart by a sixteenth.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use iolite_machine::Instant;
use iolite_store::RowAt;
use iolite_values::{CoordinatorId, NodeId, NodeLife, NodeName, Row, Timestamp, Write};

use crate::nodes;
use crate::tables;

/// How long a server may rely on its lease, from when it sent the renewal.
pub const LEASE: Duration = Duration::from_secs(5);
/// How often a server renews its lease.
pub const RENEW_EVERY: Duration = Duration::from_secs(1);

/// How long a server is taken to be there, from when its row was seen to change.
const WATCHED: Duration = Duration::from_millis(5_625);

#[derive(Debug, Default)]
pub struct Leases {
    own: Option<Own>,
    servers: BTreeMap<CoordinatorId, Server>,
    /// Earlier lives of servers, and when the last lease of each is over.
    ended: BTreeMap<NodeId, Instant>,
    /// The rows of servers are being read, and these writes came since.
    since: Option<Vec<Write>>,
    /// The addresses of servers that the host was told.
    addresses: BTreeMap<CoordinatorId, String>,
}

/// The server of this process.
#[derive(Clone, Copy, Debug)]
struct Own {
    node: NodeId,
    /// When its lease is renewed next.
    next: Instant,
    /// The end of its lease.
    until: Instant,
    /// The end of its lease has come, and was a deadline.
    is_over: bool,
    /// The commit that gave it a lease after a time without one. What others did in that time is in the feed before this.
    since: Timestamp,
}

#[derive(Debug)]
struct Server {
    row: Row,
    /// When it was last seen to change, or when it was last looked after.
    seen: Instant,
}

/// A server that has not renewed its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silent {
    pub node: NodeId,
    /// The last renewal that was seen.
    pub renewed: u64,
}

impl Leases {
    /// The rows of servers are read as of now.
    pub fn begin_reading(&mut self) {
        self.since = Some(Vec::new());
    }

    /// The rows of all servers. Returns the servers that are lost.
    pub fn load(&mut self, now: Instant, rows: Vec<RowAt>) -> Vec<NodeId> {
        let named = rows.into_iter().filter_map(|row| match tables::node_name(&row.key)? {
            NodeName::Server(gateway) => Some((gateway, Server { row: row.row, seen: now })),
            NodeName::Device(_) => None,
        });
        self.servers = named.collect();
        let lives = self.servers.iter().filter_map(|(gateway, own)| nodes::node(NodeName::Server(*gateway), &own.row));
        let earlier =
            lives.filter(|node| node.life.0 > 1).map(|node| NodeId { life: NodeLife(node.life.0 - 1), ..node });
        self.ended.extend(earlier.map(|node| (node, now + WATCHED)));
        let lost = self.servers.iter().filter(|(_, server)| nodes::is_lost(&server.row));
        let lost = lost.filter_map(|(gateway, server)| nodes::node(NodeName::Server(*gateway), &server.row));
        let lost = lost.collect();
        for write in self.since.take().unwrap_or_default() {
            self.apply(now, &write);
        }
        lost
    }

    /// Takes a write of the feed. Returns the node that is dead by it.
    pub fn fold(&mut self, now: Instant, write: &Write) -> Option<NodeId> {
        let name = tables::node_name(&write.cell.row)?;
        match (&mut self.since, name) {
            (Some(since), NodeName::Server(_)) => since.push(write.clone()),
            (None, NodeName::Server(_)) => self.apply(now, write),
            // A device has no lease that would have to end.
            (_, NodeName::Device(_)) => return nodes::marked_lost(name, write).or(nodes::ended_life(name, write)),
        }
        nodes::marked_lost(name, write)
    }

    fn apply(&mut self, now: Instant, write: &Write) {
        let Some(NodeName::Server(gateway)) = tables::node_name(&write.cell.row) else { return };
        let server = self.servers.entry(gateway).or_insert(Server { row: Row::default(), seen: now });
        // What does not fit changes nothing, here as in the store.
        let _ = server.row.apply(write.cell.column, &write.operation);
        server.seen = now;
        self.ended.extend(nodes::ended_life(NodeName::Server(gateway), write).map(|node| (node, now + WATCHED)));
    }

    /// The addresses of servers that the host is to be told: new ones, and others than before.
    pub fn new_addresses(&mut self) -> Vec<(NodeId, String)> {
        let mut new = Vec::new();
        for (gateway, server) in &self.servers {
            let node = nodes::node(NodeName::Server(*gateway), &server.row);
            let (Some(node), Ok(address)) = (node, tables::text(&server.row, nodes::ADDRESS)) else { continue };
            if self.addresses.get(gateway).is_none_or(|told| told != address) {
                self.addresses.insert(*gateway, address.to_owned());
                new.push((node, address.to_owned()));
            }
        }
        new
    }

    /// Earlier lives of servers whose leases are over.
    pub fn over(&mut self, now: Instant) -> Vec<NodeId> {
        let over: Vec<NodeId> = self.ended.iter().filter(|(_, end)| **end <= now).map(|(node, _)| *node).collect();
        self.ended.retain(|_, end| *end > now);
        over
    }

    /// Another process has the number of this one: there are no more leases.
    pub fn forget_own(&mut self) {
        self.own = None;
    }

    /// The server of this process has registered, or renewed its lease, by a commit that was sent and is at these times. Returns until when it has one.
    pub fn hold(&mut self, node: NodeId, now: Instant, sent: Instant, at: Timestamp) -> Instant {
        let until = sent + LEASE;
        match self.own.as_mut().filter(|own| own.node == node) {
            Some(own) => {
                if own.until <= now {
                    own.since = at;
                }
                (own.until, own.is_over) = (until, false);
            }
            None => self.own = Some(Own { node, next: now + RENEW_EVERY, until, is_over: false, since: at }),
        }
        until
    }

    /// The server of this process, while it has a lease and knows what happened before that.
    pub fn holder(&self, now: Instant, position: Timestamp) -> Option<NodeId> {
        self.own.filter(|own| now < own.until && own.since <= position).map(|own| own.node)
    }

    /// All servers that may have a lease. None: their rows are being read.
    pub fn alive(&self) -> Option<BTreeSet<NodeId>> {
        if self.since.is_some() {
            return None;
        }
        let there = self.servers.iter().filter(|(_, server)| !nodes::is_lost(&server.row));
        let there = there.filter_map(|(gateway, server)| nodes::node(NodeName::Server(*gateway), &server.row));
        Some(there.chain(self.ended.keys().copied()).collect())
    }

    /// The server of this process, if its lease is to be renewed now.
    pub fn renewal(&mut self, now: Instant) -> Option<NodeId> {
        let own = self.own.as_mut()?;
        own.is_over = own.until <= now;
        if own.next > now {
            return None;
        }
        own.next = now + RENEW_EVERY;
        Some(own.node)
    }

    /// The servers that were silent for too long. Each is looked after once more if that fails.
    pub fn silent(&mut self, now: Instant) -> Vec<Silent> {
        let own = self.own;
        let mut silent = Vec::new();
        for (gateway, server) in &mut self.servers {
            if server.ends(*gateway, own).is_some_and(|end| end <= now) {
                server.seen = now;
                silent.extend(server.silent(*gateway));
            }
        }
        silent
    }

    pub fn deadline(&self) -> Option<Instant> {
        let ends = self.servers.iter().filter_map(|(gateway, server)| server.ends(*gateway, self.own));
        ends.chain(self.own.into_iter().flat_map(|own| own.deadlines())).chain(self.ended.values().copied()).min()
    }
}

impl Own {
    /// The end of a lease that is over already is none: a host would come to it again and again.
    fn deadlines(self) -> impl Iterator<Item = Instant> {
        std::iter::once(self.next).chain(Some(self.until).filter(|until| !self.is_over && *until <= self.next))
    }
}

impl Server {
    /// When it is taken to have stopped. None: it is lost already, or it is the own one.
    fn ends(&self, gateway: CoordinatorId, own: Option<Own>) -> Option<Instant> {
        let is_own = own.is_some_and(|own| own.node.name == NodeName::Server(gateway));
        let is_watched = !is_own && self.silent(gateway).is_some() && !nodes::is_lost(&self.row);
        is_watched.then(|| self.seen + WATCHED)
    }

    fn silent(&self, gateway: CoordinatorId) -> Option<Silent> {
        let node = nodes::node(NodeName::Server(gateway), &self.row)?;
        Some(Silent { node, renewed: tables::number(&self.row, nodes::RENEWED).ok()? })
    }
}
