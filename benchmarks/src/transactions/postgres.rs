//! PostgreSQL: a primary and two standbys, of which one has to have a commit on disk before it is acknowledged. SERIALIZABLE.
//!
//! What it promises: transactions are serializable, by predicate locks; a commit is seen and acknowledged when the primary and any one of
//! the standbys have flushed it.

mod servers;
mod session;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio_postgres::{Client, NoTls};

use crate::accounting::{Counted, Node, Traffic};
use crate::arguments::Durability;
use crate::cluster::{BETWEEN_SERVERS, CLIENTS, ClusterDirectory, Links, ServerProcess, free_ports, nodes};
use crate::transactions::system::{About, Setup, System};

use servers::Servers;
pub use session::PostgresSession;

pub struct Postgres {
    // Servers end before their folder is removed.
    processes: Vec<ServerProcess>,
    servers: Servers,
    durability: Durability,
    primary: SocketAddr,
    traffic: [Arc<Traffic>; 3],
    /// Clients' way to the primary, and standbys'.
    for_clients: SocketAddr,
    for_standbys: SocketAddr,
    _links: Links,
    _directory: ClusterDirectory,
}

const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// Less than full pages: a row's next version fits beside it, and no index changes. A page of an index that changes is a conflict.
const TABLE: &str = "CREATE TABLE kv (key bytea PRIMARY KEY, value bytea NOT NULL) WITH (fillfactor = 50)";

impl System for Postgres {
    type Session = PostgresSession;

    async fn start(setup: Setup) -> anyhow::Result<Postgres> {
        let directory = ClusterDirectory::new(setup.durability)?;
        let ports = free_ports()?;
        let mut links = Links::with_delay(setup.delay)?;
        let primary = SocketAddr::new(CLIENTS, ports[0]);
        let for_clients = links.to(primary).await?;
        let for_standbys = links.to(SocketAddr::new(BETWEEN_SERVERS, ports[0])).await?;
        let servers = Servers::create(&directory, &setup, ports, for_standbys)?;
        let mut postgres = Postgres {
            processes: Vec::new(),
            servers,
            durability: setup.durability,
            primary,
            traffic: std::array::from_fn(|_| Arc::default()),
            for_clients,
            for_standbys,
            _links: links,
            _directory: directory,
        };
        postgres.start_servers().await?;
        connect(postgres.primary, Arc::default()).await?.batch_execute(TABLE).await?;
        Ok(postgres)
    }

    fn about(&self) -> About {
        About {
            name: "postgres",
            copies: 2,
            version: self.servers.version().to_owned(),
            isolation: "serializable",
            setting: match self.durability {
                Durability::Fsync => {
                    "fsync on, synchronous_commit on, ANY 1 (a, b): synced at the primary and one standby"
                }
                Durability::Memory => {
                    "fsync off, synchronous_commit on, ANY 1 (a, b): in memory at the primary and one standby"
                }
            },
        }
    }

    fn nodes(&self) -> Vec<Node> {
        nodes(servers::NAMES, &self.processes, &self.traffic)
    }

    fn between(&self) -> Vec<SocketAddr> {
        vec![self.for_standbys]
    }

    async fn settle(&mut self) -> anyhow::Result<()> {
        let client = connect(self.primary, Arc::default()).await?;
        // Each by itself: VACUUM runs in no transaction.
        for command in ["VACUUM (ANALYZE) kv", "CHECKPOINT"] {
            client.batch_execute(command).await?;
        }
        Ok(())
    }

    async fn connect(&self) -> anyhow::Result<PostgresSession> {
        let client = connect(self.for_clients, self.traffic[0].clone()).await?;
        Ok(PostgresSession::new(client, self.traffic[0].clone()).await?)
    }

    async fn restart(&mut self) -> anyhow::Result<()> {
        self.processes.iter_mut().try_for_each(ServerProcess::kill)?;
        self.processes.clear();
        self.start_servers().await
    }
}

impl Postgres {
    async fn start_servers(&mut self) -> anyhow::Result<()> {
        self.processes = self.servers.start()?;
        let begun = Instant::now();
        while begun.elapsed() < STARTS_WITHIN {
            self.processes.iter_mut().try_for_each(ServerProcess::is_alive)?;
            if self.standbys_in_step().await.is_ok_and(|count| count == 2) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!("PostgreSQL's standbys do not come into step")
    }

    async fn standbys_in_step(&self) -> anyhow::Result<i64> {
        let client = connect(self.primary, Arc::default()).await?;
        let query = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'quorum'";
        Ok(client.query_one(query, &[]).await?.try_get(0)?)
    }
}

async fn connect(address: SocketAddr, traffic: Arc<Traffic>) -> anyhow::Result<Client> {
    let socket = Counted::connect(address, traffic).await?;
    let mut config = tokio_postgres::Config::new();
    config.user(servers::USER).dbname("postgres");
    let (client, connection) = config.connect_raw(socket, NoTls).await.context("PostgreSQL refuses the connection")?;
    // It ends with its client; how is told to the calls.
    tokio::spawn(async { drop(connection.await) });
    Ok(client)
}
