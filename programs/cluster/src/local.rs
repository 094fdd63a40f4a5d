//! A cluster that was made: its nodes, and their processes.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iolite_host::{NodeName, PidFile};
use iolite_node::NodeRole;
use iolite_node::config::{NodeConfig, RoleConfig};
use rustix::process::{Pid, Signal, kill_process};

use crate::creation::create;
use crate::readiness::is_ready;
use crate::{ClusterError, ClusterShape};

pub(crate) const CLUSTER: &str = "cluster.toml";
pub(crate) const SHAPE: &str = "shape.toml";
pub(crate) const NODE: &str = "node.toml";
pub(crate) const TOKEN: &str = "token";
pub(crate) const AUTHORITY: &str = "authority";
pub(crate) const DATA: &str = "data";
/// The folder of the chunks of blobs.
pub(crate) const BLOBS: &str = "blobs";
const LOG: &str = "log";

/// Of a log, when a process has ended.
const LAST_LINES: usize = 5;

/// How often a process is looked at that one waits for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// All nodes of a folder: replicas first, then gateways.
#[derive(Clone, Debug)]
pub struct LocalCluster {
    folder: PathBuf,
    nodes: Vec<LocalNode>,
}

/// One node, whether it runs or not.
#[derive(Clone, Debug)]
pub struct LocalNode {
    pub role: NodeRole,
    folder: PathBuf,
    pid_file: PathBuf,
    /// Where its probes and metrics are, and, of a gateway, its clients.
    pub address: Option<SocketAddr>,
    /// Whether the cluster needs it: not one that joins a group or has left it, or whose shard is to begin or has ended.
    pub is_needed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    Stopped,
    /// It runs, and does not serve yet.
    Starting {
        pid: u32,
    },
    Ready {
        pid: u32,
    },
}

impl NodeState {
    pub fn pid(self) -> Option<u32> {
        match self {
            NodeState::Stopped => None,
            NodeState::Starting { pid } | NodeState::Ready { pid } => Some(pid),
        }
    }
}

impl LocalCluster {
    /// Makes a cluster in a folder that is missing or empty, and starts nothing.
    ///
    /// # Errors
    /// [`ClusterError`]; the folder is as it was then.
    pub fn create(folder: &Path, shape: &ClusterShape) -> Result<LocalCluster, ClusterError> {
        create(folder, shape)?;
        LocalCluster::open(folder)
    }

    /// # Errors
    /// [`ClusterError::None`], and what can be wrong in its files.
    pub fn open(folder: &Path) -> Result<LocalCluster, ClusterError> {
        if !folder.join(CLUSTER).is_file() {
            return Err(ClusterError::None { folder: folder.to_owned() });
        }
        let failed = |source| ClusterError::Io { path: folder.to_owned(), source };
        let mut nodes = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let role = name.to_str().and_then(|name| NodeRole::of(&NodeName::new(name).ok()?));
            if role.is_none() {
                continue;
            }
            match LocalNode::open(&folder.join(&name)) {
                Ok(node) => nodes.push(node),
                // A command was killed as it made it, or has put it aside just now.
                Err(_) if !LocalNode::is_begun(&folder.join(&name)) => {}
                // The node may have been finished between the two looks. What is wrong with it is wrong at the second one, too.
                Err(_) => nodes.push(LocalNode::open(&folder.join(&name))?),
            }
        }
        nodes.sort_by_key(|node| node.role);
        Ok(LocalCluster { folder: folder.to_owned(), nodes })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Which replicas keep which shard, and where they listen.
    pub fn file(&self) -> PathBuf {
        self.folder.join(CLUSTER)
    }

    /// What it was made with.
    ///
    /// # Errors
    /// [`ClusterError::Damaged`] and [`ClusterError::Io`].
    pub fn shape(&self) -> Result<ClusterShape, ClusterError> {
        let file = self.folder.join(SHAPE);
        toml::from_str(&read(&file)?)
            .map_err(|error: toml::de::Error| ClusterError::Damaged { file, problem: error.message().to_owned() })
    }

    /// With which clients are let in.
    ///
    /// # Errors
    /// [`ClusterError::Io`].
    pub fn token(&self) -> Result<String, ClusterError> {
        Ok(read(&self.folder.join(TOKEN))?.trim().to_owned())
    }

    pub fn nodes(&self) -> &[LocalNode] {
        &self.nodes
    }

    pub fn gateways(&self) -> impl Iterator<Item = &LocalNode> {
        self.nodes.iter().filter(|node| matches!(node.role, NodeRole::Gateway(_)))
    }

    pub fn stores(&self) -> impl Iterator<Item = &LocalNode> {
        self.nodes.iter().filter(|node| matches!(node.role, NodeRole::Store(_)))
    }

    /// Starts every node that does not run, by the program `iolite`, and returns when all are ready. The processes go on when this one ends.
    ///
    /// # Errors
    /// [`ClusterError::Ended`] and [`ClusterError::NotReady`]; what was started goes on.
    pub fn start(&self, program: &Path, within: Duration) -> Result<(), ClusterError> {
        let mut started = Vec::new();
        for node in &self.nodes {
            if node.state()?.pid().is_none() {
                started.push((node, node.start(program)?));
            }
        }
        let begun = Instant::now();
        loop {
            for (node, child) in &mut started {
                node.expect_alive(child)?;
            }
            let waiting = self.unready()?;
            if waiting.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > within {
                let nodes = waiting.join(", ");
                return Err(ClusterError::NotReady { nodes, folder: self.folder.clone(), within });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// The nodes that are not ready, of those that are needed.
    ///
    /// # Errors
    /// As of [`LocalNode::state`].
    pub fn unready(&self) -> Result<Vec<String>, ClusterError> {
        let mut waiting = Vec::new();
        for node in self.nodes.iter().filter(|node| node.is_needed) {
            match node.state()? {
                NodeState::Ready { .. } => {}
                NodeState::Stopped | NodeState::Starting { .. } => waiting.push(node.role.to_string()),
            }
        }
        Ok(waiting)
    }

    /// Ends these nodes in order, gateways first; those that take longer are killed. Returns which those were.
    ///
    /// # Errors
    /// [`ClusterError::Stop`].
    pub fn stop(&self, which: impl Fn(&LocalNode) -> bool, within: Duration) -> Result<Vec<NodeRole>, ClusterError> {
        let mut killed = Vec::new();
        let gateways: Vec<&LocalNode> = self.gateways().filter(|node| which(node)).collect();
        let stores: Vec<&LocalNode> = self.stores().filter(|node| which(node)).collect();
        for nodes in [gateways, stores] {
            for node in &nodes {
                node.signal(Signal::TERM)?;
            }
            let begun = Instant::now();
            for node in nodes {
                while node.pid()?.is_some() && begun.elapsed() < within {
                    std::thread::sleep(LOOK_EVERY);
                }
                if node.signal(Signal::KILL)? {
                    killed.push(node.role);
                    node.wait_for_end()?;
                }
            }
        }
        Ok(killed)
    }
}

impl LocalNode {
    /// Whether its folder has all that it is started with.
    pub(crate) fn is_made(folder: &Path) -> bool {
        folder.join(NODE).is_file() && folder.join(DATA).join("replica.toml").is_file()
    }

    /// Whether it has its file, or data without one. The same command makes whole what has less.
    fn is_begun(folder: &Path) -> bool {
        folder.join(NODE).is_file() || folder.join(DATA).is_dir()
    }

    pub(crate) fn open(folder: &Path) -> Result<LocalNode, ClusterError> {
        let config = NodeConfig::read(&folder.join(NODE))?;
        let (address, is_needed) = match &config.role {
            RoleConfig::Store(store) => {
                let mut served = config.directory.cluster().shards.groups();
                (store.observe, served.any(|group| group.contains(store.id)))
            }
            RoleConfig::Gateway(gateway) => (Some(gateway.listen), true),
        };
        let file = folder.join(NODE);
        let no_pid_file = || ClusterError::Damaged { file, problem: "`pid_file` is missing".into() };
        let pid_file = config.pid_file.clone().ok_or_else(no_pid_file)?;
        Ok(LocalNode { role: config.node(), folder: folder.to_owned(), pid_file, address, is_needed })
    }

    /// What is of this node alone.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file that `iolite serve` is given.
    pub fn config(&self) -> PathBuf {
        self.folder.join(NODE)
    }

    /// What its processes say.
    pub fn log(&self) -> PathBuf {
        self.folder.join(LOG)
    }

    /// Where a replica's data are.
    pub fn data(&self) -> PathBuf {
        self.folder.join(DATA)
    }

    /// The process that runs it.
    ///
    /// # Errors
    /// [`ClusterError::Io`], about the pid file.
    pub fn pid(&self) -> Result<Option<u32>, ClusterError> {
        PidFile::holder(&self.pid_file).map_err(|source| ClusterError::Io { path: self.pid_file.clone(), source })
    }

    /// # Errors
    /// As of [`LocalNode::pid`].
    pub fn state(&self) -> Result<NodeState, ClusterError> {
        let Some(pid) = self.pid()? else { return Ok(NodeState::Stopped) };
        let is_ready = self.address.is_none_or(is_ready);
        Ok(if is_ready { NodeState::Ready { pid } } else { NodeState::Starting { pid } })
    }

    /// Starts its process, by the program `iolite`, in a group of its own, so that an interrupt from the keyboard does not reach it. The child
    /// is to be waited for by whoever lives longer than it.
    ///
    /// # Errors
    /// [`ClusterError::Io`].
    pub fn start(&self, program: &Path) -> Result<Child, ClusterError> {
        let mut command = Command::new(program);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        self.start_by(command)
    }

    /// The same by a command to which the arguments of `iolite` are added.
    ///
    /// # Errors
    /// [`ClusterError::Io`].
    pub fn start_by(&self, mut command: Command) -> Result<Child, ClusterError> {
        let log = self.log();
        let opened = File::options().create(true).append(true).open(&log);
        let opened = opened.and_then(|log| Ok((log.try_clone()?, log)));
        let (output, errors) = opened.map_err(|source| ClusterError::Io { path: log, source })?;
        command.args(["serve", "--config"]).arg(self.config());
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let program = PathBuf::from(command.get_program());
        command.spawn().map_err(|source| ClusterError::Io { path: program, source })
    }

    pub(crate) fn expect_alive(&self, child: &mut Child) -> Result<(), ClusterError> {
        match child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(_)) | Err(_) => Err(self.ended()),
        }
    }

    /// The same of a process that others have started.
    pub(crate) fn expect_running(&self) -> Result<(), ClusterError> {
        if self.pid()?.is_some() { Ok(()) } else { Err(self.ended()) }
    }

    fn ended(&self) -> ClusterError {
        ClusterError::Ended { node: self.role.to_string(), log: self.log(), last_words: self.last_words() }
    }

    /// The end of its log.
    pub fn last_words(&self) -> String {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }

    /// Whether there was a process to send it to.
    ///
    /// # Errors
    /// [`ClusterError::Stop`].
    pub fn signal(&self, signal: Signal) -> Result<bool, ClusterError> {
        let Some(pid) = self.pid()? else { return Ok(false) };
        let failed = |source| ClusterError::Stop { node: self.role.to_string(), pid, source };
        let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
        match kill_process(process, signal) {
            Ok(()) => Ok(true),
            // It has ended since.
            Err(rustix::io::Errno::SRCH) => Ok(false),
            Err(error) => Err(failed(io::Error::from(error))),
        }
    }

    /// Waits until no process runs it; for one that was killed.
    ///
    /// # Errors
    /// As of [`LocalNode::pid`].
    pub fn wait_for_end(&self) -> Result<(), ClusterError> {
        while self.pid()?.is_some() {
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

fn read(file: &Path) -> Result<String, ClusterError> {
    std::fs::read_to_string(file).map_err(|source| ClusterError::Io { path: file.to_owned(), source })
}
