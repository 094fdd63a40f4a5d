//! The server that a run is against: one that it starts, and kills and restarts before the end is checked; or one that runs already.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use iolite_host::DelayProxy;
use tokio::runtime::Runtime;

use crate::accounting::Pid;
use crate::arguments::{Arguments, Durability};
use crate::child::Address;
use crate::cluster::{ClusterDirectory, program_beside};
use crate::metrics;

/// The server, and the link to it.
pub struct Server {
    kind: Kind,
    address: SocketAddr,
    token: String,
    delay: Duration,
    /// Carries the delay proxy.
    runtime: Runtime,
    proxy: Option<DelayProxy>,
}

enum Kind {
    Running,
    Started(Started),
}

/// A server process with a data directory of its own, where that of its class is, which is removed with it.
struct Started {
    child: Child,
    data: ClusterDirectory,
    durability: Durability,
}

impl Server {
    pub fn of(arguments: &Arguments) -> anyhow::Result<Server> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (kind, address, token) = match &arguments.target {
            Some(url) => {
                let address = metrics::resolve(url)?;
                (Kind::Running, address, token_of(address)?)
            }
            None => {
                let (started, address) = Started::new(arguments.durability)?;
                (Kind::Started(started), address, token_of(address)?)
            }
        };
        let delay = Duration::from_millis(u64::from(arguments.delay_ms()));
        let mut server = Server { kind, address, token, delay, runtime, proxy: None };
        server.link()?;
        Ok(server)
    }

    /// Where clients connect to: the server, or the delay before it.
    pub fn clients_address(&self) -> Address {
        let address = self.clients_socket();
        Address { url: format!("ws://{address}/sync"), token: self.token.clone() }
    }

    /// Where those connect to who are next to it.
    pub fn near_address(&self) -> Address {
        Address { url: format!("ws://{}/sync", self.address), token: self.token.clone() }
    }

    /// The same as a socket's address.
    pub fn clients_socket(&self) -> SocketAddr {
        self.proxy.as_ref().map_or(self.address, DelayProxy::address)
    }

    /// The same, without a delay.
    pub fn near_socket(&self) -> SocketAddr {
        self.address
    }

    /// Of a server that this run has started.
    pub fn pid(&self) -> Option<Pid> {
        match &self.kind {
            Kind::Running => None,
            Kind::Started(started) => Some(Pid::of(&started.child)),
        }
    }

    pub fn metrics(&self) -> anyhow::Result<String> {
        metrics::get(self.address, "/metrics").context("the server's metrics cannot be read")
    }

    /// Kills a server that this run started, and starts it on the same data. One that ran already goes on.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        if let Kind::Started(started) = &mut self.kind {
            self.address = started.restart()?;
            self.link()?;
        }
        Ok(())
    }

    fn link(&mut self) -> anyhow::Result<()> {
        if !self.delay.is_zero() {
            self.proxy = Some(self.runtime.block_on(DelayProxy::start(self.address, self.delay / 2))?);
        }
        Ok(())
    }
}

const NO_TOKEN: &str = "the server tells no token: a gateway does with `tells_token = true` in its file";

fn token_of(address: SocketAddr) -> anyhow::Result<String> {
    let own: serde_json::Value = serde_json::from_str(&metrics::get(address, "/iolite.json").context(NO_TOKEN)?)?;
    Ok(own["token"].as_str().context(NO_TOKEN)?.to_owned())
}

impl Started {
    fn new(durability: Durability) -> anyhow::Result<(Started, SocketAddr)> {
        let data = ClusterDirectory::new(durability)?;
        let (child, address) = start(data.path(), durability)?;
        Ok((Started { child, data, durability }, address))
    }

    fn restart(&mut self) -> anyhow::Result<SocketAddr> {
        self.child.kill()?;
        self.child.wait()?;
        let (child, address) = start(self.data.path(), self.durability)?;
        self.child = child;
        Ok(address)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended by itself, which was reported then. Its data is removed behind it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server on a free port, and waits until it says which.
fn start(data: &std::path::Path, durability: Durability) -> anyhow::Result<(Child, SocketAddr)> {
    let mut command = Command::new(program_beside("iolite")?);
    command.args(["dev", "--port", "0", "--durability", &durability.name()]).arg("--data").arg(data);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().expect("its output is a pipe");
    let mut lines = BufReader::new(output).lines();
    let Some(first) = lines.next().transpose()? else {
        bail!("the server did not start: {}", child.wait()?);
    };
    // It goes on printing, to nobody.
    std::thread::spawn(move || lines.for_each(drop));
    let url = first.split_whitespace().last().unwrap_or_default();
    Ok((child, metrics::resolve(url)?))
}
