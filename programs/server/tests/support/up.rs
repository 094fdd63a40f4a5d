//! A cluster of `iolite cluster up`, and the commands that change it.

use std::path::Path;
use std::process::Command;

use iolite_cluster::{LocalCluster, LocalNode};

use super::folder::{Folder, PROGRAM};

/// A cluster of `iolite cluster up`, all of which is killed when it is dropped.
pub struct Up {
    folder: Folder,
}

impl Up {
    pub fn start(name: &str, arguments: &[&str]) -> Up {
        let up = Up { folder: Folder::new(name) };
        up.run(&[&["up", "--port", "0"], arguments].concat());
        up
    }

    pub fn path(&self) -> &Path {
        &self.folder.0
    }

    pub fn cluster(&self) -> LocalCluster {
        LocalCluster::open(self.path()).expect("it was made")
    }

    pub fn node(&self, name: &str) -> LocalNode {
        let cluster = self.cluster();
        let mut nodes = cluster.nodes().iter();
        nodes.find(|node| node.role.to_string() == name).expect("the cluster has such a node").clone()
    }

    pub fn names(&self) -> Vec<String> {
        self.cluster().stores().map(|node| node.role.to_string()).collect()
    }

    /// `iolite cluster` with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("cluster").args(arguments).arg("--data").arg(self.path());
        command
    }

    /// The same, whatever becomes of it: what it printed, and what it said of errors.
    pub fn try_to(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.command(arguments).output().expect("the program can be run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    pub fn run(&self, arguments: &[&str]) -> String {
        self.try_to(arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
    }

    pub fn kill(&self, node: &LocalNode) {
        node.signal(iolite_cluster::Signal::KILL).expect("it can be killed");
        node.wait_for_end().expect("it was killed");
    }

    pub fn kill_all(&self) {
        self.cluster().nodes().iter().for_each(|node| self.kill(node));
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        if let Ok(cluster) = LocalCluster::open(self.path()) {
            for node in cluster.nodes() {
                let _ = node.signal(iolite_cluster::Signal::KILL);
            }
        }
    }
}
