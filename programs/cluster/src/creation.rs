//! Making a cluster: every file that its nodes need, so that `iolite serve` starts each.
//!
//! Invariant: replicas get their first, empty data here and nowhere else. So a replica that finds none when it starts has lost its disk, and says so.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use iolite_host::{Authority, random_id, read_or_create_secret};
use iolite_node::config::{
    Cluster, Faults, FaultsTable, GatewayTable, NodeFile, Schemas, ShardPlace, StoreTable, even_shards,
};
use iolite_node::{NodeRole, Owner, Start, open_replica};
use iolite_replication::node::{ReplicaId, ShardId};
use iolite_values::{CoordinatorId, Id, StoreIncarnation};

use crate::local::{CLUSTER, NODE, SHAPE, TOKEN};
use crate::{ClusterError, ClusterShape, Ports, free_ports};

const AUTHORITY: &str = "authority";
const CERTIFICATES: &str = "certificates";
const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Makes the folder, which must be missing or empty.
pub(crate) fn create(folder: &Path, shape: &ClusterShape) -> Result<(), ClusterError> {
    if let Some(problem) = shape.problem() {
        return Err(ClusterError::Shape(problem));
    }
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ClusterError::Io { path, source }
    };
    match std::fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => std::fs::remove_dir(folder).map_err(failed(folder))?,
        Ok(false) => return Err(ClusterError::NotEmpty { folder: folder.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(failed(folder)(source)),
    }
    // Without a slash at its end, after which the name would be one inside of it.
    let mut unfinished = folder.components().collect::<PathBuf>().into_os_string();
    unfinished.push(format!(".unfinished-{:08x}", random_id() as u32));
    let unfinished = PathBuf::from(unfinished);
    let made = Creation::new(&unfinished, shape).and_then(|creation| creation.write());
    let renamed = made.and_then(|()| std::fs::rename(&unfinished, folder).map_err(failed(folder)));
    if renamed.is_err() {
        // It holds nothing that anybody uses.
        let _ = std::fs::remove_dir_all(&unfinished);
    }
    renamed
}

struct Creation<'a> {
    folder: &'a Path,
    shape: &'a ClusterShape,
    store: StoreIncarnation,
    addresses: Addresses,
}

/// Ports of nodes, by their number.
struct Addresses {
    gateways: Vec<u16>,
    replicas: Vec<u16>,
    probes: Vec<u16>,
}

impl Addresses {
    fn choose(shape: &ClusterShape) -> Result<Addresses, ClusterError> {
        let replicas = (u64::from(shape.shards()) * shape.replicas) as usize;
        let gateways = usize::from(shape.gateways);
        let ports = match shape.ports {
            Ports::From(first) => {
                let kind = |kind: u16, count: usize| (0..count as u16).map(move |number| first + 100 * kind + number);
                kind(0, gateways).chain(kind(1, replicas)).chain(kind(2, replicas)).collect()
            }
            Ports::Free => free_ports(&[HOST], gateways + 2 * replicas).map_err(ClusterError::Port)?,
        };
        let (gateways, rest) = ports.split_at(gateways);
        let (replicas, probes) = rest.split_at(replicas);
        Ok(Addresses { gateways: gateways.to_vec(), replicas: replicas.to_vec(), probes: probes.to_vec() })
    }
}

impl<'a> Creation<'a> {
    fn new(folder: &'a Path, shape: &'a ClusterShape) -> Result<Creation<'a>, ClusterError> {
        let store = StoreIncarnation(Id::from_u128(random_id()));
        Ok(Creation { folder, shape, store, addresses: Addresses::choose(shape)? })
    }

    fn write(&self) -> Result<(), ClusterError> {
        self.make_folder(self.folder)?;
        let shape = toml::to_string(self.shape).expect("numbers, texts and lists");
        self.write_file(&self.folder.join(SHAPE), &shape)?;
        let shards = self.shards();
        self.write_file(&self.folder.join(CLUSTER), &Cluster::to_toml(self.store, shards.clone()))?;
        read_or_create_secret(&self.folder.join(TOKEN))?;
        let authority = if self.shape.plain { None } else { Some(Authority::create(&self.folder.join(AUTHORITY))?) };
        // It checks what is chosen, before anything is made of it.
        let cluster = Cluster::read(&self.folder.join(CLUSTER))?;
        for group in cluster.shards.groups() {
            for replica in group.members() {
                self.write_store(group.shard, *replica, authority.as_ref())?;
            }
        }
        for number in 0..self.shape.gateways {
            self.write_gateway(number, authority.as_ref())?;
        }
        Ok(())
    }

    fn shards(&self) -> Vec<ShardPlace> {
        let address_of = |number: u64| format!("{HOST}:{}", self.addresses.replicas[number as usize]);
        let mut shards = even_shards(self.shape.shards(), self.shape.replicas, address_of);
        for (shard, split) in shards.iter_mut().skip(1).zip(&self.shape.splits) {
            shard.begins = Some(split.clone().into());
        }
        shards
    }

    fn write_store(
        &self,
        shard: ShardId,
        replica: ReplicaId,
        authority: Option<&Authority>,
    ) -> Result<(), ClusterError> {
        let role = NodeRole::Store(replica);
        let folder = self.folder.join(role.to_string());
        let store = StoreTable {
            number: replica.0,
            data: "data".into(),
            durability: self.shape.durability,
            listen: Vec::new(),
            observe: Some(SocketAddr::new(HOST, self.addresses.probes[replica.0 as usize])),
        };
        self.write_node(role, authority, NodeFile { store: Some(store), ..self.node_file() })?;
        let owner = Owner { store: self.store, shard, replica };
        open_replica(&folder.join("data"), owner, Start::First, self.shape.durability.into(), &Faults::default())?;
        Ok(())
    }

    fn write_gateway(&self, number: u16, authority: Option<&Authority>) -> Result<(), ClusterError> {
        let gateway = GatewayTable {
            number,
            listen: SocketAddr::new(HOST, self.addresses.gateways[usize::from(number)]),
            token: Path::new("..").join(TOKEN),
            app: self.shape.app.clone(),
            schemas: Schemas::Grow,
        };
        let role = NodeRole::Gateway(CoordinatorId::new(number).expect("there are fewer nodes than numbers"));
        self.write_node(role, authority, NodeFile { gateway: Some(gateway), ..self.node_file() })
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
        }
    }

    fn write_node(&self, role: NodeRole, authority: Option<&Authority>, file: NodeFile) -> Result<(), ClusterError> {
        let folder = self.folder.join(role.to_string());
        self.make_folder(&folder)?;
        if let Some(authority) = authority {
            authority.issue(&role.name(), Authority::NODE_VALID, &folder.join(CERTIFICATES))?;
        }
        self.write_file(&folder.join(NODE), &toml::to_string(&file).expect("numbers, texts and paths"))
    }

    fn make_folder(&self, folder: &Path) -> Result<(), ClusterError> {
        std::fs::create_dir_all(folder).map_err(|source| ClusterError::Io { path: folder.to_owned(), source })
    }

    fn write_file(&self, file: &Path, text: &str) -> Result<(), ClusterError> {
        std::fs::write(file, text).map_err(|source| ClusterError::Io { path: file.to_owned(), source })
    }
}
