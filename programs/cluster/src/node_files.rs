//! What `iolite serve` needs to start one node of a local cluster: its folder, with its file, its certificate and, of a replica, its data.
//!
//! Invariant: replicas get their first, empty data here and nowhere else. So a replica that finds none when it starts has lost its disk, and says so.

use std::net::SocketAddr;
use std::path::Path;

use iolite_host::{Authority, Readers, make_folder_durably, write_durably};
use iolite_node::config::{BlobsTable, Faults, FaultsTable, GatewayTable, NodeFile, StoreTable};
use iolite_node::{NodeRole, Start, open_replica};
use iolite_replication::node::{Group, ReplicaId};
use iolite_values::{CoordinatorId, StoreIncarnation};

use crate::local::{BLOBS, CLUSTER, DATA, NODE};
use crate::{ClusterError, ClusterShape};

const CERTIFICATES: &str = "certificates";

/// A cluster's folder, and what each node of it is made with.
pub(crate) struct NodeFiles<'a> {
    pub folder: &'a Path,
    pub shape: &'a ClusterShape,
    /// None: links go without certificates.
    pub authority: Option<&'a Authority>,
}

impl NodeFiles<'_> {
    /// The folder of a replica, with its first, empty data.
    pub fn write_store(
        &self,
        store: StoreIncarnation,
        group: &Group,
        replica: ReplicaId,
        observe: SocketAddr,
    ) -> Result<(), ClusterError> {
        let role = NodeRole::Store(replica);
        let table = StoreTable {
            number: replica.0,
            data: DATA.into(),
            durability: self.shape.durability,
            listen: Vec::new(),
            observe: Some(observe),
        };
        self.write_node(role, NodeFile { store: Some(table), ..self.node_file() })?;
        let data = self.folder.join(role.to_string()).join(DATA);
        let durability = self.shape.durability.into();
        open_replica(&data, (store, replica, group), Start::First, durability, &Faults::default())?;
        Ok(())
    }

    pub fn write_gateway(&self, id: CoordinatorId, table: GatewayTable) -> Result<(), ClusterError> {
        // All gateways are on this machine, so they share a folder.
        let blobs = BlobsTable { store: format!("dir:../{BLOBS}"), ..BlobsTable::default() };
        self.write_node(
            NodeRole::Gateway(id),
            NodeFile { gateway: Some(table), blobs: Some(blobs), ..self.node_file() },
        )
    }

    /// What all nodes have in common.
    fn node_file(&self) -> NodeFile {
        NodeFile {
            cluster: Path::new("..").join(CLUSTER),
            certificates: (!self.shape.plain).then(|| CERTIFICATES.into()),
            plain: self.shape.plain,
            delay_ms: self.shape.delay_ms,
            pid_file: Some("pid".into()),
            faults: FaultsTable::default(),
            store: None,
            gateway: None,
            blobs: None,
            centre: None,
            objects: None,
        }
    }

    fn write_node(&self, role: NodeRole, file: NodeFile) -> Result<(), ClusterError> {
        let folder = self.folder.join(role.to_string());
        make_folder(&folder)?;
        if let Some(authority) = self.authority {
            authority.issue(&role.name(), Authority::NODE_VALID, &folder.join(CERTIFICATES))?;
        }
        write_file(&folder.join(NODE), &toml::to_string(&file).expect("numbers, texts and paths"))
    }
}

pub(crate) fn make_folder(folder: &Path) -> Result<(), ClusterError> {
    make_folder_durably(folder).map_err(|source| ClusterError::Io { path: folder.to_owned(), source })
}

/// Whole or not at all, and durable: a command may be killed at any moment, and the machine lose its power after it.
pub(crate) fn write_file(file: &Path, text: &str) -> Result<(), ClusterError> {
    let written = write_durably(file, text.as_bytes(), Readers::All);
    written.map_err(|source| ClusterError::Io { path: file.to_owned(), source })
}
