//! Session links: ordered, and either whole or gone.

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
    /// The last arrivals, so that nothing overtakes.
    up_until: Moment,
    down_until: Moment,
}

impl LinkId {
    pub fn session(self) -> SessionId {
        SessionId(self.0)
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
        let link = Link { client, client_life, front, front_life, up_until: 0, down_until: 0 };
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

    pub fn ids(&self) -> Vec<LinkId> {
        self.links.keys().copied().collect()
    }

    /// When a frame that would arrive at `at` arrives, behind those before it.
    pub fn up_at(&mut self, id: LinkId, at: Moment) -> Option<Moment> {
        let link = self.links.get_mut(&id)?;
        link.up_until = at.max(link.up_until + 1);
        Some(link.up_until)
    }

    pub fn down_at(&mut self, id: LinkId, at: Moment) -> Option<Moment> {
        let link = self.links.get_mut(&id)?;
        link.down_until = at.max(link.down_until + 1);
        Some(link.down_until)
    }
}
