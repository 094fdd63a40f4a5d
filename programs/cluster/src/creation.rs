//! Making a cluster: every file that its nodes need, so that `iolite serve` starts each.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use iolite_host::{Authority, random_id, read_or_create_secret, sync_folder_of};
use iolite_node::config::{Cluster, ClusterFile, GatewayTable, Schemas, ShardPlace, even_shards};
use iolite_values::{CoordinatorId, Id, StoreIncarnation};

use crate::local::{AUTHORITY, CLUSTER, SHAPE, TOKEN};
use crate::node_files::{NodeFiles, make_folder, write_file};
use crate::{ClusterError, ClusterShape, Ports, free_ports};

pub(crate) const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

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
    let renamed = renamed.and_then(|()| sync_folder_of(folder).map_err(failed(folder)));
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
        make_folder(self.folder)?;
        let shape = toml::to_string(self.shape).expect("numbers, texts and lists");
        write_file(&self.folder.join(SHAPE), &shape)?;
        let file = ClusterFile {
            store: self.store.0.to_string(),
            last_replica: None,
            shards: self.shards(),
            splits: Vec::new(),
        };
        write_file(&self.folder.join(CLUSTER), &file.to_toml())?;
        read_or_create_secret(&self.folder.join(TOKEN))?;
        let authority = if self.shape.plain { None } else { Some(Authority::create(&self.folder.join(AUTHORITY))?) };
        // It checks what is chosen, before anything is made of it.
        let cluster = Cluster::read(&self.folder.join(CLUSTER))?;
        let files = NodeFiles { folder: self.folder, shape: self.shape, authority: authority.as_ref() };
        for group in cluster.shards.groups() {
            for replica in group.members() {
                let observe = SocketAddr::new(HOST, self.addresses.probes[replica.0 as usize]);
                files.write_store(self.store, group, *replica, observe)?;
            }
        }
        for number in 0..self.shape.gateways {
            let id = CoordinatorId::new(number).expect("there are fewer nodes than numbers");
            files.write_gateway(id, self.gateway(number))?;
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

    fn gateway(&self, number: u16) -> GatewayTable {
        GatewayTable {
            number,
            listen: SocketAddr::new(HOST, self.addresses.gateways[usize::from(number)]),
            token: Path::new("..").join(TOKEN),
            // It is on one machine, and for development.
            tells_token: true,
            app: self.shape.app.clone(),
            origins: Vec::new(),
            schemas: Schemas::Grow,
            tokens: None,
        }
    }
}
