//! Processes of shards on loopback, and their folders, all gone with it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command};

use iolite_baseline_client::{Cluster, Control, Session, ShardNumber};
use iolite_host::random_id;

pub const CONTROLS: [Control; 2] = [Control::Optimistic, Control::Locking];
const NODES: usize = 3;

#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub shard: ShardNumber,
    pub node: usize,
}

pub struct Bed {
    control: Control,
    folder: PathBuf,
    nodes: Vec<Node>,
    cluster: Cluster,
}

struct Node {
    place: Place,
    peers: SocketAddr,
    clients: SocketAddr,
    process: Option<Child>,
}

impl Bed {
    pub fn start(shards: u32, control: Control) -> Bed {
        let folder = std::env::temp_dir().join(format!("iolite-baselines-{:032x}", random_id()));
        let places =
            (0..shards).flat_map(|shard| (0..NODES).map(move |node| Place { shard: ShardNumber(shard), node }));
        // Held until all are found, so that none comes twice.
        let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let held: Vec<(Place, TcpListener, TcpListener)> = places.map(|place| (place, free(), free())).collect();
        let address = |listener: &TcpListener| listener.local_addr().expect("it listens");
        let node = |(place, peers, clients): &(Place, TcpListener, TcpListener)| Node {
            place: *place,
            peers: address(peers),
            clients: address(clients),
            process: None,
        };
        let nodes: Vec<Node> = held.iter().map(node).collect();
        drop(held);
        let shards = nodes.chunks(NODES).map(|nodes| nodes.iter().map(|node| node.clients).collect()).collect();
        let mut bed = Bed { control, folder, nodes, cluster: Cluster { shards } };
        bed.start_all();
        bed
    }

    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    pub fn session(&self) -> Session {
        Session::new(self.cluster.clone(), self.control)
    }

    pub fn kill(&mut self, Place { shard, node }: Place) {
        let all = self.nodes.iter_mut();
        all.filter(|one| one.place.shard == shard && one.place.node == node).for_each(Node::kill);
    }

    pub fn kill_all(&mut self) {
        self.nodes.iter_mut().for_each(Node::kill);
    }

    pub fn start_all(&mut self) {
        for index in 0..self.nodes.len() {
            let command = self.command(index);
            let node = &mut self.nodes[index];
            if node.process.is_none() {
                node.process = Some({ command }.spawn().expect("the program can be run"));
            }
        }
    }

    fn command(&self, index: usize) -> Command {
        let Node { place: Place { shard, node }, peers, clients, .. } = &self.nodes[index];
        let of_shard = self.nodes.iter().filter(|other| other.place.shard == *shard);
        let members: Vec<String> = of_shard.map(|other| other.peers.to_string()).collect();
        let data = self.folder.join(format!("{}-{node}", shard.0));
        std::fs::create_dir_all(&data).expect("a folder of ours");
        let control = match self.control {
            Control::Optimistic => "occ",
            Control::Locking => "lock",
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_iolite-baseline"));
        command.args(["serve", "--control", control, "--shard", &shard.0.to_string(), "--node", &node.to_string()]);
        command.args(["--clients", &clients.to_string(), "--peers", &peers.to_string()]);
        command.args(["--members", &members.join(",")]).arg("--data").arg(data);
        command
    }
}

impl Node {
    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it is ours");
            process.wait().expect("it ends");
        }
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.kill_all();
        // What is left of it is in a folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
