//! Hocuspocus, the server of Yjs, and clients with its own provider: Node processes, each as one of Iolite's.
//!
//! In class memory it has no persistence extension. In class fsync each update is written and synced before the server takes it
//! (`benchmarks/hocuspocus/src/server.js`); its own extensions store a document a while after it has changed, and promise less.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use iolite_host::DelayProxy;
use serde::Deserialize;
use tokio::runtime::Runtime;

use crate::accounting::Pid;
use crate::arguments::{Durability, Role, name_of};
use crate::child::ClientProcess;
use crate::cluster::{ClusterDirectory, program};
use crate::part::PartProcess;
use crate::talk::{FromClient, State};

pub struct Hocuspocus {
    // The server ends before its folder is removed.
    server: PartProcess,
    node: PathBuf,
    url: String,
    version: String,
    durability: Durability,
    /// Carries the delay proxy.
    _runtime: Runtime,
    _proxy: Option<DelayProxy>,
    _directory: ClusterDirectory,
}

#[derive(Deserialize)]
struct Listening {
    port: u16,
}

#[derive(Deserialize)]
struct Package {
    version: String,
}

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/hocuspocus");
const INSTALLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../node_modules/@hocuspocus/server/package.json");

impl Hocuspocus {
    pub fn start(durability: Durability, delay: Duration) -> anyhow::Result<Hocuspocus> {
        let installed = std::fs::read_to_string(INSTALLED).context("Hocuspocus is not installed: run `make setup`")?;
        let Package { version } = serde_json::from_str(&installed)?;
        let node = program("node")?;
        let directory = ClusterDirectory::new(durability)?;
        let mut command = Command::new(&node);
        command.arg(script("server.js")).arg(durability.name()).arg(directory.path());
        let mut server = PartProcess::start_by(command)?;
        let Listening { port } = server.hear().context("Hocuspocus does not start")?;
        let mut address = ([127, 0, 0, 1], port).into();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let mut proxy = None;
        if !delay.is_zero() {
            let started = runtime.block_on(DelayProxy::start(address, delay / 2))?;
            address = started.address();
            proxy = Some(started);
        }
        let (url, _runtime, _proxy, _directory) = (format!("ws://{address}"), runtime, proxy, directory);
        Ok(Hocuspocus { server, node, url, version, durability, _runtime, _proxy, _directory })
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn setting(&self) -> &'static str {
        match self.durability {
            Durability::Fsync => "each update written and synced by an extension of ours before the server takes it",
            Durability::Memory => "no persistence extension",
        }
    }

    pub fn pid(&self) -> Pid {
        self.server.pid()
    }

    /// A client's process, with so many sessions of one document.
    pub fn client(&self, role: Role, sessions: u32) -> anyhow::Result<ClientProcess> {
        let mut command = Command::new(&self.node);
        command.arg(script("client.js")).args([&name_of(&role), &self.url, &sessions.to_string()]);
        Ok(ClientProcess::of(PartProcess::start_by(command)?))
    }

    /// A member of the sheet of `views`.
    pub fn sheet(&self, name: &str) -> anyhow::Result<PartProcess> {
        let mut command = Command::new(&self.node);
        command.arg(script("sheet-client.js")).args([&self.url, name]);
        PartProcess::start_by(command)
    }

    /// What a fresh session finds.
    pub fn read_state(&self) -> anyhow::Result<State> {
        match self.client(Role::Verify, 1)?.hear()? {
            FromClient::State(state) => Ok(state),
            other => bail!("a client said {other:?} instead of what it read"),
        }
    }
}

fn script(name: &str) -> PathBuf {
    Path::new(FOLDER).join("src").join(name)
}
