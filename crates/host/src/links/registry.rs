//! Which links are open, by number and by name.
//!
//! Invariants:
//! - a number is never used again;
//! - of the links with one peer that one side made, one is open: a newer one closes the older, which its peer has lost or forgotten.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::outbox::{Outbox, Sent};
use super::traffic::PeerTraffic;
use super::{LinkHandler, LinkNumber, LinkOutgoing, LinkPeer, LinkSide, NodeName};

/// Where messages to one link go.
pub(crate) struct Post<H: LinkHandler> {
    pub outbox: Outbox<H::Codec>,
    pub traffic: PeerTraffic,
}

pub(crate) struct Registry<H: LinkHandler> {
    entries: Mutex<Entries<H>>,
}

struct Entries<H: LinkHandler> {
    last: LinkNumber,
    open: BTreeMap<LinkNumber, Arc<Post<H>>>,
    by_name: BTreeMap<NodeName, Sides>,
}

#[derive(Debug, Default)]
struct Sides {
    dialled: Option<LinkNumber>,
    accepted: Option<LinkNumber>,
}

impl Sides {
    fn of(&mut self, side: LinkSide) -> &mut Option<LinkNumber> {
        match side {
            LinkSide::Dialled => &mut self.dialled,
            LinkSide::Accepted => &mut self.accepted,
        }
    }
}

impl<H: LinkHandler> Post<H> {
    /// Sends, or drops and counts.
    pub fn send(&self, link: LinkNumber, message: &LinkOutgoing<H>) {
        match self.outbox.send(message) {
            Sent::Queued => {}
            Sent::Full => self.traffic.full.add(1),
            Sent::Closed => self.traffic.down.add(1),
            Sent::Unsendable(problem) => {
                self.traffic.unsendable.add(1);
                tracing::error!(link, problem, "a message cannot be sent: it is dropped");
            }
        }
    }
}

impl<H: LinkHandler> Registry<H> {
    pub fn new() -> Registry<H> {
        let entries = Entries { last: 0, open: BTreeMap::new(), by_name: BTreeMap::new() };
        Registry { entries: Mutex::new(entries) }
    }

    /// Adds a link that both sides agreed to.
    pub fn open(&self, peer: &LinkPeer, post: Arc<Post<H>>) -> LinkNumber {
        let mut entries = self.lock();
        entries.last += 1;
        let number = entries.last;
        let place = entries.by_name.entry(peer.name.clone()).or_default().of(peer.side);
        let replaced = place.replace(number).and_then(|older| entries.open.get(&older).cloned());
        entries.open.insert(number, post);
        drop(entries);
        if let Some(older) = replaced {
            older.outbox.close("a newer link replaces this one");
        }
        number
    }

    pub fn closed(&self, peer: &LinkPeer, number: LinkNumber) {
        let mut entries = self.lock();
        let Entries { open, by_name, .. } = &mut *entries;
        open.remove(&number);
        let Some(sides) = by_name.get_mut(&peer.name) else { return };
        let place = sides.of(peer.side);
        if *place == Some(number) {
            *place = None;
        }
        if sides.dialled.or(sides.accepted).is_none() {
            by_name.remove(&peer.name);
        }
    }

    pub fn by_number(&self, number: LinkNumber) -> Option<Arc<Post<H>>> {
        self.lock().open.get(&number).cloned()
    }

    /// The link that this node dialled, or else the one that the peer did.
    pub fn by_name(&self, name: &NodeName) -> Option<(LinkNumber, Arc<Post<H>>)> {
        let entries = self.lock();
        let sides = entries.by_name.get(name)?;
        let number = sides.dialled.or(sides.accepted)?;
        Some((number, entries.open.get(&number)?.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, Entries<H>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
