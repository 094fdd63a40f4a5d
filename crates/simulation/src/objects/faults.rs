//! The faults of this world: links that are cut, half-open or slow, processes that end or stand still, a store that is late.
//!
//! Invariant: once healing has begun there are none, and everything that can come back has come back soon.

use super::happened::ObjectEvent;
use super::links::LinkId;
use super::names::At;
use super::peers::PairId;
use super::queue::Event;
use super::roughness::{MILLISECOND, SECOND};
use super::world::World;
use crate::history::Moment;

impl World {
    pub fn on_fault(&mut self) {
        if self.healing {
            return;
        }
        if self.rough.slow_service > 0 && self.random.chance(200) {
            self.rough.slow_service -= 1;
            self.slow_service();
        }
        match self.random.below(100) {
            0..=19 => self.cut_device(),
            20..=31 => self.half_open(),
            32..=45 => self.slow_link(),
            46..=55 => self.cut_servers(),
            56..=63 => self.crash_server(),
            64..=73 => self.crash_device(),
            74..=83 => self.stand_still(),
            84..=93 => self.store_late(),
            94..=95 => self.store_anew(),
            _ => self.restore_once(),
        }
        let after = self.random.between(50 * MILLISECOND, self.rough.fault_every);
        self.queue.add(self.moment + after, Event::Fault);
    }

    fn any_server(&mut self) -> usize {
        self.random.below(self.servers.len() as u64) as usize
    }

    fn any_device(&mut self) -> usize {
        self.random.below(self.devices.len() as u64) as usize
    }

    /// Mostly a moment, and now and then so long that a lease ends and a device is marked.
    fn while_away(&mut self) -> Moment {
        let is_long = self.random.chance(300);
        if is_long { self.random.between(12, 40) * SECOND } else { self.random.below(4_000) * MILLISECOND }
    }

    /// A moment, or as long as it takes until TCP finds out.
    fn until_heard(&mut self) -> Moment {
        let is_long = self.random.chance(250);
        if is_long { self.random.between(2, 30) * SECOND } else { self.random.below(200) * MILLISECOND }
    }

    fn lose_frames(&mut self, link: LinkId) {
        let (up, down) = (self.random.chance(500), self.random.chance(500));
        let Some(own) = self.links.all.get_mut(&link) else { return };
        if up {
            own.up.lose_all();
        }
        if down {
            own.down.lose_all();
        }
    }

    fn cut_device(&mut self) {
        let device = self.any_device();
        let Some(link) = self.devices[device].link else { return };
        self.happened(ObjectEvent::DeviceCut);
        self.lose_frames(link);
        self.devices[device].away_until = self.moment + self.while_away();
        let (server, device) = (self.until_heard(), self.until_heard());
        self.end_link(link, server, device);
    }

    /// Frames vanish in one direction or both, and nobody is told for a while.
    fn half_open(&mut self) {
        let device = self.any_device();
        let Some(link) = self.devices[device].link else { return };
        self.happened(ObjectEvent::HalfOpen);
        let which = self.random.below(3);
        let heard_after = self.random.between(500, 30_000) * MILLISECOND;
        let Some(own) = self.links.all.get_mut(&link) else { return };
        if which != 1 {
            own.up.lose_all();
        }
        if which != 0 {
            own.down.lose_all();
        }
        self.queue.add(self.moment + heard_after, Event::EndLink(link));
    }

    /// Frames take seconds. At its end the server gives the link up, while frames are still on their way to the device.
    fn slow_link(&mut self) {
        let device = self.any_device();
        let slow = (self.random.between(1, 3_000), self.random.between(1, 16_000));
        let until = self.random.between(1, 12) * SECOND;
        let heard = self.random.between(0, 20) * SECOND;
        let away = self.while_away();
        if let Some(link) = self.slow_down(device, slow, until)
            && self.random.chance(700)
        {
            self.devices[device].away_until = self.moment + until + away;
            self.give_up(link, until, heard);
        }
    }

    /// The last answers to a device of the service take so long that it is marked soon after they have come.
    fn slow_service(&mut self) {
        let serving: Vec<usize> = (0..self.devices.len()).filter(|device| self.devices[*device].serves).collect();
        let Some(device) = serving.first().copied() else { return };
        let slow = (500, self.random.between(12_000, 16_000));
        let until = self.random.between(3, 5) * SECOND;
        if let Some(link) = self.slow_down(device, slow, until) {
            let heard = 30 * SECOND;
            self.devices[device].away_until = self.moment + until + heard;
            self.give_up(link, until, heard);
        }
    }

    /// For so long each frame of a device's link takes up to so many milliseconds longer, up and down.
    fn slow_down(&mut self, device: usize, (up, down): (Moment, Moment), time: Moment) -> Option<LinkId> {
        let link = self.devices[device].link?;
        self.happened(ObjectEvent::SlowLink);
        let until = self.moment + time;
        let own = self.links.all.get_mut(&link)?;
        (own.up.slow, own.up.slow_until) = (up * MILLISECOND, until);
        (own.down.slow, own.down.slow_until) = (down * MILLISECOND, until);
        Some(link)
    }

    /// The server hears after so long that the link has ended, and the device so much later. Frames go on until then.
    fn give_up(&mut self, link: LinkId, after: Moment, heard: Moment) {
        use super::queue::NodeEvent;
        let Some(own) = self.links.all.get(&link) else { return };
        let (server, server_life) = (At::Server(own.server), own.server_life);
        let (device, device_life) = (At::Device(own.device), own.device_life);
        self.queue.add(self.moment + after, Event::Node(server, server_life, NodeEvent::Closed(link)));
        self.queue.add(self.moment + after + heard, Event::Node(device, device_life, NodeEvent::Lost(link)));
    }

    fn cut_servers(&mut self) {
        let pairs = self.pairs();
        if pairs.is_empty() {
            return;
        }
        let pair: PairId = pairs[self.random.below(pairs.len() as u64) as usize];
        self.happened(ObjectEvent::ServersCut);
        let until = self.moment + self.random.between(200, 8_000) * MILLISECOND;
        self.cut_peers(pair, until);
    }

    fn crash_server(&mut self) {
        let server = self.any_server();
        if self.servers[server].process.is_none() {
            return;
        }
        self.happened(ObjectEvent::ServerCrashed);
        self.note(At::Server(server), "ends", ());
        self.servers[server].process = None;
        self.servers[server].host.waiting = None;
        self.close_peers_of(server);
        let ended: Vec<LinkId> =
            self.links.all.iter().filter(|(_, link)| link.server == server).map(|(id, _)| *id).collect();
        for link in ended {
            let heard = self.until_heard();
            self.end_link(link, 0, heard);
        }
        let is_long = self.random.chance(300);
        let down = if is_long { self.random.between(6_000, 12_000) } else { self.random.between(50, 4_000) };
        self.queue.add(self.moment + down * MILLISECOND, Event::Start(At::Server(server)));
    }

    fn crash_device(&mut self) {
        let device = self.any_device();
        if self.devices[device].process.is_none() {
            return;
        }
        let is_gone = self.random.chance(120) && self.devices.iter().all(|own| !own.is_gone);
        self.happened(if is_gone { ObjectEvent::DeviceGone } else { ObjectEvent::DeviceCrashed });
        self.devices[device].is_gone = is_gone;
        self.end_device(device);
    }

    /// A device's process ends, and starts again later, if it ever does.
    fn end_device(&mut self, device: usize) {
        self.note(At::Device(device), "ends", self.devices[device].is_gone);
        let heard = self.until_heard();
        if let Some(link) = self.devices[device].link.take() {
            self.end_link(link, heard, 0);
        }
        let own = &mut self.devices[device];
        (own.process, own.host.waiting) = (None, None);
        let down = self.while_away();
        self.queue.add(self.moment + down, Event::Start(At::Device(device)));
    }

    /// A hello that came late has given the device another life than its process has. What is promised of an ended life is promised of an ended process, so
    /// this one ends (docs/faults.md says what is not checked so).
    pub fn displace(&mut self, device: usize, life: u64) {
        let at = At::Device(device);
        let is_of_store = self.host(at).store == Some(self.store.id);
        if is_of_store && self.node(at).is_some_and(|node| node.life.0 < life) {
            self.happened(ObjectEvent::Displaced);
            self.end_device(device);
        }
    }

    fn stand_still(&mut self) {
        let all: Vec<At> = self.all().into_iter().filter(|at| self.is_up(*at) && !self.is_still(*at)).collect();
        if all.is_empty() {
            return;
        }
        let at = all[self.random.below(all.len() as u64) as usize];
        self.happened(ObjectEvent::StoodStill);
        self.note(at, "stands still", ());
        self.host_mut(at).waiting = Some(Vec::new());
        let is_long = self.random.chance(400);
        let still = if is_long { self.random.between(5_000, 18_000) } else { self.random.between(300, 4_000) };
        self.queue.add(self.moment + still * MILLISECOND, Event::Resume(at));
    }

    fn store_late(&mut self) {
        let server = self.any_server();
        self.happened(ObjectEvent::StoreLate);
        let is_long = self.random.chance(400);
        let late = if is_long { self.random.between(5_000, 12_000) } else { self.random.between(300, 4_000) };
        self.servers[server].store_late_until = self.moment + late * MILLISECOND;
    }

    fn store_anew(&mut self) {
        let server = self.any_server();
        if self.servers[server].process.is_some() {
            self.happened(ObjectEvent::StoreAnew);
            self.store_ready(server);
        }
    }

    fn restore_once(&mut self) {
        if std::mem::take(&mut self.rough.is_restored) {
            self.restore();
        }
    }

    /// Faults are over: everything that can come back comes back.
    pub fn heal(&mut self) {
        self.healing = true;
        for server in 0..self.servers.len() {
            self.servers[server].store_late_until = 0;
        }
        for at in self.all() {
            if self.is_still(at) {
                self.resume(at);
            }
            let after = self.random.between(10, 500) * MILLISECOND;
            self.queue.add(self.moment + after, Event::Start(at));
        }
        self.devices.iter_mut().for_each(|device| device.away_until = 0);
        self.heal_links();
        self.heal_peers();
    }
}
