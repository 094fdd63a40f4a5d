//! One node: its log, its links to peers and clients, and its machine, which one task drives.
//!
//! Invariant: what the machine proposes reaches the log in that order.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::ValueEnum;
use iolite_baseline_client::{Control, FRAME_BYTES_MAX, OfServer, Request, ShardNumber, node_name};
use iolite_host::{
    Clock, LinkEvent, LinkHandler, LinkNumber, LinkPeer, LinkSecurity, LinkSettings, Links, Mailbox, Metrics,
    Performer, Shutdown, Stop, allow_all_open_files, bind, drive, mailbox, stop_on_signals,
};
use openraft::async_runtime::watch::WatchReceiver;
use openraft::{Config, ReadPolicy, ServerState, SnapshotPolicy};
use prost::Message;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::raft::{Applying, Log, PeerHandler, Peers, Proposal, Raft, serve_peers};
use crate::shard::{Input, Leads, Output, Shard, Ticket};

#[derive(clap::Args, Debug)]
pub struct Arguments {
    /// How transactions are kept apart
    #[arg(long)]
    control: ControlName,
    /// Which shard this node is of
    #[arg(long, default_value_t = 0)]
    shard: u32,
    /// The number of this node in its shard, from 0
    #[arg(long)]
    node: u64,
    /// Where it listens to clients
    #[arg(long, value_name = "ADDRESS")]
    clients: SocketAddr,
    /// Where it listens to the other nodes
    #[arg(long, value_name = "ADDRESS")]
    peers: SocketAddr,
    /// The way to every node of the shard, in their order, itself included
    #[arg(long, value_name = "ADDRESS,...", value_delimiter = ',', required = true)]
    members: Vec<SocketAddr>,
    /// The folder of its log
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,
    #[arg(long, default_value = "fsync")]
    durability: Durability,
    /// How long a message to another node and its answer take, about
    #[arg(long, default_value_t = 0, value_name = "MILLISECONDS")]
    round_trip_ms: u64,
    /// The most entries of the log that go to the disk, and to another node, in one piece
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    entries_at_once: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ControlName {
    /// Optimistic: OCC-Store
    Occ,
    /// Two-phase locking: Lock-Store
    Lock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Durability {
    /// An entry counts once a majority has synced it
    Fsync,
    /// An entry counts once a majority has written it: a crash of machines may lose it
    Memory,
}

/// What links to clients are made with.
#[derive(Clone, Copy, Debug)]
struct ClientHandler;

/// Carries out what the machine asks for.
struct Hands {
    clients: Links<ClientHandler>,
    proposals: UnboundedSender<Proposal>,
    confirmations: UnboundedSender<Ticket>,
}

const INBOX_BYTES_MAX: usize = 64 << 20;
/// As etcd's, which is measured beside it: of a heartbeat, and ten of them without one begin an election.
const HEARTBEAT_MS_MIN: u64 = 100;
const ELECTION_HEARTBEATS: u64 = 10;
/// Confirmations that are asked for together.
const TOGETHER: usize = 256;

impl LinkHandler for ClientHandler {
    type Codec = OfServer;
    type Input = Input;

    fn codec(&self, _: &LinkPeer) -> OfServer {
        OfServer
    }

    fn input(&self, link: LinkNumber, event: LinkEvent<Request>) -> Option<Input> {
        Some(Input::Client(link, event))
    }

    fn frame_bytes_max(&self) -> usize {
        FRAME_BYTES_MAX
    }
}

impl Performer<Shard> for Hands {
    fn perform(&mut self, output: Output) {
        // The tasks behind the channels end with the node.
        match output {
            Output::Reply(link, reply) => self.clients.send(link, &reply),
            Output::Propose(command) => drop(self.proposals.send(Proposal(command.encode_to_vec().into()))),
            Output::Confirm(ticket) => drop(self.confirmations.send(ticket)),
        }
    }

    fn settled(&mut self, _: &Shard) {}
}

/// Serves until it is told to stop.
///
/// # Errors
/// When its log or its addresses cannot be used.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    allow_all_open_files();
    let filter = tracing_subscriber::filter::LevelFilter::ERROR;
    tracing_subscriber::fmt().with_max_level(filter).with_writer(std::io::stderr).init();
    // Of one thread, beside the journal's: nodes of the paper have one core.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(arguments))
}

async fn serve(arguments: &Arguments) -> anyhow::Result<()> {
    let shutdown = Shutdown::new();
    stop_on_signals(shutdown.clone())?;
    let (machine, mut inbox) = mailbox(INBOX_BYTES_MAX);
    let raft = join(arguments, machine.clone(), shutdown.listen()).await?;
    let clients =
        Links::new(ClientHandler, machine.clone(), settings(arguments), &Metrics::default(), shutdown.listen())?;
    tokio::spawn(clients.listen(bind(arguments.clients).await?)?);
    let (proposals, to_propose) = unbounded_channel();
    let (confirmations, to_confirm) = unbounded_channel();
    tokio::spawn(propose(raft.clone(), to_propose));
    tokio::spawn(confirm(raft.clone(), to_confirm, machine.clone()));
    tokio::spawn(watch_leadership(raft.clone(), machine));
    let mut shard = Shard::new(arguments.node, arguments.control.into());
    let mut hands = Hands { clients, proposals, confirmations };
    drive(&mut shard, Clock::start(), &mut inbox, shutdown.listen(), &mut hands).await;
    raft.shutdown().await.context("the log did not end")
}

/// Opens the log and joins the other nodes.
async fn join(arguments: &Arguments, machine: Mailbox<Input>, stop: Stop) -> anyhow::Result<Raft> {
    let shard = ShardNumber(arguments.shard);
    let log = Log::open(&arguments.data, arguments.durability.into())?;
    let (mailbox, inbox) = mailbox(INBOX_BYTES_MAX);
    let links = Links::new(PeerHandler, mailbox, settings(arguments), &Metrics::default(), stop)?;
    tokio::spawn(links.listen(bind(arguments.peers).await?)?);
    let own = usize::try_from(arguments.node)?;
    for (number, address) in arguments.members.iter().enumerate().skip(own + 1) {
        // One link between two nodes: the one with the smaller number dials.
        links.dial(&node_name(shard, number), address.to_string());
    }
    let peers = Peers::new(shard, links);
    let raft =
        Raft::new(arguments.node, Arc::new(config(arguments)?), peers.clone(), log, Applying::to(machine)).await?;
    tokio::spawn(serve_peers(peers, raft.clone(), inbox));
    if own == 0 && !raft.is_initialized().await? {
        let members: BTreeSet<u64> = (0..).take(arguments.members.len()).collect();
        raft.initialize(members).await?;
    }
    Ok(raft)
}

fn settings(arguments: &Arguments) -> LinkSettings {
    let name = node_name(ShardNumber(arguments.shard), usize::try_from(arguments.node).unwrap_or(usize::MAX));
    LinkSettings::new(name, LinkSecurity::PlainOnLoopback)
}

fn config(arguments: &Arguments) -> anyhow::Result<Config> {
    let heartbeat_interval = arguments.round_trip_ms.max(HEARTBEAT_MS_MIN);
    let election_timeout_min = heartbeat_interval * ELECTION_HEARTBEATS;
    let default = Config::default();
    let config = Config {
        cluster_name: format!("shard{}", arguments.shard),
        heartbeat_interval,
        election_timeout_min,
        election_timeout_max: election_timeout_min * 2,
        // The log is kept for good.
        snapshot_policy: SnapshotPolicy::Never,
        replication_lag_threshold: u64::MAX,
        enable_pre_vote: Some(true),
        // Leadership begins with an entry of its own, before which all is applied. One that goes on over a restart has none: it would tell
        // what was before the last commits.
        enable_leader_restore: Some(false),
        max_payload_entries: arguments.entries_at_once.unwrap_or(default.max_payload_entries),
        max_append_entries: arguments.entries_at_once.or(default.max_append_entries),
        ..default
    };
    Ok(config.validate()?)
}

/// Writes proposals to the log. What is not taken, because another node leads, has no effect.
async fn propose(raft: Raft, mut proposals: UnboundedReceiver<Proposal>) {
    while let Some(proposal) = proposals.recv().await {
        if raft.client_write_ff(proposal, None).await.is_err() {
            return;
        }
    }
}

/// Answers whether this node still leads, for all who ask at one time together. By the leader's lease, so without a message.
async fn confirm(raft: Raft, mut asked: UnboundedReceiver<Ticket>, machine: Mailbox<Input>) {
    let mut tickets = Vec::new();
    while asked.recv_many(&mut tickets, TOGETHER).await > 0 {
        let leads = match raft.ensure_linearizable(ReadPolicy::LeaseRead).await {
            Ok(_) => Leads::Yes,
            Err(_) => Leads::No,
        };
        machine.send(Input::Confirmed { tickets: std::mem::take(&mut tickets), leads });
    }
}

/// Tells the machine when this node does not lead any more, even if it hears nothing from who does.
async fn watch_leadership(raft: Raft, machine: Mailbox<Input>) {
    let mut metrics = raft.server_metrics();
    while metrics.changed().await.is_ok() {
        if metrics.borrow_and_update().state != ServerState::Leader {
            machine.send(Input::StoodDown);
        }
    }
}

impl From<ControlName> for Control {
    fn from(name: ControlName) -> Control {
        match name {
            ControlName::Occ => Control::Optimistic,
            ControlName::Lock => Control::Locking,
        }
    }
}

impl From<Durability> for iolite_engine::Durability {
    fn from(durability: Durability) -> iolite_engine::Durability {
        match durability {
            Durability::Fsync => iolite_engine::Durability::Fsync,
            Durability::Memory => iolite_engine::Durability::Memory,
        }
    }
}
