//! Changing what one node of a cluster that was made sees and does: for those who put something between nodes, or break them.
//!
//! Nothing here changes a process that runs: files are read when it starts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use iolite_host::{Readers, write_durably};
use iolite_node::config::{Cluster, ClusterFile, NodeFile};
use iolite_replication::node::ReplicaId;

use crate::ClusterError;
use crate::local::{CLUSTER, LocalCluster, LocalNode};

impl LocalCluster {
    /// Which shards there are, and where replicas listen.
    ///
    /// # Errors
    /// [`ClusterError::Config`].
    pub fn layout(&self) -> Result<Cluster, ClusterError> {
        Ok(Cluster::read(&self.file())?)
    }

    /// A node reaches these replicas at other addresses from its next start on, and follows the cluster's file no more.
    ///
    /// # Errors
    /// [`ClusterError`], about files.
    pub fn set_view(&self, node: &LocalNode, addresses: &BTreeMap<ReplicaId, String>) -> Result<(), ClusterError> {
        let mut view = ClusterFile::read(&self.file())?;
        for place in view.shards.iter_mut().flat_map(|shard| &mut shard.replicas) {
            if let Some(address) = addresses.get(&ReplicaId(place.number)) {
                place.address.clone_from(address);
            }
        }
        write(node.folder().join(CLUSTER), &view.to_toml())?;
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
    write_durably(&file, text.as_bytes(), Readers::All).map_err(|source| ClusterError::Io { path: file, source })
}
