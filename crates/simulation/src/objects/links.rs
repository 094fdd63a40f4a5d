//! Connections of devices to servers, and what becomes of frames on their way.
//!
//! Invariant: frames come in the order in which they were sent, and none comes after one that was lost, as TCP promises.

use std::collections::BTreeMap;

use iolite_objects::{DeviceInput, ServerInput, SessionEvent, SessionId};
use iolite_wire::objects::{FromDevice, ToDevice};

use super::names::At;
use super::queue::{Event, NodeEvent};
use super::roughness::MILLISECOND;
use super::world::World;
use crate::history::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub u64);

#[derive(Debug, Default)]
pub struct Links {
    last: u64,
    pub all: BTreeMap<LinkId, Link>,
}

#[derive(Debug)]
pub struct Link {
    pub device: usize,
    pub device_life: u64,
    pub server: usize,
    pub server_life: u64,
    pub up: Way,
    pub down: Way,
    /// The server has not been told that it has ended.
    pub at_server: bool,
}

/// One direction of a link.
#[derive(Debug, Default)]
pub struct Way {
    /// When the last frame arrives.
    pub last: Moment,
    /// Until then each frame takes up to so much longer.
    pub slow_until: Moment,
    pub slow: Moment,
    /// Frames are lost from now on.
    pub vanishes: bool,
    /// Frames that were sent under an earlier number are lost.
    pub generation: u64,
}

impl Way {
    pub fn lose_all(&mut self) {
        self.vanishes = true;
        self.generation += 1;
    }
}

impl World {
    /// When a frame arrives that is sent now.
    pub fn arrival(&mut self, way: &Way) -> Moment {
        let slow = if self.moment < way.slow_until { self.random.below(way.slow) } else { 0 };
        way.last.max(self.moment + self.delay() + slow) + 1
    }

    pub fn delay(&mut self) -> Moment {
        let most = if self.healing { 5 * MILLISECOND } else { self.rough.delay };
        self.random.below(most) + 1
    }

    /// A device dials a server that is up.
    pub fn connect(&mut self, device: usize) {
        let up: Vec<usize> = (0..self.servers.len()).filter(|server| self.servers[*server].process.is_some()).collect();
        let is_away = self.devices[device].away_until > self.moment;
        let device_life = self.devices[device].host.life;
        if up.is_empty() || is_away {
            let at = self.moment + self.random.between(10, 300) * MILLISECOND;
            return self.queue.add(at, Event::Node(At::Device(device), device_life, NodeEvent::NotLinked));
        }
        let server = up[self.random.below(up.len() as u64) as usize];
        let server_life = self.servers[server].host.life;
        self.links.last += 1;
        let id = LinkId(self.links.last);
        let opened = self.moment + self.delay();
        let linked = opened + self.delay();
        let (up, down) = (Way { last: opened, ..Way::default() }, Way { last: linked, ..Way::default() });
        self.links.all.insert(id, Link { device, device_life, server, server_life, up, down, at_server: true });
        self.devices[device].link = Some(id);
        self.queue.add(opened, Event::Node(At::Server(server), server_life, NodeEvent::Opened(id)));
        self.queue.add(linked, Event::Node(At::Device(device), device_life, NodeEvent::Linked(id)));
    }

    pub fn send_up(&mut self, device: usize, message: &FromDevice) {
        let Some(id) = self.devices[device].link else { return };
        let Some(mut link) = self.links.all.remove(&id) else { return };
        if !link.up.vanishes {
            link.up.last = self.arrival(&link.up);
            let frame = message.encode().expect("a device sends what fits");
            let event = NodeEvent::Up(id, link.up.generation, frame);
            self.queue.add(link.up.last, Event::Node(At::Server(link.server), link.server_life, event));
        }
        self.links.all.insert(id, link);
    }

    pub fn send_down(&mut self, session: SessionId, message: &ToDevice) {
        let id = LinkId(session.0);
        let Some(mut link) = self.links.all.remove(&id) else { return };
        if !link.down.vanishes && link.at_server {
            link.down.last = self.arrival(&link.down);
            let frame = message.encode().expect("a server sends what fits");
            let event = NodeEvent::Down(id, link.down.generation, frame);
            self.queue.add(link.down.last, Event::Node(At::Device(link.device), link.device_life, event));
        }
        self.links.all.insert(id, link);
    }

    pub fn came_up(&mut self, id: LinkId, generation: u64, frame: &[u8]) {
        let Some(link) = self.links.all.get(&id).filter(|link| link.at_server && link.up.generation == generation)
        else {
            return;
        };
        let server = link.server;
        let message = FromDevice::decode(frame).expect("a device sends what can be read");
        self.give_objects(server, ServerInput::Session(SessionId(id.0), SessionEvent::Message(message)));
    }

    pub fn came_down(&mut self, id: LinkId, generation: u64, frame: &[u8]) {
        let Some(link) = self.links.all.get(&id).filter(|link| link.down.generation == generation) else { return };
        let (device, server, server_life, at_server) = (link.device, link.server, link.server_life, link.at_server);
        if self.devices[device].link != Some(id) {
            return;
        }
        if at_server {
            let drained = ServerInput::Session(SessionId(id.0), SessionEvent::Drained(1));
            let event = Event::Node(At::Server(server), server_life, NodeEvent::Objects(drained));
            self.queue.add(self.moment, event);
        }
        let message = ToDevice::decode(frame).expect("a server sends what can be read");
        self.give_device(device, DeviceInput::Message(message));
    }

    /// The server has heard that a link has ended.
    pub fn closed(&mut self, id: LinkId) {
        let Some(link) = self.links.all.get_mut(&id).filter(|link| link.at_server) else { return };
        link.at_server = false;
        let server = link.server;
        self.give_objects(server, ServerInput::Session(SessionId(id.0), SessionEvent::Closed));
    }

    /// The device has heard that a link has ended.
    pub fn lost(&mut self, id: LinkId) {
        let Some(device) = self.links.all.get(&id).map(|link| link.device) else { return };
        if self.devices[device].link == Some(id) {
            self.devices[device].link = None;
            self.give_device(device, DeviceInput::LinkLost);
        }
    }

    /// The server closes a link, once its frames are sent.
    pub fn close(&mut self, session: SessionId) {
        let id = LinkId(session.0);
        let Some(link) = self.links.all.get(&id) else { return };
        let (at, device, life) = (link.down.last.max(self.moment), At::Device(link.device), link.device_life);
        let (server, server_life) = (link.server, link.server_life);
        if !link.down.vanishes {
            self.queue.add(at + 1, Event::Node(device, life, NodeEvent::Lost(id)));
        }
        let event = Event::Node(At::Server(server), server_life, NodeEvent::Closed(id));
        self.queue.add(self.moment, event);
    }

    /// The device closes its link.
    pub fn disconnect(&mut self, device: usize) {
        let Some(id) = self.devices[device].link.take() else { return };
        let Some(link) = self.links.all.get(&id) else { return };
        let at = link.up.last.max(self.moment) + 1;
        if !link.up.vanishes {
            self.queue.add(at, Event::Node(At::Server(link.server), link.server_life, NodeEvent::Closed(id)));
        }
    }

    /// The ends of a link hear that it has ended, after so long each. Frames get lost as their ways say.
    pub fn end_link(&mut self, id: LinkId, server_after: Moment, device_after: Moment) {
        let Some(link) = self.links.all.get_mut(&id) else { return };
        (link.up.vanishes, link.down.vanishes) = (true, true);
        let (server, server_life) = (At::Server(link.server), link.server_life);
        let (device, device_life) = (At::Device(link.device), link.device_life);
        let moment = self.moment;
        self.queue.add(moment + server_after, Event::Node(server, server_life, NodeEvent::Closed(id)));
        self.queue.add(moment + device_after, Event::Node(device, device_life, NodeEvent::Lost(id)));
    }

    /// All links are whole from now on, or end soon.
    pub fn heal_links(&mut self) {
        let ids: Vec<LinkId> = self.links.all.keys().copied().collect();
        for id in ids {
            let Some(link) = self.links.all.get_mut(&id) else { continue };
            (link.up.slow_until, link.down.slow_until) = (0, 0);
            if link.up.vanishes || link.down.vanishes {
                self.end_link(id, 100 * MILLISECOND, 100 * MILLISECOND);
            }
        }
    }
}
