//! Operators who replace replicas while clients work: some that have lost their disks, some that are well.

use iolite_replication::configuration_write;
use iolite_replication::node::{Configuration, Group, ReplicaId, ShardId};
use iolite_values::Timestamp;

use super::cluster::{CLIENTS, Cluster};
use super::store_node::StoreNode;

/// What operators do in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operators {
    None,
    /// They replace one replica by another.
    Replace,
    /// They also move a shard to other replicas, and make its group larger or smaller.
    Resize,
    /// They split shards.
    Split,
    /// They split shards, and do all of the above with those that there are.
    Everything,
    /// They split shards, which lose disks for good while they drain.
    SplitAndLose,
}

impl Cluster {
    /// The latest group of a shard that anybody has gone over to.
    pub fn latest_group(&self, shard: ShardId) -> &Group {
        let groups = self.nodes.values().map(|node| node.replica.group()).filter(|group| group.shard == shard);
        groups.max_by_key(|group| group.epoch).expect("every shard has replicas")
    }

    /// How many of a group take part in its epoch, as far as they say so.
    fn taking_part(&self, group: &Group) -> usize {
        let present = group.members().iter().filter_map(|id| self.nodes.get(id));
        present.filter(|node| node.says_it_takes_part_in(group)).count()
    }

    fn lost(&self, group: &Group) -> Option<ReplicaId> {
        group.members().iter().copied().find(|id| !self.nodes.contains_key(id))
    }

    /// Begins to change the group of some shard. A replica that has lost its disk never comes back under its number; of each group one is lost at a time.
    pub fn reconfigure(&mut self) {
        let shards: Vec<ShardId> = self.map.groups().map(|group| group.shard).collect();
        let shard = shards[self.random.index(shards.len())];
        let group = self.latest_group(shard).clone();
        let idle = (CLIENTS..self.clients.len()).find(|operator| self.clients[*operator].is_idle());
        let (Some(operator), true) = (idle, self.taking_part(&group) > group.members().len() / 2) else { return };
        let members = group.members();
        let (leaving, lost) = (members[self.random.index(members.len())], self.lost(&group));
        let leaving = lost.unwrap_or(leaving);
        // Another change may come yet, to a group that could not do without it: that an operator was told of a conflict is not the end of it.
        let is_first = self.changed.insert((shard, group.epoch)) || self.scene.operators == Operators::Replace;
        if lost.is_none() && members.len() > 1 && is_first && self.random.percent(60) {
            self.nodes.remove(&leaving);
            self.counts.disks_lost += 1;
        }
        let next = self.next_members(&group, leaving);
        self.submit_configuration(operator, &Configuration::after(&group, &next).expect("an odd number of them"));
    }

    /// The members of a group without one of them; as many, or more, or fewer.
    fn next_members(&mut self, group: &Group, leaving: ReplicaId) -> Vec<ReplicaId> {
        let kind = match self.scene.operators {
            Operators::None | Operators::Replace | Operators::Split | Operators::SplitAndLose => 0,
            Operators::Resize | Operators::Everything => self.random.below(4),
        };
        let size = group.members().len();
        let mut next: Vec<ReplicaId> = group.members().iter().copied().filter(|id| *id != leaving).collect();
        let joining = match kind {
            // A move.
            1 => {
                next.clear();
                size
            }
            2 if size < 5 => 3,
            3 if size > 1 => {
                next.truncate(size - 2);
                0
            }
            _ => 1,
        };
        next.extend((0..joining).map(|_| self.add_node(group)));
        next
    }

    /// A replica that is of no group yet.
    fn add_node(&mut self, group: &Group) -> ReplicaId {
        self.last_replica += 1;
        let id = ReplicaId(self.last_replica);
        let offset = self.random.below(10_000_000) as i64 - 5_000_000;
        let extent = self.map.extent(group.shard).expect("only shards that are there change");
        let kept = (group.clone(), extent, None);
        let node = StoreNode::new(id, kept, self.scene.broken, self.scene.host, offset);
        self.nodes.insert(id, node);
        id
    }

    fn submit_configuration(&mut self, operator: usize, configuration: &Configuration) {
        let resolved = self.gateways[self.clients[operator].coordinator].resolved().unwrap_or(Timestamp::ZERO);
        let request = self.clients[operator].change(self.step, resolved, configuration_write(configuration));
        self.request(operator, request);
        self.served.extend(configuration.previous().into_iter().flat_map(Group::members));
    }

    /// Replicas that were replaced are turned off, once all that are there of the group take part in it, and every gateway knows it.
    pub fn turn_off_replaced(&mut self) {
        for shard in self.map.groups().map(|group| group.shard).collect::<Vec<_>>() {
            let group = self.latest_group(shard).clone();
            let (taking_part, majority) = (self.taking_part(&group), group.members().len() / 2 + 1);
            if taking_part >= majority {
                self.map.set_group(group.clone());
            }
            let is_known = self.gateways.iter().all(|gateway| gateway.knows(&group));
            let present = group.members().iter().filter(|id| self.nodes.contains_key(id)).count();
            if !is_known || taking_part < present.max(majority) {
                continue;
            }
            let replaced = self.nodes.iter().filter(|(id, node)| {
                let is_of_shard = node.replica.group().shard == shard;
                is_of_shard && self.served.contains(id) && !group.contains(**id)
            });
            for id in replaced.map(|(id, _)| *id).collect::<Vec<_>>() {
                let node = self.nodes.remove(&id).expect("it is there");
                self.turned_off.push(node);
            }
        }
    }
}
