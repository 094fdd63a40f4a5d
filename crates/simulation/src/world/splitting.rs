//! Operators who split shards while everybody works.
//!
//! Invariant: the replicas of a shard that has ended are there until all replicas of its parts have begun and every gateway knows the parts.
//! Source: docs/decisions/0010-a-shard-ends-drained.md.

use iolite_replication::node::{Epoch, Group, ReplicaId, ShardId, Split};
use iolite_replication::{Place, ShardMap, split_write};
use iolite_values::{ClientId, RowKey, TableId, Value};

use super::World;
use super::server::End;
use crate::app::KEYS;
use crate::faults::Fault;
use crate::history::Moment;
use crate::occasions::Occasion;

const MILLISECOND: Moment = 1_000_000;

/// So many splits are tried in a run, at most.
const SPLITS_MAX: usize = 4;

impl World {
    /// Begins to split some shard. Only one of several tries can succeed.
    pub(super) fn split(&mut self) {
        let (at, shard) = self.some_place();
        let parent = self.latest_group(shard);
        if self.operating.splits.len() >= SPLITS_MAX {
            return;
        }
        let (lower, upper) = (self.next_part(), self.next_part());
        let split = Split::new(parent, (at.table, at.key), lower, upper).expect("its parts are new");
        if self.map.check_split(&split).is_err() {
            return;
        }
        let mut after = self.map.clone();
        after.split(&split);
        for part in [split.lower(), split.upper()] {
            let extent = after.extent(part.shard).expect("a part");
            for id in part.members() {
                self.add_replica(*id, (part.clone(), extent.clone()), Some(split.clone()));
            }
        }
        if self.random.chance(500) {
            self.cut_off_one_of(split.parent());
        }
        self.submit_as_operator(split_write(&split));
        self.operating.splits.push(split);
    }

    /// What some gateway says does not get to one of a group for a while: so that one drains that does not know of something that the others have open.
    fn cut_off_one_of(&mut self, group: &Group) {
        self.faults.add(Fault::Cut, 1);
        let front = self.random.below(self.fronts.len() as u64) as usize;
        let member = group.members()[self.random.below(group.members().len() as u64) as usize];
        let until = self.moment + self.random.between(10, 1_000) * MILLISECOND;
        self.cuts.insert((End::Front(front), End::Replica(member)), until);
    }

    /// Among the rows and the clients that there are, with the shard that has it.
    fn some_place(&mut self) -> (Place, ShardId) {
        if self.random.chance(400) {
            let clients: Vec<ClientId> = self.history.identities.keys().copied().collect();
            let client = clients[self.random.below(clients.len() as u64) as usize];
            return (Place::of_client(client), self.map.of_client(client));
        }
        let key = RowKey::new(&[Value::Int(self.random.below(KEYS as u64 + 1) as i64)]).expect("an int is a key");
        let table = TableId::of(["things", "hits", "accounts"][self.random.below(3) as usize]);
        let shard = self.map.of_row(table, &key);
        (Place { table, key }, shard)
    }

    /// Of one replica or three, which are not started yet.
    fn next_part(&mut self) -> Group {
        self.operating.last_shard += 1;
        let size = if self.random.chance(500) { 1 } else { 3 };
        let members: Vec<ReplicaId> = (0..size).map(|_| self.operating.next_replica()).collect();
        Group::new(ShardId(self.operating.last_shard), Epoch(0), &members).expect("an odd number of them")
    }

    /// Notes which shards have ended, as far as some gateway was told, and turns their replicas off once nobody needs them any more.
    pub(super) fn follow_splits(&mut self) {
        for split in self.operating.splits.clone() {
            let parent = split.parent().shard;
            let knows = |map: &ShardMap| map.ended(parent) == Some(&split);
            if self.some_front(knows) && self.map.split(&split) {
                self.occasions.add(Occasion::ShardSplit, 1);
            }
            let has_begun = |part: &Group| self.taking_part(part) == part.members().len();
            if knows(&self.map) && self.all_fronts(knows) && has_begun(split.lower()) && has_begun(split.upper()) {
                split.parent().members().iter().for_each(|id| self.remove_replica(*id));
            }
        }
    }
}
