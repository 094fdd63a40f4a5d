//! Operators who split shards while clients work.

use iolite_replication::node::{Epoch, Group, ReplicaId, ShardId, Split};
use iolite_replication::{Place, ShardMap, split_write};
use iolite_values::{ClientId, Id, RowKey, Timestamp, Value};

use super::cluster::{CLIENTS, Cluster};
use super::store_node::StoreNode;
use super::workload;

/// So many splits are tried in a history, at most.
const SPLITS_MAX: usize = 4;

impl Cluster {
    /// Begins to split some shard. Only one of several tries can succeed.
    pub fn split(&mut self) {
        let groups: Vec<Group> = self.map.groups().cloned().collect();
        let shard = groups[self.random.index(groups.len())].shard;
        let parent = self.latest_group(shard).clone();
        let idle = (CLIENTS..self.clients.len()).find(|operator| self.clients[*operator].is_idle());
        let (Some(operator), true) = (idle, self.splits.len() < SPLITS_MAX) else { return };
        let at = match self.random.below(3) {
            0 => Place::of_client(ClientId(Id::from_u128(self.random.below(6).into()))),
            _ => {
                let row = self.random.below(4) as i64;
                Place { table: workload::TABLE, key: RowKey::new(&[Value::Int(row)]).unwrap() }
            }
        };
        let (lower, upper) = (self.next_part(), self.next_part());
        let split = Split::new(parent, (at.table, at.key), lower, upper).unwrap();
        if self.map.check_split(&split).is_err() {
            return;
        }
        let mut after = self.map.clone();
        after.split(&split);
        for group in [split.lower(), split.upper()] {
            for id in group.members() {
                let offset = self.random.below(10_000_000) as i64 - 5_000_000;
                let (broken, host) = (self.scene.broken, self.scene.host);
                let kept = (group.clone(), after.extent(group.shard).expect("a part"), Some(split.clone()));
                let node = StoreNode::new(*id, kept, broken, host, offset);
                self.nodes.insert(*id, node);
            }
        }
        let coordinator = self.clients[operator].coordinator;
        let resolved = self.gateways[coordinator].resolved().unwrap_or(Timestamp::ZERO);
        let request = self.clients[operator].change(self.step, resolved, split_write(&split));
        self.request(operator, request);
        self.splits.push(split);
    }

    /// A replica of a shard that is to end is gone for good, as far as the others can do without it.
    pub fn lose_a_disk_while_draining(&mut self) {
        for parent in self.splits.iter().map(Split::parent).cloned().collect::<Vec<_>>() {
            let there: Vec<ReplicaId> =
                parent.members().iter().copied().filter(|id| self.nodes.contains_key(id)).collect();
            let report = |id: &ReplicaId| self.nodes[id].replica.report();
            let is_draining = there.iter().any(|id| report(id).split.is_some() && report(id).begun.is_empty());
            if is_draining && there.len() > parent.members().len() / 2 + 1 {
                // The one that knows most is the one that the others would need.
                let furthest = there.iter().max_by_key(|id| report(id).complete).expect("there are some");
                let lost = if self.random.percent(50) { *furthest } else { there[self.random.index(there.len())] };
                self.nodes.remove(&lost);
                self.counts.disks_lost += 1;
            }
        }
    }

    /// The replicas of a shard that has ended are turned off when nobody needs them.
    pub fn turn_off_ended(&mut self) {
        for split in self.splits.clone() {
            let parent = split.parent().shard;
            let is_known = self.gateways.iter().all(|gateway| gateway.map().ended(parent) == Some(&split));
            if is_known && self.map.ended(parent) == Some(&split) && self.is_needless(parent) {
                for id in self.nodes.keys().copied().collect::<Vec<_>>() {
                    if self.nodes[&id].replica.group().shard == parent {
                        self.turned_off.push(self.nodes.remove(&id).expect("it is there"));
                        self.counts.turned_off += 1;
                    }
                }
            }
        }
    }

    /// Whether one of the shard tells that only such need it as are gone for good.
    fn is_needless(&self, ended: ShardId) -> bool {
        let own = self.nodes.values().filter(|node| node.replica.group().shard == ended);
        let is_gone = |replica: &ReplicaId| !self.nodes.contains_key(replica);
        own.filter_map(|node| node.replica.report().needed_by()).any(|waiting| waiting.iter().all(is_gone))
    }

    /// The shards that ended so that this one could begin.
    pub fn ancestors(&self, shard: ShardId) -> Vec<ShardId> {
        let of = |part: ShardId| {
            let origin = self.splits.iter().find(|split| split.lower().shard == part || split.upper().shard == part);
            origin.map(|split| split.parent().shard)
        };
        std::iter::successors(of(shard), |parent| of(*parent)).collect()
    }

    fn next_part(&mut self) -> Group {
        self.last_shard += 1;
        let size = [1, 3][self.random.index(2)];
        let members: Vec<ReplicaId> = (self.last_replica + 1..=self.last_replica + size).map(ReplicaId).collect();
        self.last_replica += size;
        Group::new(ShardId(self.last_shard), Epoch(0), &members).unwrap()
    }

    /// Notes what has ended, as far as some gateway was told.
    pub fn follow_splits(&mut self) {
        for split in self.splits.clone() {
            let knows = |map: &ShardMap| map.ended(split.parent().shard) == Some(&split);
            if self.gateways.iter().any(|gateway| knows(gateway.map())) && self.map.split(&split) {
                self.counts.splits += 1;
            }
        }
    }
}
