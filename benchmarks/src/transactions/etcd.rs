//! etcd: three nodes. Transactions as its own client library makes them: reads at one revision, then one compare-and-swap.
//!
//! What it promises: a commit compares the revision of every key that was read, and puts, in one Raft entry. All reads of a transaction are
//! at the revision of its first, which is linearizable; so a transaction that only reads needs no commit.
//! Source: etcd's client/v3/concurrency/stm.go, level Serializable.

mod grpc;
mod messages;
mod session;

use std::net::SocketAddr;
use std::path::PathBuf;
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
use crate::transactions::system::{About, Setup, System};

use grpc::Channel;
use messages::{StatusRequest, StatusResponse};
pub use session::EtcdSession;

pub struct Etcd {
    // Servers end before their folder is removed.
    servers: Vec<ServerProcess>,
    settings: Settings,
    traffic: [Arc<Traffic>; 3],
    /// Clients' ways to the nodes.
    for_clients: [SocketAddr; 3],
    /// The node that leads, which clients talk to: any other would ask it.
    leader: usize,
    _links: Links,
    directory: ClusterDirectory,
}

struct Settings {
    program: PathBuf,
    version: String,
    durability: Durability,
    delay: Duration,
    client_ports: [u16; 3],
    peer_ports: [u16; 3],
    /// The nodes' ways to each other.
    for_peers: [SocketAddr; 3],
}

const NAMES: [&str; 3] = ["a", "b", "c"];
const STARTS_WITHIN: Duration = Duration::from_secs(60);

impl System for Etcd {
    type Session = EtcdSession;

    async fn start(setup: Setup) -> anyhow::Result<Etcd> {
        let program = program("etcd")?;
        let version = version(&program)?.rsplit(' ').next().unwrap_or_default().to_owned();
        let directory = ClusterDirectory::new(setup.durability)?;
        let mut links = Links::with_delay(setup.delay)?;
        let [a, b, c, d, e, f] = free_ports()?;
        let (client_ports, peer_ports) = ([a, b, c], [d, e, f]);
        let mut for_clients = client_ports.map(|port| SocketAddr::new(CLIENTS, port));
        let mut for_peers = peer_ports.map(|port| SocketAddr::new(BETWEEN_SERVERS, port));
        for address in for_clients.iter_mut().chain(&mut for_peers) {
            *address = links.to(*address).await?;
        }
        let (durability, delay) = (setup.durability, setup.delay);
        let settings = Settings { program, version, durability, delay, client_ports, peer_ports, for_peers };
        let traffic = std::array::from_fn(|_| Arc::default());
        let servers = Vec::new();
        let mut etcd = Etcd { servers, settings, traffic, for_clients, leader: 0, _links: links, directory };
        etcd.start_servers().await?;
        Ok(etcd)
    }

    fn about(&self) -> About {
        About {
            name: "etcd",
            copies: 2,
            version: self.settings.version.clone(),
            isolation: "strictly serializable",
            setting: match self.settings.durability {
                Durability::Fsync => "its default: the log synced on a majority, 2 of 3",
                Durability::Memory => "its default, with data in /dev/shm, where a sync does nothing; 2 of 3",
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
        // Every read of etcd 3.4 copies the buffer of writes not yet in its storage, with all the room that loading made in it, which
        // goes only when its storage commits without any: with 100,000 keys, a transaction then costs four times the processor time.
        self.restart().await
    }

    async fn connect(&self) -> anyhow::Result<EtcdSession> {
        let channel = Channel::open(self.for_clients[self.leader], self.traffic[self.leader].clone()).await?;
        Ok(EtcdSession::new(channel))
    }

    async fn restart(&mut self) -> anyhow::Result<()> {
        self.servers.iter_mut().try_for_each(ServerProcess::kill)?;
        self.servers.clear();
        self.start_servers().await
    }
}

impl Etcd {
    async fn start_servers(&mut self) -> anyhow::Result<()> {
        for (index, name) in NAMES.into_iter().enumerate() {
            let log = self.directory.path().join(format!("{name}.log"));
            let mut command = self.settings.command(index);
            command.arg("--data-dir").arg(self.directory.path().join(name));
            self.servers.push(ServerProcess::start(command, Ending::Kill, &log)?);
        }
        let begun = Instant::now();
        while begun.elapsed() < STARTS_WITHIN {
            self.servers.iter_mut().try_for_each(ServerProcess::is_alive)?;
            if let Ok(Some(leader)) = self.find_leader().await {
                self.leader = leader;
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!("etcd finds no leader")
    }

    /// The node that leads, once all know one.
    async fn find_leader(&self) -> anyhow::Result<Option<usize>> {
        let mut leaders = Vec::new();
        for (index, port) in self.settings.client_ports.into_iter().enumerate() {
            let mut channel = Channel::open(SocketAddr::new(CLIENTS, port), Arc::default()).await?;
            let status: StatusResponse = channel.call("etcdserverpb.Maintenance/Status", &StatusRequest {}).await?;
            let own = status.header.context("an answer without a header")?.member_id;
            if status.leader == 0 {
                return Ok(None);
            }
            if status.leader == own {
                leaders.push(index);
            }
        }
        Ok(leaders.pop().filter(|_| leaders.is_empty()))
    }
}

impl Settings {
    fn command(&self, index: usize) -> Command {
        let mut command = Runner::Same.command(&self.program);
        let clients = format!("http://{}:{}", CLIENTS, self.client_ports[index]);
        let members: Vec<String> =
            NAMES.iter().zip(self.for_peers).map(|(name, address)| format!("{name}=http://{address}")).collect();
        // The heartbeat is about a round trip, and an election takes ten, as its documentation on tuning says.
        let heartbeat_ms = self.delay.as_millis().max(100);
        command.args(["--name", NAMES[index], "--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        command.args(["--listen-peer-urls", &format!("http://{}:{}", BETWEEN_SERVERS, self.peer_ports[index])]);
        command.args(["--initial-advertise-peer-urls", &format!("http://{}", self.for_peers[index])]);
        command.args(["--initial-cluster", &members.join(","), "--initial-cluster-state", "new"]);
        command.args(["--heartbeat-interval", &heartbeat_ms.to_string()]);
        command.args(["--election-timeout", &(heartbeat_ms * 10).to_string()]);
        // Room for the revisions of a long run, and for as many keys as are loaded at once.
        command.args(["--quota-backend-bytes", "8589934592", "--max-txn-ops", "1000"]);
        command.args(["--logger", "zap", "--log-outputs", "stderr", "--log-level", "error"]);
        command
    }
}
