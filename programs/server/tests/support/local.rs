//! A cluster of processes, all killed when it is dropped.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use iolite_cluster::{ClusterShape, LocalCluster, LocalNode, NodeState, Ports};

pub use super::folder::{Folder, PATIENCE, PROGRAM};

/// Processes of which each is one node.
pub struct Local {
    pub cluster: LocalCluster,
    /// By the places of nodes.
    children: Vec<Option<Child>>,
}

impl Local {
    pub fn start(folder: &Path, shards: u32, replicas: u64, gateways: u16) -> Local {
        let shape = ClusterShape { shards, replicas, gateways, ports: Ports::Free, ..ClusterShape::default() };
        Local::of(folder, &shape)
    }

    pub fn of(folder: &Path, shape: &ClusterShape) -> Local {
        Local::made(LocalCluster::create(folder, shape).expect("the folder is new"))
    }

    /// One that was made, whose nodes are started.
    pub fn made(cluster: LocalCluster) -> Local {
        let children = cluster.nodes().iter().map(|_| None).collect();
        let mut local = Local { cluster, children };
        local.start_all();
        local
    }

    pub fn node(&self, name: &str) -> &LocalNode {
        &self.cluster.nodes()[self.index(name)]
    }

    /// What a node tells of itself for Prometheus.
    pub fn metrics(&self, name: &str) -> String {
        self.get(name, "/metrics")
    }

    /// A node's whole answer to a request that says it is for this machine.
    pub fn get(&self, name: &str, path: &str) -> String {
        let address = self.node(name).address.expect("nodes of a local cluster are observed");
        let mut socket = TcpStream::connect(address).expect("it listens");
        write!(socket, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("it answers");
        answer
    }

    /// One number of them; zero where it is not told.
    pub fn metric(&self, node: &str, name: &str) -> u64 {
        let metrics = self.metrics(node);
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0, |value| value.trim().parse().expect("a number"))
    }

    /// Of the first gateway, or another.
    pub fn sync_url(&self, gateway: usize) -> String {
        let address = self.cluster.gateways().nth(gateway).and_then(|gateway| gateway.address);
        format!("ws://{}/sync", address.expect("gateways have addresses"))
    }

    pub fn token(&self) -> String {
        self.cluster.token().expect("it was made")
    }

    /// Starts what does not run, and waits until all is ready.
    pub fn start_all(&mut self) {
        for (node, child) in self.cluster.nodes().iter().zip(&mut self.children) {
            if child.is_none() {
                *child = Some(node.start_by(Command::new(PROGRAM)).expect("the program can be run"));
            }
        }
        let begun = Instant::now();
        for (node, child) in self.cluster.nodes().iter().zip(&mut self.children) {
            while !matches!(node.state().expect("it can be asked"), NodeState::Ready { .. }) {
                assert!(begun.elapsed() < PATIENCE, "{} does not get ready", node.role);
                let ended = child.as_mut().expect("it was started").try_wait().expect("it can be asked");
                let log = || std::fs::read_to_string(node.log()).unwrap_or_default();
                assert!(ended.is_none(), "{} has ended: {}", node.role, log());
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// Starts one that does not run by this command, which is to become the program, and waits until all is ready.
    pub fn start_one_by(&mut self, name: &str, command: Command) {
        let index = self.index(name);
        let child = self.cluster.nodes()[index].start_by(command).expect("it can be run");
        assert!(self.children[index].replace(child).is_none(), "it runs already");
        self.start_all();
    }

    /// SIGKILL to each of these; to all where none is named.
    pub fn kill(&mut self, names: &[&str]) {
        for (node, child) in self.cluster.nodes().iter().zip(&mut self.children) {
            if names.is_empty() || names.contains(&node.role.to_string().as_str()) {
                let mut child = child.take().expect("it runs");
                child.kill().expect("it can be killed");
                child.wait().expect("it was killed");
            }
        }
    }

    /// How one ended by itself.
    pub fn wait_for_end(&mut self, name: &str) -> ExitStatus {
        let index = self.index(name);
        self.children[index].take().expect("it runs").wait().expect("it ends")
    }

    fn index(&self, name: &str) -> usize {
        self.cluster.nodes().iter().position(|node| node.role.to_string() == name).expect("the cluster has such a node")
    }

    /// SIGTERM to one; it has to end well.
    pub fn terminate(&mut self, name: &str) {
        self.signal(name, "TERM");
        let index = self.index(name);
        let mut child = self.children[index].take().expect("it runs");
        assert!(child.wait().expect("it ends").success());
    }

    /// A signal to one, such as `STOP`.
    pub fn signal(&mut self, name: &str, signal: &str) {
        let index = self.index(name);
        let child = self.children[index].as_ref().expect("it runs");
        let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(sent.expect("there is a kill command").success());
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        for child in self.children.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What the program says when it fails with these arguments.
pub fn fails(arguments: &[&str]) -> String {
    let output = Command::new(PROGRAM).args(arguments).output().expect("the program can be run");
    assert!(!output.status.success(), "it did not fail");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What the program says when it succeeds.
pub fn succeeds(arguments: &[&str]) -> String {
    let output = Command::new(PROGRAM).args(arguments).output().expect("the program can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
