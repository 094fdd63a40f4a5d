//! Disks of devices that keep their objects over the end of their processes.
//!
//! Invariant: what a disk was given is on it in the order in which it was given, and what was not on it when its process ended never is.

use std::collections::BTreeMap;

use iolite_objects::{FromApp, KeptObject, Resumed};
use iolite_values::{NodeId, NodeName, ObjectEpoch, ObjectName, StoreIncarnation};
use iolite_wire::objects::DeviceWelcome;

use super::happened::ObjectEvent;
use super::names::At;
use super::queue::NodeEvent;
use super::roughness::MILLISECOND;
use super::world::World;
use crate::broken::Broken;
use crate::history::Moment;
use crate::random::Random;

#[derive(Debug, Default)]
pub struct Disk {
    /// The node, and under which store.
    node: Option<(NodeId, StoreIncarnation)>,
    /// Connections that all processes may have made.
    connections: u64,
    kept: BTreeMap<ObjectName, (ObjectEpoch, Vec<u64>)>,
    /// By then all is written that it was given.
    busy_until: Moment,
}

/// No process of a device connects so often.
const CONNECTIONS: u64 = 100_000;

/// The devices of a run that have disks, and how long those take.
pub struct Disks {
    random: Random,
    pub all: Vec<Option<Disk>>,
}

impl Disks {
    /// Drawn beside all else, so that runs without disks are what they were.
    pub fn new(seed: u64, devices: usize) -> Disks {
        let mut random = Random::from_seed(seed ^ 0x6469_736b);
        let all = (0..devices).map(|_| random.chance(400).then(Disk::default)).collect();
        Disks { random, all }
    }
}

impl World {
    fn disk(&mut self, at: At) -> Option<&mut Disk> {
        let At::Device(device) = at else { return None };
        self.disks.all.get_mut(device)?.as_mut()
    }

    /// The life and the objects that the next process of a device goes on with.
    pub fn resumed(&mut self, at: At) -> Option<Resumed> {
        let disk = self.disk(at)?;
        disk.busy_until = 0;
        disk.connections += CONNECTIONS;
        let (NodeId { name, life }, store) = disk.node?;
        let NodeName::Device(name) = name else { unreachable!("only devices have disks") };
        let of = |(object, (epoch, _)): (&ObjectName, &(ObjectEpoch, _))| KeptObject {
            object: object.clone(),
            epoch: *epoch,
        };
        let resumed = Resumed {
            name,
            life,
            store,
            connections: disk.connections,
            kept: disk.kept.iter().map(of).collect(),
            left: Vec::new(),
        };
        let kept = disk.kept.clone();
        for (object, (epoch, list)) in kept {
            let app = &mut self.host_mut(at).app;
            app.objects.insert(object.clone(), list);
            app.epochs.insert(object, epoch);
            self.happened(ObjectEvent::Resumed);
        }
        Some(resumed)
    }

    pub fn keep_life(&mut self, at: At, welcome: &DeviceWelcome) {
        if let Some(disk) = self.disk(at) {
            disk.node = Some((welcome.device, welcome.store));
        }
    }

    /// The state of an object is to be on the disk before the app says this. Without a disk it is said at once.
    pub fn say_when_kept(&mut self, at: At, object: &ObjectName, said: FromApp) {
        let app = &self.host(at).app;
        let state = app.epochs.get(object).copied().zip(app.objects.get(object).cloned());
        let after = state.as_ref().and_then(|_| self.written_after(at));
        let Some((state, after)) = state.zip(after) else {
            return self.host_mut(at).app.says.push_back(said);
        };
        let mut said = Some(said);
        if self.broken == Broken::AnswerBeforeKept {
            self.host_mut(at).app.says.extend(said.take());
        }
        self.later(at, after, NodeEvent::Kept(object.clone(), state, said));
    }

    /// A state is on the disk, unless its object has gone meanwhile.
    pub fn kept(&mut self, at: At, object: ObjectName, state: (ObjectEpoch, Vec<u64>), said: Option<FromApp>) {
        let is_here = self.host(at).app.objects.contains_key(&object);
        if let Some(disk) = self.disk(at).filter(|_| is_here) {
            disk.kept.insert(object, state);
        }
        self.host_mut(at).app.says.extend(said);
        self.carry(at);
    }

    /// The state of an object that has gone is to be removed, after what the disk was given before.
    pub fn keep_no_more(&mut self, at: At, object: &ObjectName) {
        if let Some(after) = self.written_after(at) {
            self.later(at, after, NodeEvent::KeptNoMore(object.clone()));
        }
    }

    pub fn kept_no_more(&mut self, at: At, object: &ObjectName) {
        if let Some(disk) = self.disk(at) {
            disk.kept.remove(object);
        }
    }

    /// How long the disk takes for one thing more. None: there is no disk.
    fn written_after(&mut self, at: At) -> Option<Moment> {
        let (moment, takes) = (self.moment, self.disks.random.below(40) * MILLISECOND);
        let disk = self.disk(at)?;
        disk.busy_until = disk.busy_until.max(moment) + takes;
        Some(disk.busy_until - moment)
    }
}
