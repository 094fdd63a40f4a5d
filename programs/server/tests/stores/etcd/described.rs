//! A cluster of processes, described in etcd: made by `iolite cluster`'s library, and told to look there.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iolite_cluster::{ClusterShape, LocalCluster, LocalNode, Ports, Signal, free_ports};
use iolite_node::config::ClusterFile;

use crate::support::folder::PATIENCE;
use crate::support::folder::{Folder, PROGRAM};

pub struct Described {
    folder: Folder,
    cluster: LocalCluster,
    /// Replicas that came later.
    later: Vec<(LocalNode, Child)>,
}

impl Described {
    /// A cluster of one shard of three replicas and a gateway, which run, and find their description in etcd where it was a file before.
    pub fn start(name: &str, etcd: &str) -> Described {
        let folder = Folder::new(name);
        let shape = ClusterShape { ports: Ports::Free, plain: true, ..ClusterShape::default() };
        let cluster = LocalCluster::create(&folder.0, &shape).expect("it can be made");
        let described = Described { folder, cluster, later: Vec::new() };
        described.cluster.start(Path::new(PROGRAM), PATIENCE).expect("it starts");
        std::fs::copy(described.cluster.file(), described.path("first.toml")).expect("it was made");
        let file = format!("[etcd]\nendpoints = [\"{etcd}\"]\nkey = \"/iolite/test\"\n");
        std::fs::write(described.cluster.file(), file).expect("its own");
        described.shard(&["write", "--from", described.path("first.toml").to_str().expect("our own")]).expect("new");
        described
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.0.join(name)
    }

    pub fn cluster(&self) -> &LocalCluster {
        &self.cluster
    }

    pub fn node(&self, name: &str) -> &LocalNode {
        let mut nodes = self.cluster.nodes().iter().chain(self.later.iter().map(|(node, _)| node));
        nodes.find(|node| node.role.to_string() == name).expect("the cluster has it")
    }

    pub fn kill(&self, name: &str) {
        let node = self.node(name);
        node.signal(Signal::KILL).expect("it can be killed");
        node.wait_for_end().expect("it was killed");
    }

    /// `iolite shard` with these arguments: what it printed, or said of errors.
    pub fn shard(&self, arguments: &[&str]) -> Result<String, String> {
        said(self.shard_command(arguments))
    }

    /// `iolite cluster` likewise.
    pub fn cluster_command(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(PROGRAM);
        command.arg("cluster").args(arguments).arg("--data").arg(&self.folder.0);
        said(command)
    }

    pub fn shard_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("shard").args(arguments).arg("--cluster").arg(self.cluster.file());
        command
    }

    /// What etcd has: its first line, and the rest.
    pub fn describe(&self) -> (String, ClusterFile) {
        let text = self.shard(&["describe"]).expect("it is there");
        let (head, _) = text.split_once('\n').expect("it has lines");
        let file = self.path("described.toml");
        std::fs::write(&file, &text).expect("its own");
        (head.to_owned(), ClusterFile::read(&file).expect("it is a description"))
    }

    /// Writes it, as an operator does by hand.
    pub fn write(&self, head: &str, file: &ClusterFile) -> Result<String, String> {
        let from = self.path("next.toml");
        std::fs::write(&from, format!("{head}\n{}", file.to_toml())).expect("its own");
        self.shard(&["write", "--from", from.to_str().expect("our own")])
    }

    /// A replica that was not there, which the description knows: like store-0.
    pub fn start_replica(&mut self, number: u64) {
        let folder = self.path(&format!("store-{number}"));
        std::fs::create_dir_all(&folder).expect("its own");
        let port = free_ports(&["127.0.0.1".parse().expect("an address")], 1).expect("one is free")[0];
        let text = format!(
            "cluster = \"../cluster.toml\"\nplain = true\npid_file = \"pid\"\n[store]\nnumber = {number}\ndata = \"data\"\nobserve = \"127.0.0.1:{port}\"\n"
        );
        std::fs::write(folder.join("node.toml"), text).expect("its own");
        let cluster = LocalCluster::open(&self.folder.0).expect("it is there");
        let node = cluster.stores().find(|node| node.role.to_string() == format!("store-{number}"));
        let node = node.expect("it was made").clone();
        let log = std::fs::File::create(node.log()).expect("its own");
        let mut command = Command::new(PROGRAM);
        command.arg("serve").arg("--first").arg("--config").arg(node.config());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("it can be run");
        self.later.push((node.clone(), child));
        let begun = Instant::now();
        while node.pid().expect("its own").is_none() {
            assert!(begun.elapsed() < PATIENCE, "{}", node.last_words());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn said(mut command: Command) -> Result<String, String> {
    let output = command.output().expect("the program can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

impl Drop for Described {
    fn drop(&mut self) {
        for node in self.cluster.nodes().iter().chain(self.later.iter().map(|(node, _)| node)) {
            let _ = node.signal(Signal::KILL);
        }
        for (_, child) in &mut self.later {
            let _ = child.wait();
        }
    }
}
