//! A system that transactions are measured on, as the driver sees it.
//!
//! To add one: implement [`System`] and [`Session`], and name it in `transactions/peer.rs`. A system whose coordinator runs in the
//! client's process, as Iolite's does, counts the messages of its sessions to each replica at that replica's traffic; its processor
//! time then is part of the client's, which is reported for all.

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use crate::accounting::Node;
use crate::arguments::Durability;
use crate::transactions::options::ClusterShape;
use crate::transactions::workload::{KeyNumber, Mode, Value};

/// What a system is started with.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub durability: Durability,
    /// The round trip that every link gets in addition.
    pub delay: Duration,
    pub clients: u16,
    /// Of Iolite; the others are one group of three.
    pub cluster: ClusterShape,
    /// Replicas of each of its shards that are down while it is measured.
    pub down: u16,
    /// Coordinators of Iolite, which clients share evenly.
    pub coordinators: u16,
    /// How far the clock of its last coordinator is ahead of the first one's; those between are between.
    pub skew: Duration,
}

/// What coordinators that run in the client's process did beyond one proposal and one round trip. Counted since they were started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detours {
    /// Proposals that were voted down, not for what was read, and made again with another timestamp.
    pub proposed_again: u64,
    /// Votes of shards that took a second round trip.
    pub slow_paths: u64,
}

/// What the report says of a system beside its figures.
#[derive(Clone, Debug)]
pub struct About {
    pub name: &'static str,
    pub version: String,
    /// What its transactions promise of each other.
    pub isolation: &'static str,
    /// The setting that makes acknowledged writes durable.
    pub setting: &'static str,
    /// Nodes that have a write, as durable as the class says, when it is acknowledged.
    pub copies: u64,
}

/// A cluster of real processes, taken down when it is dropped.
pub trait System: Sized + Send + Sync + 'static {
    type Session: Session;

    /// Starts it, empty. To be called where the process's own end is the end of the thread: servers die with the thread that started them.
    fn start(setup: Setup) -> impl Future<Output = anyhow::Result<Self>>;

    fn about(&self) -> About;

    fn nodes(&self) -> Vec<Node>;

    /// Addresses that only its servers talk to each other through, so that their sockets can be told from clients'.
    fn between(&self) -> Vec<std::net::SocketAddr>;

    /// `None`: its coordinators run elsewhere.
    fn detours(&self) -> Option<Detours> {
        None
    }

    /// Does after loading what an operator would, so that none of it is measured.
    fn settle(&mut self) -> impl Future<Output = anyhow::Result<()>>;

    fn connect(&self) -> impl Future<Output = anyhow::Result<Self::Session>> + Send;

    /// Kills every process of it at once, and starts it on the same data.
    fn restart(&mut self) -> impl Future<Output = anyhow::Result<()>>;
}

/// One client's connection; one transaction at a time.
pub trait Session: Debug + Send + 'static {
    /// Writes a value at each key, outside of any transaction, fast.
    fn load(&mut self, keys: &[KeyNumber], value: Value) -> impl Future<Output = anyhow::Result<()>> + Send;

    /// What is at each key, outside of any transaction.
    fn read(&mut self, keys: &[KeyNumber]) -> impl Future<Output = anyhow::Result<Vec<Option<Value>>>> + Send;

    /// Begins a transaction, and gives up one that has not ended. Sends nothing by itself.
    fn begin(&mut self, mode: Mode);

    fn get(&mut self, key: KeyNumber) -> impl Future<Output = Result<Value, Interrupted>> + Send;

    /// Seen by nobody before the commit, not even by gets of this transaction.
    fn put(&mut self, key: KeyNumber, value: Value);

    fn commit(&mut self) -> impl Future<Output = Outcome> + Send;
}

/// Why a get has no answer. The transaction has no effect then.
#[derive(Debug)]
pub enum Interrupted {
    /// By a conflict: it can be run again.
    Aborted,
    /// The session is of no use any more.
    Broken(anyhow::Error),
}

/// How a commit ended.
#[derive(Debug)]
pub enum Outcome {
    Committed,
    /// Without any effect.
    Aborted,
    /// It may have committed or not, or may yet; the session is of no use any more.
    Unknown(anyhow::Error),
}
