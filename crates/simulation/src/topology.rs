//! How many shards and replicas the server of a run has.

use iolite_replication::node::{Group, ReplicaId};
use iolite_replication::{Local, Place, ShardMap};
use iolite_values::{ClientId, Id, RowKey, TableId, Value};

use crate::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    pub shards: u32,
    pub replicas: u64,
}

impl Topology {
    pub const ALONE: Topology = Topology { shards: 1, replicas: 1 };

    /// Half of the runs are of the embedded server; the others of clusters that survive one or two failures, or of shards of one replica.
    pub fn random(random: &mut Random) -> Topology {
        let (shards, replicas) = match random.below(20) {
            0..=9 => (1, 1),
            10..=12 => (1, 3),
            13..=15 => (2, 3),
            16 => (3, 3),
            17 => (3, 1),
            _ => (random.between(1, 2) as u32, 5),
        };
        Topology { shards, replicas }
    }

    pub fn is_alone(self) -> bool {
        self == Topology::ALONE
    }

    pub fn has_single_replicas(self) -> bool {
        self.replicas == 1
    }

    /// Shards that cut a table, and the clients' completion records, in two.
    pub fn map(self) -> ShardMap {
        let things = RowKey::new(&[Value::Int(1)]).expect("an int is a key");
        let (within, client) = (TableId::of("things"), ClientId(Id::from_u128(1 << 127)));
        let mut places = vec![Place::first(), Place { table: within, key: things }, Place::of_client(client)];
        places.truncate(self.shards as usize);
        places.sort();
        let groups = Local::groups(self.shards, self.replicas);
        ShardMap::new(places.into_iter().zip(groups)).expect("the first begins at the beginning")
    }

    pub fn replicas(self) -> Vec<(ReplicaId, Group)> {
        let map = self.map();
        let of_group = |group: &Group| group.members().iter().map(|id| (*id, group.clone())).collect::<Vec<_>>();
        map.groups().flat_map(of_group).collect()
    }
}

#[cfg(test)]
mod tests {
    use iolite_replication::node::ShardId;
    use iolite_values::KeyRange;

    use super::*;

    #[test]
    fn rows_of_one_table_are_in_several_shards() {
        let map = Topology { shards: 2, replicas: 3 }.map();
        let parts = map.of_range(TableId::of("things"), &KeyRange::all());
        assert_eq!(parts.iter().map(|(shard, _)| *shard).collect::<Vec<_>>(), [ShardId(0), ShardId(1)]);
    }

    #[test]
    fn every_replica_has_an_id_of_its_own() {
        let mut ids: Vec<u64> = Topology { shards: 3, replicas: 3 }.replicas().iter().map(|(id, _)| id.0).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..9).collect::<Vec<_>>());
    }
}
