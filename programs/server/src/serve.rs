//! `iolite serve`: one node of a cluster, or a gateway in front of a database, as a process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use iolite_host::{Clock, PidFile, Shutdown, allow_all_open_files, stop_on_signals};
use iolite_node::config::{Faults, GatewayConfig, NodeConfig, PostgresGatewayConfig, RoleConfig, Served};
use iolite_node::{
    GatewayServer, GatewaySettings, NodeRole, PostgresGateway, ServerSettings, Start, StoreServer, StoreSettings,
};
use tokio::runtime::{Builder, Runtime};

use crate::logs;

#[derive(Args)]
pub struct Arguments {
    /// The file about this node
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// This replica has never run: make its data directory. A replica that lost its disk must not come back like this
    #[arg(long)]
    first: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    allow_all_open_files();
    logs::to_stderr();
    let config = Served::read(&arguments.config)?;
    let _running = config.pid_file().map(PidFile::take).transpose()?;
    let runtime = runtime(&config)?;
    match config {
        Served::Node(config) => as_task(&runtime, serve(*config, arguments.first)),
        Served::PostgresGateway(_) if arguments.first => bail!(NO_FIRST_GATEWAY),
        Served::PostgresGateway(config) => as_task(&runtime, serve_postgres(*config)),
    }
}

/// Runs a program as a task beside those of its links and sessions. What they hand each other wakes the other on the same thread then; what is no task is
/// woken through the operating system, at every message.
pub fn as_task<T: Send + 'static>(runtime: &Runtime, work: impl Future<Output = T> + Send + 'static) -> T {
    match runtime.block_on(runtime.spawn(work)) {
        Ok(ended) => ended,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// A node's links, its sessions and its machine share one thread: each message is little work, and handing it from one thread to another costs more than the
/// work (docs/decisions/0020). What has to be synced has a thread of its own. A gateway in front of a database runs its connections beside each other.
fn runtime(config: &Served) -> std::io::Result<Runtime> {
    let mut builder = match config {
        Served::Node(_) => Builder::new_current_thread(),
        Served::PostgresGateway(_) => Builder::new_multi_thread(),
    };
    builder.enable_all().build()
}

const NO_FIRST_GATEWAY: &str = "a gateway keeps no data: leave --first out";

async fn serve(config: NodeConfig, is_first: bool) -> anyhow::Result<()> {
    let name = config.node();
    let NodeConfig { directory, security, delay, pid_file: _, faults, role } = config;
    let clock = clock(&faults)?;
    let shutdown = Shutdown::new();
    stop_on_signals(shutdown.clone()).context("cannot listen for signals")?;
    match role {
        RoleConfig::Store(store) => {
            let start = if is_first { Start::First } else { Start::Again };
            let checkpoint_bytes_min = ServerSettings::new("").checkpoint_bytes_min;
            let (listen, data) = (store.listen.join(" and "), store.data.clone());
            let settings =
                StoreSettings { directory, store, security, delay, start, faults, clock, checkpoint_bytes_min };
            let server = StoreServer::open(settings, shutdown).await?;
            tell(&format!("{name} listens on {listen}, and has its data in {}\n", data.display()));
            server.run().await?;
        }
        RoleConfig::Gateway(_) if is_first => bail!(NO_FIRST_GATEWAY),
        RoleConfig::Gateway(gateway) => {
            let (token, issuer) = (gateway.token.clone(), issuer_of(&gateway));
            let settings = GatewaySettings { directory, gateway: *gateway, security, delay, clock, faults };
            let server = GatewayServer::open(settings, shutdown).await?;
            tell_gateway(name, server.address(), &token, issuer.as_deref());
            server.run().await?;
        }
    }
    Ok(())
}

async fn serve_postgres(config: PostgresGatewayConfig) -> anyhow::Result<()> {
    let (name, token) = (NodeRole::Gateway(config.gateway.id), config.gateway.token.clone());
    let issuer = issuer_of(&config.gateway);
    let shutdown = Shutdown::new();
    stop_on_signals(shutdown.clone()).context("cannot listen for signals")?;
    let server = PostgresGateway::open(config, shutdown).await?;
    tell_gateway(name, server.address(), &token, issuer.as_deref());
    server.run().await?;
    Ok(())
}

/// The issuer that signs users in, if they have tokens of their own.
fn issuer_of(gateway: &GatewayConfig) -> Option<String> {
    gateway.tokens.as_ref().map(|tokens| tokens.settings.issuer.clone())
}

fn tell_gateway(name: NodeRole, address: SocketAddr, token: &Path, issuer: Option<&str>) {
    let (token, begin) =
        (token.display(), format!("{name} is at http://{address}/\nClients connect to ws://{address}/sync"));
    tell(&match issuer {
        None => format!("{begin} with the token in {token}\n"),
        Some(issuer) => format!("{begin} with tokens of {issuer:?}\nThe operator's token is in {token}\n"),
    });
}

/// How often the file of a clock that is wrong on purpose is read.
const SHIFT_READ_EVERY: Duration = Duration::from_millis(50);

fn clock(faults: &Faults) -> anyhow::Result<Clock> {
    let Some(file) = faults.clock_shift_file.clone() else { return Ok(Clock::start()) };
    let shift: &'static AtomicI64 = Box::leak(Box::default());
    let read = move || {
        // Whoever writes it may be in the middle.
        if let Some(micros) = std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok()) {
            shift.store(micros, Ordering::Relaxed);
        }
    };
    read();
    std::thread::Builder::new().name("clock shift".into()).spawn(move || {
        loop {
            std::thread::sleep(SHIFT_READ_EVERY);
            read();
        }
    })?;
    Ok(Clock::shifted(shift))
}

fn tell(text: &str) {
    // Whoever started it may not listen: it serves all the same.
    let _ = iolite_host::print(text);
}
