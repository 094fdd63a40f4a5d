//! The cluster's file as it is written. People write the first one; operators' tools write it anew after each change of a shard's group.
//!
//! Invariants:
//! - a file is replaced whole: whoever reads it has the one or the other;
//! - a shard's `epoch` and `replicas` are a group that a transaction has chosen, or the first one.

use std::io;
use std::path::Path;

use iolite_host::{Readers, write_durably};
use iolite_values::Value;
use serde::{Deserialize, Serialize};

use super::error::{ConfigError, ConfigProblem, read};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterFile {
    /// Which history its data are of: 32 hexadecimal digits.
    pub store: String,
    /// The highest number that a replica ever had, if that is none of those that are here: numbers are not used again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_replica: Option<u64>,
    pub shards: Vec<ShardPlace>,
    /// How shards were split, or are to be, in that order. It is never forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<SplitPlace>,
}

/// The split of a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitPlace {
    /// Whether its parts have begun.
    #[serde(default)]
    pub done: bool,
    /// Where its upper part begins.
    pub at: Begins,
    /// Where the shard that is split begins, unless it is a part of another one. None: at the very beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begins: Option<Begins>,
    /// Who kept the shard.
    pub parent: GroupPlace,
    /// Who is the first to keep what is below the place.
    pub lower: GroupPlace,
    /// And the rest.
    pub upper: GroupPlace,
}

/// A group, of which nobody needs the addresses here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupPlace {
    /// Of the shard.
    pub number: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub epoch: u32,
    pub replicas: Vec<u64>,
}

/// A shard: where it begins, and who keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardPlace {
    pub number: u32,
    /// How often its group was changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub epoch: u32,
    /// None: at the very beginning, or where the split says of which it is a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begins: Option<Begins>,
    /// The group; nobody, of a shard that has ended.
    pub replicas: Vec<ReplicaPlace>,
    /// Replicas that are to be of a later group, and fetch what the shard has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joining: Vec<ReplicaPlace>,
    /// Replicas of an earlier group, which are to be turned off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaving: Vec<ReplicaPlace>,
}

/// A place between rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    untagged,
    expecting = "a place is { table = NAME }, with a `key` of whole numbers of 64 bits, texts and booleans if it is inside of the table, or { table_hash = NUMBER }"
)]
pub enum Begins {
    /// Tables are in the order of hashes of their names.
    TableHash { table_hash: u32 },
    /// At a key of a table, or its beginning.
    Table {
        table: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        key: Vec<KeyPart>,
    },
}

/// A value of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KeyPart {
    Bool(bool),
    Int(i64),
    Text(String),
}

/// A replica, and where it listens for others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplicaPlace {
    pub number: u64,
    /// `HOST:PORT`
    pub address: String,
}

impl ClusterFile {
    /// # Errors
    /// [`ConfigError`], but whether it makes sense is told by [`super::Cluster`].
    pub fn read(file: &Path) -> Result<ClusterFile, ConfigError> {
        let table: toml::Table = read(file)?;
        if table.contains_key("etcd") {
            return Err(ConfigProblem::InEtcd.of(file));
        }
        read(file)
    }

    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("numbers, texts and lists")
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// What the system says; the file is as it was then.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        write_durably(file, self.to_toml().as_bytes(), Readers::All)
    }

    pub fn shard(&self, number: u32) -> Option<&ShardPlace> {
        self.shards.iter().find(|shard| shard.number == number)
    }

    pub fn shard_mut(&mut self, number: u32) -> Option<&mut ShardPlace> {
        self.shards.iter_mut().find(|shard| shard.number == number)
    }

    /// A number that no replica ever had.
    pub fn next_replica(&self) -> u64 {
        let present = self.shards.iter().flat_map(ShardPlace::all).map(|replica| replica.number);
        present.chain(self.last_replica).max().map_or(0, |last| last + 1)
    }

    /// A number that no shard ever had.
    pub fn next_shard(&self) -> u32 {
        let parts = self.splits.iter().flat_map(|split| [split.lower.number, split.upper.number]);
        self.shards.iter().map(|shard| shard.number).chain(parts).max().map_or(0, |last| last + 1)
    }

    /// The split of a shard.
    pub fn split_mut(&mut self, parent: u32) -> Option<&mut SplitPlace> {
        self.splits.iter_mut().find(|split| split.parent.number == parent)
    }

    /// A shard has ended, and its parts have begun. Its replicas leave.
    pub fn end_shard(&mut self, number: u32) {
        if let Some(split) = self.split_mut(number) {
            split.done = true;
        }
        if let Some(shard) = self.shard_mut(number) {
            let replicas = std::mem::take(&mut shard.replicas);
            shard.leaving.extend(replicas);
        }
    }

    /// A replica is no more. Its number stays taken.
    pub fn forget(&mut self, number: u64) {
        self.last_replica = Some(self.next_replica() - 1);
        for shard in &mut self.shards {
            for list in [&mut shard.replicas, &mut shard.joining, &mut shard.leaving] {
                list.retain(|replica| replica.number != number);
            }
        }
        // One that has ended, and of which nobody is left.
        self.shards.retain(|shard| shard.all().next().is_some());
    }
}

impl ShardPlace {
    /// The replicas of its group, and those that join or leave it.
    pub fn all(&self) -> impl Iterator<Item = &ReplicaPlace> {
        self.replicas.iter().chain(&self.joining).chain(&self.leaving)
    }

    /// The group has become this one. Who is not of it leaves.
    ///
    /// # Errors
    /// The number of a member of which the file has no address.
    pub fn become_group(&mut self, epoch: u32, members: &[u64]) -> Result<(), u64> {
        let all: Vec<ReplicaPlace> = self.all().cloned().collect();
        let place = |number: &u64| all.iter().find(|place| place.number == *number).cloned().ok_or(*number);
        let replicas = members.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let was: Vec<ReplicaPlace> = std::mem::replace(&mut self.replicas, replicas);
        let is_member = |place: &ReplicaPlace| members.contains(&place.number);
        self.joining.retain(|place| !is_member(place));
        self.leaving.extend(was);
        self.leaving.retain(|place| !is_member(place));
        self.epoch = epoch;
        Ok(())
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl From<KeyPart> for Value {
    fn from(part: KeyPart) -> Value {
        match part {
            KeyPart::Bool(value) => Value::Bool(value),
            KeyPart::Int(value) => Value::Int(value),
            KeyPart::Text(text) => Value::from(text),
        }
    }
}

/// `shards` that cut the tables, by the hashes of their names, into equal parts, with `replicas` each.
pub fn even_shards(shards: u32, replicas: u64, mut address_of: impl FnMut(u64) -> String) -> Vec<ShardPlace> {
    let mut numbers = 0_u64..;
    let mut place = |number: u32| {
        let hash = (u64::from(number) << 32) / u64::from(shards);
        let begins = (number > 0).then_some(Begins::TableHash { table_hash: hash as u32 });
        let replicas = numbers.by_ref().take(replicas as usize);
        let replicas = replicas.map(|number| ReplicaPlace { number, address: address_of(number) }).collect();
        ShardPlace { number, epoch: 0, begins, replicas, joining: Vec::new(), leaving: Vec::new() }
    };
    (0..shards).map(&mut place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_group_moves_replicas_between_the_lists() {
        let mut shards = even_shards(1, 3, |number| format!("host-{number}:1"));
        shards[0].joining.push(ReplicaPlace { number: 3, address: "host-3:1".into() });
        let mut file = ClusterFile { store: String::new(), last_replica: None, shards, splits: Vec::new() };
        let shard = file.shard_mut(0).expect("it has one");
        assert_eq!(shard.become_group(1, &[0, 2, 9]), Err(9));
        assert_eq!(shard.become_group(1, &[0, 2, 3]), Ok(()));
        let numbers = |list: &[ReplicaPlace]| list.iter().map(|place| place.number).collect::<Vec<_>>();
        assert_eq!((numbers(&shard.replicas), numbers(&shard.leaving)), (vec![0, 2, 3], vec![1]));
        assert!(shard.joining.is_empty());
        for number in [3, 1] {
            file.forget(number);
        }
        assert_eq!((file.next_replica(), file.shards[0].leaving.len()), (4, 0), "a number is not used again");
        assert_eq!(toml::from_str::<ClusterFile>(&file.to_toml()).expect("our own"), file);
    }
}
