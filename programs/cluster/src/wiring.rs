//! Changing what one node of a cluster that was made sees and does: for those who put something between nodes, or break them.
//!
//! Nothing here changes a process that runs: files are read when it starts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use iolite_node::config::{Cluster, NodeFile};
use iolite_replication::node::ReplicaId;
use toml::{Table, Value};

use crate::ClusterError;
use crate::local::{CLUSTER, LocalCluster, LocalNode};

impl LocalCluster {
    /// Which shards there are, and where replicas listen.
    ///
    /// # Errors
    /// [`ClusterError::Config`].
    pub fn layout(&self) -> Result<Cluster, ClusterError> {
        Ok(Cluster::read(&self.folder().join(CLUSTER))?)
    }

    /// A node reaches these replicas at other addresses from its next start on.
    ///
    /// # Errors
    /// [`ClusterError`], about files.
    pub fn set_view(&self, node: &LocalNode, addresses: &BTreeMap<ReplicaId, String>) -> Result<(), ClusterError> {
        let file = self.folder().join(CLUSTER);
        let text = std::fs::read_to_string(&file).map_err(|source| ClusterError::Io { path: file.clone(), source })?;
        let damaged = || ClusterError::Damaged { file: file.clone(), problem: "it has no shards with replicas".into() };
        let mut table: Table = text.parse().map_err(|_| damaged())?;
        let shards = table.get_mut("shards").and_then(Value::as_array_mut).ok_or_else(damaged)?;
        let replicas = shards.iter_mut().filter_map(|shard| shard.get_mut("replicas")?.as_array_mut()).flatten();
        for replica in replicas.filter_map(Value::as_table_mut) {
            let number = replica.get("number").and_then(Value::as_integer).ok_or_else(damaged)?;
            if let Some(address) = addresses.get(&ReplicaId(number as u64)) {
                replica.insert("address".into(), Value::String(address.clone()));
            }
        }
        write(node.folder().join(CLUSTER), &table.to_string())?;
        node.edit(|own| own.cluster = CLUSTER.into())
    }
}

impl LocalNode {
    /// Changes the node's file.
    ///
    /// # Errors
    /// [`ClusterError`], about files.
    pub fn edit(&self, change: impl FnOnce(&mut NodeFile)) -> Result<(), ClusterError> {
        let file = self.config();
        let text = std::fs::read_to_string(&file).map_err(|source| ClusterError::Io { path: file.clone(), source })?;
        let parsed: Result<NodeFile, toml::de::Error> = toml::from_str(&text);
        let mut own = parsed
            .map_err(|error| ClusterError::Damaged { file: file.clone(), problem: error.message().to_owned() })?;
        change(&mut own);
        write(file, &toml::to_string(&own).expect("numbers, texts and paths"))
    }
}

fn write(file: PathBuf, text: &str) -> Result<(), ClusterError> {
    std::fs::write(&file, text).map_err(|source| ClusterError::Io { path: file, source })
}
