//! The modules that designs are made of, and the table that says what each takes, gives and asks.
//!
//! Invariant: a module knows no design. What differs between two designs is an edge or a parameter.
//! Source: the data paths of the papers that each module names.

mod acknowledge;
mod acks;
mod catalogue;
mod causal_context;
mod chain_forward;
mod commit_log;
mod dependency_check;
mod disk_placement;
mod filesystem;
mod lamport;
mod log_store;
mod pending;
mod ram_cache;
mod ram_index;
mod read_quorum;
mod ring;
mod send;
mod site_ring;
mod sorted_tables;
mod timestamp;
mod version_counter;
mod versioned_index;
mod volume_directory;
mod volume_placement;
mod waits;
mod write_quorum;

use iolite_machine::Instant;

pub use catalogue::{Call, Entry, entries, entry};

use crate::disk::DiskAlloc;
use crate::engine::{Deployment, Kinds, Message, NodeId, OperationId, Outputs};
use crate::quantity::Bytes;

/// The state of the message that a step works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    pub message: Message,
    pub placed: Option<Placed>,
    pub position: Option<Position>,
}

/// The disk, and the log on it, that an object is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub disk: usize,
    pub log: u32,
}

/// Where in a log an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub placed: Placed,
    pub offset: u64,
    pub length: u64,
}

/// Something that a step needs, or leaves for the steps behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Port {
    Key,
    Value,
    Version,
    Volume,
    Replicas,
    Placed,
    Position,
}

/// The result of a step, which is the edge to follow when the disk operations that it asked for have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome(pub &'static str);

/// A part of a design that keeps a state or decides something. Pure: disk and network are outputs, time is an input.
pub trait Module {
    /// The parts of the node's disks that it wants.
    fn allocations(&self) -> Vec<DiskAlloc> {
        Vec::new()
    }

    /// Does one of its calls, by the names of the catalogue.
    fn run(&mut self, now: Instant, call: &str, work: &mut Work, out: &mut Outputs) -> Outcome;

    /// The client gave the operation up, or has its answer: nothing waits for it any more.
    fn forget(&mut self, _operation: OperationId) {}

    /// A measure that a state trigger may look at.
    fn measure(&self, _name: &str) -> Option<f64> {
        None
    }
}

/// Where a module will be.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    pub deployment: &'a Deployment,
    pub own: NodeId,
    pub kinds: &'a Kinds,
    pub disk_capacity: Bytes,
    /// How many objects each one that is emulated stands for.
    pub stands_for: f64,
}

impl Work {
    pub fn new(message: Message) -> Work {
        Work { message, placed: None, position: None }
    }
}
