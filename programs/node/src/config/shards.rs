//! The shards of a cluster's file: those that are served, those that have ended, and those that are to begin.
//!
//! Invariant: the map is that of the shards that nobody split, with every split that is done made in order.

use std::collections::{BTreeMap, BTreeSet};

use iolite_replication::node::{Epoch, Group, ReplicaId, ShardId, Split};
use iolite_replication::{Place, ShardMap, ShardMapError};
use iolite_values::{RowKey, TableId, Value};

use super::cluster::Kept;
use super::cluster_file::{Begins, ClusterFile, GroupPlace, ShardPlace, SplitPlace};
use super::error::ConfigProblem;

pub(super) struct Shards {
    pub map: ShardMap,
    pub kept: BTreeMap<ShardId, Kept>,
    pub splits: Vec<Split>,
}

impl Shards {
    pub fn of(file: &ClusterFile) -> Result<Shards, ConfigProblem> {
        let splits: Vec<Split> = file.splits.iter().map(split_of).collect::<Result<_, _>>()?;
        let parts: BTreeSet<ShardId> =
            splits.iter().flat_map(|split| [split.lower().shard, split.upper().shard]).collect();
        check_numbers(file, &splits, &parts)?;
        let mut roots = Vec::new();
        let ended: BTreeSet<u32> = file.splits.iter().filter(|own| own.done).map(|own| own.parent.number).collect();
        for shard in &file.shards {
            let id = ShardId(shard.number);
            if !parts.contains(&id) && !ended.contains(&shard.number) {
                roots.push((place_of(id, shard.begins.as_ref())?, shard.group()?));
            }
        }
        for (own, split) in file.splits.iter().zip(&splits) {
            let parent = split.parent();
            if own.done && !parts.contains(&parent.shard) {
                roots.push((place_of(parent.shard, own.begins.as_ref())?, parent.clone()));
            }
        }
        let mut shards = Shards { map: ShardMap::new(roots)?, kept: BTreeMap::new(), splits: Vec::new() };
        shards.keep_all(&shards.map.clone());
        for (own, split) in file.splits.iter().zip(splits) {
            let mut map = shards.map.clone();
            let shard = split.parent().shard;
            map.check_split(&split).map_err(|source| ConfigProblem::Split { shard, source })?;
            map.split(&split);
            shards.keep_all(&map);
            if own.done {
                shards.map = map;
                let parent = split.parent();
                shards.kept.entry(parent.shard).and_modify(|kept| kept.group = parent.clone());
            }
            shards.splits.push(split);
        }
        for shard in file.shards.iter().filter(|shard| !ended.contains(&shard.number)) {
            shards.set_group(shard.group()?);
        }
        Ok(shards)
    }

    fn keep_all(&mut self, map: &ShardMap) {
        for group in map.groups() {
            let extent = map.extent(group.shard).expect("it is a shard of this map");
            self.kept.insert(group.shard, Kept { group: group.clone(), extent });
        }
    }

    fn set_group(&mut self, group: Group) {
        if let Some(kept) = self.kept.get_mut(&group.shard) {
            kept.group = group.clone();
        }
        if self.map.group(group.shard).is_some() {
            self.map.set_group(group);
        }
    }
}

/// Each shard has a number of its own for ever.
fn check_numbers(file: &ClusterFile, splits: &[Split], parts: &BTreeSet<ShardId>) -> Result<(), ConfigProblem> {
    let mut taken = BTreeSet::new();
    for split in splits {
        let shard = split.parent().shard;
        taken.insert(shard);
        for part in [split.lower().shard, split.upper().shard] {
            if !taken.insert(part) {
                return Err(ConfigProblem::Split { shard, source: ShardMapError::Twice(part) });
            }
        }
    }
    let mut shards = file.shards.iter().filter(|shard| shard.begins.is_some()).map(|shard| ShardId(shard.number));
    match shards.find(|shard| parts.contains(shard)) {
        None => Ok(()),
        Some(shard) => Err(ConfigProblem::PartBegins { shard }),
    }
}

impl ShardPlace {
    /// Who keeps it.
    ///
    /// # Errors
    /// [`ConfigProblem::Group`].
    pub fn group(&self) -> Result<Group, ConfigProblem> {
        group(self.number, self.epoch, self.replicas.iter().map(|replica| replica.number))
    }
}

impl GroupPlace {
    fn group(&self) -> Result<Group, ConfigProblem> {
        group(self.number, self.epoch, self.replicas.iter().copied())
    }
}

fn group(shard: u32, epoch: u32, members: impl Iterator<Item = u64>) -> Result<Group, ConfigProblem> {
    let shard = ShardId(shard);
    let members: Vec<ReplicaId> = members.map(ReplicaId).collect();
    Group::new(shard, Epoch(epoch), &members).map_err(|source| ConfigProblem::Group { shard, source })
}

/// The split as replicas know it.
pub fn split_of(place: &SplitPlace) -> Result<Split, ConfigProblem> {
    let parent = place.parent.group()?;
    let shard = parent.shard;
    let at = place_of(shard, Some(&place.at))?;
    let split = Split::new(parent, (at.table, at.key), place.lower.group()?, place.upper.group()?);
    split.map_err(|source| ConfigProblem::Parts { shard, source })
}

pub fn place_of(shard: ShardId, begins: Option<&Begins>) -> Result<Place, ConfigProblem> {
    let beginning = RowKey::bound(&[]);
    Ok(match begins {
        None => Place::first(),
        Some(Begins::TableHash { table_hash }) => Place { table: TableId(*table_hash), key: beginning },
        Some(Begins::Table { table, key }) if key.is_empty() => Place { table: TableId::of(table), key: beginning },
        Some(Begins::Table { table, key }) => {
            let values: Vec<Value> = key.iter().cloned().map(Value::from).collect();
            let key = RowKey::new(&values).map_err(|source| ConfigProblem::Key { shard, source })?;
            Place { table: TableId::of(table), key }
        }
    })
}
