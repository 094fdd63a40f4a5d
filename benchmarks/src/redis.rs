//! Redis's servers: a primary and two replicas, and connections to them.

mod resp;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::accounting::{Node, Traffic};
use crate::arguments::Durability;
use crate::cluster::{
    BETWEEN_SERVERS, CLIENTS, ClusterDirectory, Ending, Links, Runner, ServerProcess, free_ports, nodes, program,
    version,
};

pub use resp::{Connection, Reply};

/// A primary and two replicas, taken down when they are dropped.
pub struct RedisServers {
    // Servers end before their folder is removed.
    servers: Vec<ServerProcess>,
    settings: Settings,
    traffic: [Arc<Traffic>; 3],
    /// Clients' way to the primary, and replicas'.
    for_clients: SocketAddr,
    for_replicas: SocketAddr,
    _links: [Links; 2],
    directory: ClusterDirectory,
}

/// Round trips that links get in addition.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    pub of_clients: Duration,
    pub between_servers: Duration,
}

struct Settings {
    program: PathBuf,
    version: String,
    durability: Durability,
    ports: [u16; 3],
}

const NAMES: [&str; 3] = ["primary", "replica-a", "replica-b"];
const STARTS_WITHIN: Duration = Duration::from_secs(60);

impl RedisServers {
    /// Starts them, empty. Servers die with the thread that calls this.
    pub async fn start(durability: Durability, delays: Delays) -> anyhow::Result<RedisServers> {
        let program = program("redis-server")?;
        let version = version(&program)?.split_whitespace().find_map(|word| word.strip_prefix("v=")).map(String::from);
        let version = version.context("redis-server tells no version")?;
        let settings = Settings { program, version, durability, ports: free_ports()? };
        let directory = ClusterDirectory::new(durability)?;
        for name in NAMES {
            directory.folder(name, None)?;
        }
        let primary = settings.ports[0];
        let mut links = [Links::with_delay(delays.of_clients)?, Links::with_delay(delays.between_servers)?];
        let for_clients = links[0].to(SocketAddr::new(CLIENTS, primary)).await?;
        let for_replicas = links[1].to(SocketAddr::new(BETWEEN_SERVERS, primary)).await?;
        let traffic = std::array::from_fn(|_| Arc::default());
        let mut servers = RedisServers {
            servers: Vec::new(),
            settings,
            traffic,
            for_clients,
            for_replicas,
            _links: links,
            directory,
        };
        servers.start_servers().await?;
        Ok(servers)
    }

    pub fn version(&self) -> &str {
        &self.settings.version
    }

    /// The setting that makes acknowledged writes durable.
    pub fn setting(&self) -> &'static str {
        match self.settings.durability {
            Durability::Fsync => "appendonly yes, appendfsync always, WAIT 1: synced at the primary and one replica",
            Durability::Memory => "no appendonly file, WAIT 1: in memory at the primary and one replica",
        }
    }

    /// The replicas' way to the primary.
    pub fn between(&self) -> SocketAddr {
        self.for_replicas
    }

    pub fn nodes(&self) -> Vec<Node> {
        nodes(NAMES, &self.servers, &self.traffic)
    }

    /// Where clients connect to.
    pub fn clients_address(&self) -> SocketAddr {
        self.for_clients
    }

    /// A client's connection to the primary, which counts what it carries.
    pub async fn connect(&self) -> anyhow::Result<Connection> {
        Connection::open(self.for_clients, self.traffic[0].clone()).await
    }

    /// Kills all, and starts them on the same data.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        self.servers.iter_mut().try_for_each(ServerProcess::kill)?;
        self.servers.clear();
        self.start_servers().await
    }

    async fn start_servers(&mut self) -> anyhow::Result<()> {
        for (index, name) in NAMES.into_iter().enumerate() {
            let log = self.directory.path().join(format!("{name}.log"));
            let mut command = self.settings.command(&self.directory.path().join(name), self.settings.ports[index]);
            if index > 0 {
                let primary = self.for_replicas;
                command.args(["--replicaof", &primary.ip().to_string(), &primary.port().to_string()]);
            }
            self.servers.push(ServerProcess::start(command, Ending::Kill, &log)?);
        }
        self.wait_for_replicas().await
    }

    async fn wait_for_replicas(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < STARTS_WITHIN {
            self.servers.iter_mut().try_for_each(ServerProcess::is_alive)?;
            if self.replicas_online().await.is_ok_and(|online| online == 2) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        bail!("redis's replicas do not come online")
    }

    async fn replicas_online(&self) -> anyhow::Result<usize> {
        let primary = SocketAddr::new(CLIENTS, self.settings.ports[0]);
        let mut connection = Connection::open(primary, Arc::default()).await?;
        connection.send(&[&[b"INFO", b"replication"]]).await?;
        let Reply::Bulk(Some(text)) = connection.receive().await? else { bail!("it is loading") };
        Ok(String::from_utf8_lossy(&text).matches("state=online").count())
    }
}

impl Settings {
    fn command(&self, folder: &Path, port: u16) -> Command {
        let mut command = Runner::Same.command(&self.program);
        command.args(["--port", &port.to_string()]);
        command.args(["--bind", &CLIENTS.to_string(), &BETWEEN_SERVERS.to_string()]);
        command.arg("--dir").arg(folder);
        // No snapshots of its own accord; copies for replicas go over the socket, at once.
        command.args(["--save", "", "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"]);
        match self.durability {
            Durability::Fsync => command.args(["--appendonly", "yes", "--appendfsync", "always"]),
            Durability::Memory => command.args(["--appendonly", "no"]),
        };
        command
    }
}
