//! What all nodes of a cluster know: which history its data are of, and which replicas keep which shard.

use std::collections::BTreeMap;
use std::path::Path;

use iolite_replication::node::{Epoch, Group, ReplicaId, ShardId};
use iolite_replication::{Place, ShardMap};
use iolite_values::{RowKey, StoreIncarnation, TableId, Value};

use super::cluster_file::{Begins, ClusterFile};
use super::error::{ConfigError, ConfigProblem};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub store: StoreIncarnation,
    pub shards: ShardMap,
    /// Where each replica listens, `HOST:PORT`.
    pub addresses: BTreeMap<ReplicaId, String>,
    /// For which shard each of them is: in its group, on the way to it, or out of it.
    shard_of: BTreeMap<ReplicaId, ShardId>,
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
        Cluster { store, shards: ShardMap::one(group), addresses, shard_of }
    }

    /// The group of the shard that a replica is for, whether it is in it or not.
    pub fn group_of(&self, replica: ReplicaId) -> Option<&Group> {
        self.shards.group(*self.shard_of.get(&replica)?)
    }

    /// All replicas for a shard, and where they listen.
    pub fn replicas_of(&self, shard: ShardId) -> impl Iterator<Item = (ReplicaId, &str)> {
        let own = self.shard_of.iter().filter(move |(_, of)| **of == shard);
        own.filter_map(|(replica, _)| Some((*replica, self.addresses.get(replica)?.as_str())))
    }

    /// # Errors
    /// [`ConfigProblem`].
    pub fn of(file: &ClusterFile) -> Result<Cluster, ConfigProblem> {
        let store = file.store.parse().map_err(|_| ConfigProblem::Store(file.store.clone()))?;
        let mut groups = Vec::new();
        let (mut addresses, mut shard_of) = (BTreeMap::new(), BTreeMap::new());
        for shard in &file.shards {
            let id = ShardId(shard.number);
            let members: Vec<ReplicaId> = shard.replicas.iter().map(|replica| ReplicaId(replica.number)).collect();
            let group = Group::new(id, Epoch(shard.epoch), &members);
            let group = group.map_err(|source| ConfigProblem::Group { shard: id, source })?;
            groups.push((place_of(id, shard.begins.as_ref())?, group));
            for place in shard.all() {
                let replica = ReplicaId(place.number);
                shard_of.insert(replica, id);
                if addresses.insert(replica, place.address.clone()).is_some() {
                    return Err(ConfigProblem::ReplicaTwice { id: replica });
                }
            }
        }
        Ok(Cluster { store: StoreIncarnation(store), shards: ShardMap::new(groups)?, addresses, shard_of })
    }
}

fn place_of(shard: ShardId, begins: Option<&Begins>) -> Result<Place, ConfigProblem> {
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

#[cfg(test)]
mod tests {
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
        assert_eq!(cluster.group_of(ReplicaId(3)).map(|group| group.shard), Some(ShardId(1)));
    }

    #[test]
    fn what_is_written_reads_back() {
        let store = StoreIncarnation(STORE.parse().expect("32 digits"));
        let shards = even_shards(3, 3, |number| format!("127.0.0.1:{}", 7800 + number));
        let file = ClusterFile { store: store.0.to_string(), last_replica: None, shards };
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
            assert_eq!(cluster.group_of(ReplicaId(number)), Some(&group));
        }
        assert_eq!(cluster.replicas_of(ShardId(0)).count(), 3);
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
        ] {
            let error = cluster(&text).expect_err(told);
            assert!(error.contains(told), "{error}");
        }
    }
}
