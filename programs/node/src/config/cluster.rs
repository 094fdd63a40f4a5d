//! What all nodes of a cluster know: which history its data are of, and which replicas keep which shard.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use iolite_replication::node::{Group, ReplicaId, ShardId, Split};
use iolite_replication::{Extent, ShardMap, ShardMapError};
use iolite_values::StoreIncarnation;

use super::cluster_file::ClusterFile;
use super::error::{ConfigError, ConfigProblem};
use super::shards::Shards;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub store: StoreIncarnation,
    /// The shards that are served.
    pub shards: ShardMap,
    /// Where each replica listens, `HOST:PORT`.
    pub addresses: BTreeMap<ReplicaId, String>,
    /// For which shard each of them is: in its group, on the way to it, or out of it.
    shard_of: BTreeMap<ReplicaId, ShardId>,
    /// Of all shards that have replicas: also of those that have ended, or are to begin.
    kept: BTreeMap<ShardId, Kept>,
    splits: Vec<Split>,
}

/// A shard, as its replicas are started with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub group: Group,
    pub extent: Extent,
}

impl Cluster {
    /// # Errors
    /// [`ConfigError`].
    pub fn read(file: &Path) -> Result<Cluster, ConfigError> {
        Cluster::of(&ClusterFile::read(file)?).map_err(|problem| problem.of(file))
    }

    /// One shard for everything.
    pub fn one(store: StoreIncarnation, group: Group, addresses: BTreeMap<ReplicaId, String>) -> Cluster {
        let shard_of = addresses.keys().map(|replica| (*replica, group.shard)).collect();
        let kept = Kept { group: group.clone(), extent: Extent::everything() };
        let kept = BTreeMap::from([(group.shard, kept)]);
        Cluster { store, shards: ShardMap::one(group), addresses, shard_of, kept, splits: Vec::new() }
    }

    /// The shard that a replica is for, whether it is in its group or not.
    pub fn shard_of(&self, replica: ReplicaId) -> Option<&Kept> {
        self.kept.get(self.shard_of.get(&replica)?)
    }

    /// All replicas for a shard, and where they listen.
    pub fn replicas_of(&self, shard: ShardId) -> impl Iterator<Item = (ReplicaId, &str)> {
        let own = self.shard_of.iter().filter(move |(_, of)| **of == shard);
        own.filter_map(|(replica, _)| Some((*replica, self.addresses.get(replica)?.as_str())))
    }

    /// How the shard came to be of which these are the first replicas: its rows come from one that was split.
    pub fn origin_of(&self, first: &Group) -> Option<&Split> {
        self.splits.iter().find(|split| split.lower() == first || split.upper() == first)
    }

    /// The shards whose replicas speak with those of this one: itself, the one that it is a part of, and its parts.
    pub fn kin_of(&self, shard: ShardId) -> BTreeSet<ShardId> {
        let all = self.splits.iter().map(|split| [split.parent().shard, split.lower().shard, split.upper().shard]);
        all.filter(|kin| kin.contains(&shard)).flatten().chain([shard]).collect()
    }

    /// # Errors
    /// [`ConfigProblem`].
    pub fn of(file: &ClusterFile) -> Result<Cluster, ConfigProblem> {
        let store = file.store.parse().map_err(|_| ConfigProblem::Store(file.store.clone()))?;
        let (mut addresses, mut shard_of) = (BTreeMap::new(), BTreeMap::new());
        for shard in &file.shards {
            for place in shard.all() {
                let replica = ReplicaId(place.number);
                shard_of.insert(replica, ShardId(shard.number));
                if addresses.insert(replica, place.address.clone()).is_some() {
                    return Err(ConfigProblem::ReplicaTwice { id: replica });
                }
            }
        }
        let Shards { map, kept, splits } = Shards::of(file)?;
        splits.iter().try_for_each(|split| check_replicas(split, &shard_of))?;
        Ok(Cluster { store: StoreIncarnation(store), shards: map, addresses, shard_of, kept, splits })
    }
}

/// The parts of a shard take replicas that no other shard has.
fn check_replicas(split: &Split, shard_of: &BTreeMap<ReplicaId, ShardId>) -> Result<(), ConfigProblem> {
    for part in [split.lower(), split.upper()] {
        let is_of_another = |replica: &&ReplicaId| shard_of.get(*replica).is_some_and(|shard| *shard != part.shard);
        if let Some(taken) = part.members().iter().find(is_of_another) {
            let (shard, source) = (split.parent().shard, ShardMapError::Taken(*taken));
            return Err(ConfigProblem::Split { shard, source });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use iolite_replication::node::Epoch;
    use iolite_values::{RowKey, TableId, Value};

    use super::*;
    use crate::config::even_shards;

    fn cluster(text: &str) -> Result<Cluster, String> {
        let file: ClusterFile = toml::from_str(text).map_err(|error| error.to_string())?;
        Cluster::of(&file).map_err(|problem| problem.to_string())
    }

    const STORE: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn shards_begin_at_keys_of_tables() {
        let text = format!(
            r#"
            store = "{STORE}"
            [[shards]]
            number = 0
            replicas = [{{ number = 0, address = "10.0.0.1:7800" }}]
            [[shards]]
            number = 1
            begins = {{ table = "accounts", key = [500, "a"] }}
            replicas = [{{ number = 3, address = "10.0.0.4:7800" }}]
            "#
        );
        let cluster = cluster(&text).expect("as documented");
        let row = |number, name: &str| RowKey::new(&[Value::Int(number), Value::from(name)]).expect("short");
        let accounts = TableId::of("accounts");
        assert_eq!(cluster.shards.of_row(accounts, &row(499, "z")), ShardId(0));
        assert_eq!(cluster.shards.of_row(accounts, &row(500, "a")), ShardId(1));
        assert_eq!(cluster.addresses[&ReplicaId(3)], "10.0.0.4:7800");
        assert_eq!(cluster.shard_of(ReplicaId(3)).map(|kept| kept.group.shard), Some(ShardId(1)));
    }

    #[test]
    fn what_is_written_reads_back() {
        let store = StoreIncarnation(STORE.parse().expect("32 digits"));
        let shards = even_shards(3, 3, |number| format!("127.0.0.1:{}", 7800 + number));
        let file = ClusterFile { store: store.0.to_string(), last_replica: None, shards, splits: Vec::new() };
        let cluster = cluster(&file.to_toml()).expect("our own");
        assert_eq!((cluster.store, cluster.addresses.len()), (store, 9));
        assert_eq!(cluster.shards.of_row(TableId(0x5555_5554), &RowKey::bound(&[])), ShardId(0));
        assert_eq!(cluster.shards.of_row(TableId(0x5555_5555), &RowKey::bound(&[])), ShardId(1));
        assert_eq!(cluster.shards.of_row(TableId(u32::MAX), &RowKey::bound(&[])), ShardId(2));
    }

    #[test]
    fn those_that_join_and_leave_are_of_the_shard_and_not_of_its_group() {
        let text = format!(
            r#"
            store = "{STORE}"
            [[shards]]
            number = 0
            epoch = 2
            replicas = [{{ number = 4, address = "a:4" }}]
            joining = [{{ number = 5, address = "a:5" }}]
            leaving = [{{ number = 0, address = "a:0" }}]
            "#
        );
        let cluster = cluster(&text).expect("as documented");
        let group = Group::new(ShardId(0), Epoch(2), &[ReplicaId(4)]).expect("one");
        assert_eq!(cluster.shards, ShardMap::one(group.clone()));
        for number in [0, 4, 5] {
            assert_eq!(cluster.shard_of(ReplicaId(number)).map(|kept| &kept.group), Some(&group));
        }
        assert_eq!(cluster.replicas_of(ShardId(0)).count(), 3);
    }

    /// Shard 0 was split, and its upper part is to be.
    fn split_twice() -> String {
        format!(
            r#"
            store = "{STORE}"
            [[shards]]
            number = 0
            replicas = []
            leaving = [{{ number = 1, address = "a:1" }}]
            [[shards]]
            number = 1
            epoch = 2
            replicas = [{{ number = 2, address = "a:2" }}]
            [[shards]]
            number = 2
            replicas = [{{ number = 3, address = "a:3" }}]
            [[shards]]
            number = 3
            replicas = [{{ number = 4, address = "a:4" }}]
            [[shards]]
            number = 4
            replicas = [{{ number = 5, address = "a:5" }}]
            [[splits]]
            done = true
            at = {{ table_hash = 1000 }}
            parent = {{ number = 0, epoch = 1, replicas = [1] }}
            lower = {{ number = 1, replicas = [0] }}
            upper = {{ number = 2, replicas = [3] }}
            [[splits]]
            at = {{ table_hash = 2000 }}
            parent = {{ number = 2, replicas = [3] }}
            lower = {{ number = 3, replicas = [4] }}
            upper = {{ number = 4, replicas = [5] }}
            "#
        )
    }

    #[test]
    fn a_shard_that_was_split_is_served_by_its_parts_and_one_that_is_to_be_by_itself() {
        let cluster = cluster(&split_twice()).expect("as documented");
        let of_table = |hash| cluster.shards.of_row(TableId(hash), &RowKey::bound(&[]));
        assert_eq!([999, 1000, 2000].map(of_table), [1, 2, 2].map(ShardId));
        assert_eq!(cluster.shards.group(ShardId(1)).map(|group| group.epoch), Some(Epoch(2)));
        assert_eq!(cluster.shards.standing_for(ShardId(0)), ShardId(1));
        let until = |replica| {
            let kept = cluster.shard_of(ReplicaId(replica)).expect("it is there");
            (kept.group.shard.0, kept.extent.from.table.0, kept.extent.until.as_ref().map(|place| place.table.0))
        };
        let expected = [(0, 0, None), (1, 0, Some(1000)), (2, 1000, None), (3, 1000, Some(2000)), (4, 2000, None)];
        assert_eq!([1, 2, 3, 4, 5].map(until), expected);
        let first = |shard, replica| Group::new(ShardId(shard), Epoch(0), &[ReplicaId(replica)]).expect("one");
        assert_eq!(cluster.origin_of(&first(4, 5)).map(|split| split.parent().shard), Some(ShardId(2)));
        assert_eq!(cluster.origin_of(&first(0, 1)), None);
        assert_eq!(cluster.kin_of(ShardId(2)), [0, 1, 2, 3, 4].map(ShardId).into());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let shard = |rest: &str| format!("store = \"{STORE}\"\n[[shards]]\nnumber = 0\n{rest}");
        let replica = r#"replicas = [{ number = 0, address = "a:1" }]"#;
        let two = r#"replicas = [{ number = 0, address = "a:1" }, { number = 1, address = "a:2" }]"#;
        let again = format!("{replica}\n[[shards]]\nnumber = 1\nbegins = {{ table = \"t\" }}\n{replica}");
        for (text, told) in [
            ("store = \"x\"\nshards = []".to_owned(), "32 hexadecimal digits"),
            (format!("store = \"{STORE}\"\nshards = []"), "no shard has the first row"),
            (shard(two), "odd number of replicas"),
            (shard(&again), "replica 0 is there twice"),
            (shard(&format!("begins = {{ table = \"t\" }}\n{replica}")), "no shard has the first row"),
            (shard(&format!("{replica}\nreplica = 1")), "unknown field `replica`"),
            (split_twice().replace("table_hash = 2000", "table_hash = 500"), "lies outside of shard 2"),
            (
                split_twice().replace("table_hash = 2000", "table_hash = 1000"),
                "lies outside of shard 2, or where it begins",
            ),
            (split_twice().replace("parent = { number = 2,", "parent = { number = 9,"), "there is no shard 9"),
            (split_twice().replace("lower = { number = 3,", "lower = { number = 1,"), "shard 1 begins twice"),
            (split_twice().replace("lower = { number = 3,", "lower = { number = 0,"), "shard 0 begins twice"),
            (split_twice().replace("replicas = [4] }", "replicas = [2] }"), "replica 2 keeps a shard already"),
            (
                split_twice().replace("number = 3\n", "number = 3\nbegins = { table = \"t\" }\n"),
                "shard 3 is a part of one that is split, and has a `begins`",
            ),
            (
                split_twice().replace("number = 4, replicas", "number = 3, replicas"),
                "the parts of a shard that is split",
            ),
        ] {
            let error = cluster(&text).expect_err(told);
            assert!(error.contains(told), "{error}");
        }
    }
}
