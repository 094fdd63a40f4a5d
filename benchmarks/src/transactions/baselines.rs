//! OCC-Store and Lock-Store, which the TAPIR paper compares itself with: one shard of three nodes, two-phase commit from the client.
//!
//! What they promise: strict serializability. Iolite's own links and journal are below both, and openraft between.
//! Source: TAPIR (TOCS 2018) 7.1.2; the servers are `benchmarks/baselines`.

mod session;

use std::fmt::Debug;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use iolite_baseline_client::{Cluster, Control, Session};

use crate::accounting::{Node, Traffic};
use crate::arguments::Durability;
use crate::cluster::{
    BETWEEN_SERVERS, CLIENTS, ClusterDirectory, Ending, Links, Runner, ServerProcess, free_ports, nodes,
    program_beside, version,
};
use crate::transactions::system::{About, Setup, System};

pub use session::BaselineSession;

/// Which of them it is.
pub trait Kind: Debug + Send + Sync + 'static {
    const NAME: &'static str;
    const CONTROL: Control;
    /// What the server calls it.
    const OPTION: &'static str;
    /// Entries of the log that go in one piece, if there is a limit.
    const ENTRIES_AT_ONCE: Option<u64> = None;
}

#[derive(Debug)]
pub struct OccStore;
#[derive(Debug)]
pub struct LockStore;
#[derive(Debug)]
pub struct OccStoreUnbatched;
#[derive(Debug)]
pub struct LockStoreUnbatched;

impl Kind for OccStore {
    const NAME: &'static str = "occ-store";
    const CONTROL: Control = Control::Optimistic;
    const OPTION: &'static str = "occ";
}

impl Kind for LockStore {
    const NAME: &'static str = "lock-store";
    const CONTROL: Control = Control::Locking;
    const OPTION: &'static str = "lock";
}

impl Kind for OccStoreUnbatched {
    const NAME: &'static str = "occ-store-unbatched";
    const CONTROL: Control = OccStore::CONTROL;
    const OPTION: &'static str = OccStore::OPTION;
    const ENTRIES_AT_ONCE: Option<u64> = Some(1);
}

impl Kind for LockStoreUnbatched {
    const NAME: &'static str = "lock-store-unbatched";
    const CONTROL: Control = LockStore::CONTROL;
    const OPTION: &'static str = LockStore::OPTION;
    const ENTRIES_AT_ONCE: Option<u64> = Some(1);
}

pub struct Baseline<K> {
    // Servers end before their folder is removed.
    servers: Vec<ServerProcess>,
    settings: Settings,
    traffic: [Arc<Traffic>; 3],
    /// Clients' ways to the nodes.
    for_clients: [SocketAddr; 3],
    _links: Links,
    directory: ClusterDirectory,
    kind: PhantomData<K>,
}

struct Settings {
    program: PathBuf,
    version: String,
    durability: Durability,
    delay: Duration,
    ports: [u16; 3],
    /// The nodes' ways to each other.
    for_peers: [SocketAddr; 3],
}

const NAMES: [&str; 3] = ["a", "b", "c"];
const STARTS_WITHIN: Duration = Duration::from_secs(60);

impl<K: Kind> System for Baseline<K> {
    type Session = BaselineSession;

    async fn start(setup: Setup) -> anyhow::Result<Baseline<K>> {
        let program = program_beside("iolite-baseline")?;
        let version = version(&program)?.rsplit(' ').next().unwrap_or_default().to_owned();
        let directory = ClusterDirectory::new(setup.durability)?;
        let mut links = Links::with_delay(setup.delay)?;
        let ports = free_ports::<3>()?;
        let mut for_clients = ports.map(|port| SocketAddr::new(CLIENTS, port));
        let mut for_peers = ports.map(|port| SocketAddr::new(BETWEEN_SERVERS, port));
        for address in for_clients.iter_mut().chain(&mut for_peers) {
            *address = links.to(*address).await?;
        }
        let (durability, delay) = (setup.durability, setup.delay);
        let settings = Settings { program, version, durability, delay, ports, for_peers };
        let traffic = std::array::from_fn(|_| Arc::default());
        let (servers, kind) = (Vec::new(), PhantomData);
        let mut baseline = Baseline { servers, settings, traffic, for_clients, _links: links, directory, kind };
        for name in NAMES {
            baseline.directory.folder(name, None)?;
        }
        baseline.start_servers().await?;
        Ok(baseline)
    }

    fn about(&self) -> About {
        About {
            name: K::NAME,
            copies: 2,
            version: self.settings.version.clone(),
            isolation: "strictly serializable",
            setting: match self.settings.durability {
                Durability::Fsync => "Raft's log in Iolite's journal, class fsync: synced on a majority, 2 of 3",
                Durability::Memory => "Raft's log in Iolite's journal, class memory, in /dev/shm; 2 of 3",
            },
        }
    }

    fn nodes(&self) -> Vec<Node> {
        nodes(NAMES, &self.servers, &self.traffic)
    }

    fn between(&self) -> Vec<SocketAddr> {
        self.settings.for_peers.to_vec()
    }

    async fn settle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    async fn connect(&self) -> anyhow::Result<BaselineSession> {
        Ok(BaselineSession::new(self.session(), self.traffic.clone()))
    }

    async fn restart(&mut self) -> anyhow::Result<()> {
        self.servers.iter_mut().try_for_each(ServerProcess::kill)?;
        self.servers.clear();
        self.start_servers().await
    }
}

impl<K: Kind> Baseline<K> {
    fn session(&self) -> Session {
        Session::new(Cluster { shards: vec![self.for_clients.to_vec()] }, K::CONTROL)
    }

    async fn start_servers(&mut self) -> anyhow::Result<()> {
        for (index, name) in NAMES.into_iter().enumerate() {
            let log = self.directory.path().join(format!("{name}.log"));
            let mut command = self.settings.command(index, K::OPTION);
            if let Some(entries) = K::ENTRIES_AT_ONCE {
                command.arg("--entries-at-once").arg(entries.to_string());
            }
            command.arg("--data").arg(self.directory.path().join(name));
            self.servers.push(ServerProcess::start(command, Ending::Kill, &log)?);
        }
        let begun = Instant::now();
        while begun.elapsed() < STARTS_WITHIN {
            self.servers.iter_mut().try_for_each(ServerProcess::is_alive)?;
            // Any key: a leader answers, once it has applied its whole log.
            if self.session().look(&[Vec::new()]).await.is_ok() {
                return Ok(());
            }
        }
        bail!("{} finds no leader", K::NAME)
    }
}

impl Settings {
    fn command(&self, index: usize, control: &str) -> Command {
        let mut command = Runner::Same.command(&self.program);
        let members: Vec<String> = self.for_peers.iter().map(ToString::to_string).collect();
        let port = self.ports[index];
        command.args(["serve", "--control", control, "--node", &index.to_string()]);
        command.args(["--clients", &SocketAddr::new(CLIENTS, port).to_string()]);
        command.args(["--peers", &SocketAddr::new(BETWEEN_SERVERS, port).to_string()]);
        command.args(["--members", &members.join(",")]);
        command.args(["--round-trip-ms", &self.delay.as_millis().to_string()]);
        command.args(["--durability", &self.durability.name()]);
        command
    }
}
