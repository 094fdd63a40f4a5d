//! The cluster's file: which history its data are of, and which replicas keep which shard.

use std::collections::BTreeMap;
use std::path::Path;

use iolite_replication::node::{Epoch, Group, ReplicaId, ShardId};
use iolite_replication::{Place, ShardMap};
use iolite_values::{RowKey, StoreIncarnation, TableId, Value};
use serde::{Deserialize, Serialize};

use super::error::{ConfigError, ConfigProblem, read};

/// What all nodes of a cluster know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub store: StoreIncarnation,
    pub shards: ShardMap,
    /// Where each replica listens, `HOST:PORT`.
    pub addresses: BTreeMap<ReplicaId, String>,
}

/// The file, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    store: String,
    shards: Vec<ShardPlace>,
}

/// A shard: where it begins, and who keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardPlace {
    pub number: u32,
    /// None: at the very beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begins: Option<Begins>,
    pub replicas: Vec<ReplicaPlace>,
}

/// A place between rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, untagged)]
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

impl Cluster {
    /// # Errors
    /// [`ConfigError`].
    pub fn read(file: &Path) -> Result<Cluster, ConfigError> {
        Cluster::of(read(file)?).map_err(|problem| problem.of(file))
    }

    /// The text of a cluster's file.
    pub fn to_toml(store: StoreIncarnation, shards: Vec<ShardPlace>) -> String {
        toml::to_string(&File { store: store.0.to_string(), shards }).expect("numbers, texts and lists")
    }

    /// The group that a replica is in.
    pub fn group_of(&self, replica: ReplicaId) -> Option<&Group> {
        self.shards.groups().find(|group| group.contains(replica))
    }

    fn of(file: File) -> Result<Cluster, ConfigProblem> {
        let store = file.store.parse().map_err(|_| ConfigProblem::Store(file.store))?;
        let mut groups = Vec::new();
        let mut addresses = BTreeMap::new();
        for shard in file.shards {
            let id = ShardId(shard.number);
            let members: Vec<ReplicaId> = shard.replicas.iter().map(|replica| ReplicaId(replica.number)).collect();
            let group =
                Group::new(id, Epoch(0), &members).map_err(|source| ConfigProblem::Group { shard: id, source })?;
            groups.push((place_of(id, shard.begins)?, group));
            for replica in shard.replicas {
                let id = ReplicaId(replica.number);
                if addresses.insert(id, replica.address).is_some() {
                    return Err(ConfigProblem::ReplicaTwice { id });
                }
            }
        }
        Ok(Cluster { store: StoreIncarnation(store), shards: ShardMap::new(groups)?, addresses })
    }
}

fn place_of(shard: ShardId, begins: Option<Begins>) -> Result<Place, ConfigProblem> {
    let beginning = RowKey::bound(&[]);
    Ok(match begins {
        None => Place::first(),
        Some(Begins::TableHash { table_hash }) => Place { table: TableId(table_hash), key: beginning },
        Some(Begins::Table { table, key }) if key.is_empty() => Place { table: TableId::of(&table), key: beginning },
        Some(Begins::Table { table, key }) => {
            let values: Vec<Value> = key.into_iter().map(Value::from).collect();
            let key = RowKey::new(&values).map_err(|source| ConfigProblem::Key { shard, source })?;
            Place { table: TableId::of(&table), key }
        }
    })
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
        ShardPlace { number, begins, replicas }
    };
    (0..shards).map(&mut place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(text: &str) -> Result<Cluster, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        Cluster::of(file).map_err(|problem| problem.to_string())
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
        let cluster = cluster(&Cluster::to_toml(store, shards)).expect("our own");
        assert_eq!((cluster.store, cluster.addresses.len()), (store, 9));
        assert_eq!(cluster.shards.of_row(TableId(0x5555_5554), &RowKey::bound(&[])), ShardId(0));
        assert_eq!(cluster.shards.of_row(TableId(0x5555_5555), &RowKey::bound(&[])), ShardId(1));
        assert_eq!(cluster.shards.of_row(TableId(u32::MAX), &RowKey::bound(&[])), ShardId(2));
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
            (shard(&again), "replica 0 is in two shards"),
            (shard(&format!("begins = {{ table = \"t\" }}\n{replica}")), "no shard has the first row"),
            (shard(&format!("{replica}\nreplica = 1")), "unknown field `replica`"),
        ] {
            let error = cluster(&text).expect_err(told);
            assert!(error.contains(told), "{error}");
        }
    }
}
