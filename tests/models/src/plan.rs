//! A world to be explored: who is in it, what is submitted, and how much may happen.

use iolite_replication::Broken;
use iolite_values::{Transaction, Write};

#[derive(Clone, Debug)]
pub struct Plan {
    pub shards: u32,
    pub replicas: u64,
    /// What the clock of each coordinator shows, in microseconds after the replicas'. Their wall clocks stand still.
    pub clocks: Vec<u64>,
    /// What the first coordinator has committed everywhere before anything else happens. What is submitted has seen that.
    pub opening: Vec<Write>,
    pub submissions: Vec<Submission>,
    pub submits: Submits,
    pub closes: Closes,
    pub bounds: Bounds,
    pub broken: Broken,
}

#[derive(Clone, Debug)]
pub struct Submission {
    pub coordinator: usize,
    pub transaction: Transaction,
}

/// When transactions are submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submits {
    AtOnce,
    /// Each at any time: so one may come after another was reported.
    Whenever,
}

/// Whether the network carries what follows the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closes {
    Lost,
    /// A coordinator closes up to what it has committed.
    OnDemand,
    /// It also closes when a deadline says so, up to what its clock showed a moment ago.
    Idle,
}

/// How often what is not forced may happen. What is beyond a bound is not explored.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// View changes that begin without a reason.
    pub view_changes: u8,
    /// States in a later view are not explored.
    pub view_max: u32,
    pub coordinator_crashes: u8,
    pub replica_crashes: u8,
    pub restarts: u8,
    /// Deadlines of each coordinator that are reached.
    pub coordinator_deadlines: u8,
    /// Deadlines of all replicas together.
    pub replica_deadlines: u8,
    /// The network loses what a coordinator says of later proposals of a transaction than these.
    pub proposals: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            view_changes: 0,
            view_max: 1,
            coordinator_crashes: 0,
            replica_crashes: 0,
            restarts: 0,
            coordinator_deadlines: 1,
            replica_deadlines: 0,
            proposals: 1,
        }
    }
}
