//! Operators who change who keeps a shard while everybody works: they replace replicas whose disks are gone for good, and such as are well, move
//! shards, and make groups larger or smaller.
//!
//! Invariants:
//! - a replica that lost its disk never comes back under its number; of the group that keeps a shard at most f are lost at a time;
//! - gateways that start are told of a group once a majority of it takes part;
//! - a replica that was replaced is there until all that are there of the group after it take part, and every gateway knows that group; unless its disk is
//!   lost, so the directory may be the only one that tells a gateway which group came after those that it knows.
//!
//! Source: docs/decisions/0009-sealed-epochs.md.

use std::collections::BTreeSet;

use iolite_engine::MemoryDisk;
use iolite_replication::node::{Configuration, Epoch, Group, ReplicaId, ShardId, Split};
use iolite_replication::{Extent, ShardMap, configuration_write};
use iolite_values::Write;

use super::server::{End, Store};
use super::store_node::{Place, StoreNode};
use super::{Process, World};
use crate::broken::Broken;
use crate::faults::Fault;
use crate::occasions::Occasion;
use crate::random::Random;

/// What operators do in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operators {
    None,
    /// They replace replicas by others.
    Replace,
    /// They also move a shard to other replicas, and make its group larger or smaller.
    Resize,
    /// They split shards.
    Split,
}

impl Operators {
    /// Of a cluster; the embedded server has none.
    pub fn random(random: &mut Random) -> Operators {
        match random.below(10) {
            0 => Operators::None,
            1..=4 => Operators::Replace,
            5 | 6 => Operators::Resize,
            _ => Operators::Split,
        }
    }
}

/// What the operators of a run know and have done.
#[derive(Debug)]
pub struct Operating {
    pub kind: Operators,
    /// The epochs that somebody has tried to end.
    changed: BTreeSet<(ShardId, Epoch)>,
    /// Replicas that have been in a group which somebody has tried to end.
    pub served: BTreeSet<ReplicaId>,
    last_replica: u64,
    pub last_shard: u32,
    /// Those that were tried.
    pub splits: Vec<Split>,
    /// Replicas on empty disks in place of those that were lost.
    emptied: BTreeSet<ReplicaId>,
}

impl Operating {
    pub fn new(kind: Operators, map: &ShardMap) -> Operating {
        let members = map.groups().flat_map(Group::members);
        Operating {
            kind,
            changed: BTreeSet::new(),
            served: BTreeSet::new(),
            last_replica: members.map(|id| id.0).max().unwrap_or_default(),
            last_shard: map.groups().map(|group| group.shard.0).max().unwrap_or_default(),
            splits: Vec::new(),
            emptied: BTreeSet::new(),
        }
    }

    /// A number that no replica has had.
    pub fn next_replica(&mut self) -> ReplicaId {
        self.last_replica += 1;
        ReplicaId(self.last_replica)
    }
}

impl World {
    pub(super) fn operate(&mut self) {
        match self.operating.kind {
            Operators::None => {}
            Operators::Replace | Operators::Resize => self.reconfigure(),
            Operators::Split => self.split(),
        }
    }

    /// Operators look at what became of what they did.
    pub(super) fn follow_operators(&mut self) {
        match self.operating.kind {
            Operators::None => return,
            Operators::Replace | Operators::Resize => self.turn_off_replaced(),
            Operators::Split => self.follow_splits(),
        }
        self.read_directory();
    }

    /// Gateways read the directory of the cluster again: seldom while things happen, for replicas can tell them sooner.
    fn read_directory(&mut self) {
        for front in 0..self.fronts.len() {
            let is_time = self.random.chance(if self.healing { 50 } else { 3 });
            let (now, is_still) = (self.now_of_front(front), self.is_still(End::Front(front)));
            if let Process::Up(node) = &mut self.fronts[front]
                && is_time
                && !is_still
            {
                node.read_directory(now, &self.map);
            }
        }
    }

    /// Begins to change the group of some shard.
    fn reconfigure(&mut self) {
        let shards: Vec<ShardId> = self.map.groups().map(|group| group.shard).collect();
        let shard = shards[self.random.below(shards.len() as u64) as usize];
        let group = self.latest_group(shard);
        let members = group.members();
        if self.taking_part(&group) <= members.len() / 2 {
            return;
        }
        // Another change may come yet, to a group that could not do without it: that an operator was told of a conflict is not the end of it.
        let is_first = self.operating.changed.insert((shard, group.epoch)) || self.operating.kind == Operators::Replace;
        if is_first && self.random.chance(600) {
            self.lose_some(&group);
        }
        let mut leaving = self.lost(&group);
        if leaving.is_empty() {
            leaving.push(members[self.random.below(members.len() as u64) as usize]);
        }
        let next = self.next_members(&group, &leaving);
        let configuration = Configuration::after(&group, &next).expect("an odd number of them");
        self.operating.served.extend(members);
        self.submit_as_operator(configuration_write(&configuration));
    }

    /// Disks of a group are gone for good: one, or more of them if the group bears it.
    fn lose_some(&mut self, group: &Group) {
        let present: Vec<ReplicaId> =
            group.members().iter().copied().filter(|id| self.stores.contains_key(id)).collect();
        let first = self.random.below(present.len() as u64) as usize;
        let more = if self.random.chance(400) { 2 } else { 1 };
        for id in present.iter().cycle().skip(first).take(more.min(present.len())) {
            if self.bears_another_loss(group) {
                self.lose_disk(*id);
            }
        }
    }

    pub(super) fn bears_another_loss(&self, group: &Group) -> bool {
        self.lost(group).len() < group.members().len() / 2
    }

    pub(super) fn lose_disk(&mut self, id: ReplicaId) {
        self.faults.add(Fault::DiskLost, 1);
        let place = self.stores.get(&id).map(|store| store.place.clone());
        self.remove_replica(id);
        self.history.disk_lost(id);
        if let (Some(place), Broken::StartEmpty) = (place, self.broken) {
            let skew = super::skew(&mut self.random);
            self.start_first(place, skew);
            self.operating.emptied.insert(id);
        }
    }

    pub(super) fn remove_replica(&mut self, id: ReplicaId) {
        self.still.remove(&End::Replica(id));
        if let Some(store) = self.stores.remove(&id) {
            self.count_faults_of(store.disk());
        }
    }

    fn lost(&self, group: &Group) -> Vec<ReplicaId> {
        let is_lost = |id: &ReplicaId| !self.stores.contains_key(id) || self.operating.emptied.contains(id);
        group.members().iter().copied().filter(is_lost).collect()
    }

    /// The latest group of a shard that somebody who is up has gone over to.
    pub(super) fn latest_group(&self, shard: ShardId) -> Group {
        let own = self.map.group(shard).into_iter();
        let groups = own.chain(self.up().map(|node| node.replica.group()).filter(|group| group.shard == shard));
        groups.max_by_key(|group| group.epoch).expect("every shard has a group").clone()
    }

    pub(super) fn up(&self) -> impl Iterator<Item = &StoreNode> {
        self.stores.values().filter_map(|store| match &store.process {
            Process::Up(node) => Some(&**node),
            Process::Down(_) => None,
        })
    }

    /// How many of a group take part in its epoch, as far as they say so.
    pub(super) fn taking_part(&self, group: &Group) -> usize {
        self.up().filter(|node| node.says_it_takes_part_in(group)).count()
    }

    /// The members of a group without some of them; as many, or more, or fewer.
    fn next_members(&mut self, group: &Group, leaving: &[ReplicaId]) -> Vec<ReplicaId> {
        let kind = match self.operating.kind {
            Operators::None | Operators::Replace | Operators::Split => 0,
            Operators::Resize => self.random.below(4),
        };
        let size = group.members().len();
        let mut next: Vec<ReplicaId> = group.members().iter().copied().filter(|id| !leaving.contains(id)).collect();
        let wanted = match kind {
            // A move.
            1 => {
                next.clear();
                size
            }
            2 if size < 5 => size + 2,
            3 if size > 1 => size - 2,
            _ => size,
        };
        next.truncate(wanted);
        while next.len() < wanted {
            let id = self.operating.next_replica();
            let extent = self.map.extent(group.shard).expect("only shards that are there change");
            self.add_replica(id, (group.clone(), extent), None);
            next.push(id);
        }
        next
    }

    /// A replica on an empty disk, which is of no group yet, or goes on with a part of a shard.
    pub(super) fn add_replica(&mut self, id: ReplicaId, (group, extent): (Group, Extent), origin: Option<Split>) {
        let (retention, broken) = (self.retention, self.broken);
        let place = Place { id, group, extent, origin, retention, broken, is_alone: false };
        let skew = super::skew(&mut self.random);
        self.start_first(place, self.needs.other_clock(skew));
    }

    pub(super) fn start_first(&mut self, place: Place, skew: i64) {
        let node = StoreNode::start(&place, MemoryDisk::new(), 1, &mut self.history);
        let process = Process::Up(Box::new(node.expect("an empty disk can be opened")));
        self.stores.insert(place.id, Store { place, process, boot: 1, skew });
    }

    /// An operator's command goes through the coordinator of some gateway. Without one that is open nothing comes of it.
    pub(super) fn submit_as_operator(&mut self, write: Write) {
        let client = self.random.id();
        let first = self.random.below(self.fronts.len() as u64) as usize;
        let order = (0..self.fronts.len()).map(|place| (first + place) % self.fronts.len());
        for front in order.filter(|front| !self.is_still(End::Front(*front))).collect::<Vec<_>>() {
            let now = self.now_of_front(front);
            if let Process::Up(node) = &mut self.fronts[front]
                && node.submit_as_operator(now, client, write.clone(), &mut self.history)
            {
                return;
            }
        }
    }

    fn turn_off_replaced(&mut self) {
        for shard in self.map.groups().map(|group| group.shard).collect::<Vec<_>>() {
            let group = self.latest_group(shard);
            let (taking_part, majority) = (self.taking_part(&group), group.members().len() / 2 + 1);
            if taking_part >= majority && self.map.group(shard) != Some(&group) {
                self.occasions.add(Occasion::GroupChanged, 1);
                self.map.set_group(group.clone());
            }
            let is_known = self.all_fronts(|map| map.group(shard) == Some(&group));
            let present = group.members().iter().filter(|id| self.stores.contains_key(id)).count();
            if !is_known || taking_part < present.max(majority) {
                continue;
            }
            let is_replaced = |(id, store): &(&ReplicaId, &Store)| {
                store.place.group.shard == shard && self.operating.served.contains(id) && !group.contains(**id)
            };
            let replaced: Vec<ReplicaId> = self.stores.iter().filter(is_replaced).map(|(id, _)| *id).collect();
            replaced.into_iter().for_each(|id| self.remove_replica(id));
        }
    }

    pub(super) fn some_front(&self, knows: impl Fn(&ShardMap) -> bool) -> bool {
        self.fronts.iter().any(|front| match front {
            Process::Up(node) => knows(node.coordinator.map()),
            Process::Down(()) => false,
        })
    }

    /// Whether all gateways that are up know it. Those that start are given the latest map.
    pub(super) fn all_fronts(&self, knows: impl Fn(&ShardMap) -> bool) -> bool {
        self.fronts.iter().all(|front| match front {
            Process::Up(node) => knows(node.coordinator.map()),
            Process::Down(()) => true,
        })
    }
}
