//! What parent and client say to each other: a JSON value a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::intervals::IntervalCounts;
use crate::latency::LatencyCounts;

/// To a client's process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToClient {
    /// Run the workload for so long.
    Run { seconds: u32 },
    /// Call once.
    Call,
    /// That was all.
    End,
}

/// From a client's process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromClient {
    /// Connected, and everything that the workload reads is held.
    Ready,
    Called(Called),
    /// The reactive transaction saw this total at this time.
    Ran {
        total: i64,
        at_nanos: u64,
    },
    Result(Box<RunResult>),
    State(State),
}

/// One call: times of the shared clock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Called {
    pub called_nanos: u64,
    pub confirmed_nanos: u64,
}

/// What one client's run came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunResult {
    pub committed: u64,
    /// Attempts that were submitted.
    pub attempts: u64,
    /// Mutations that ended without effect, because their closure gave up.
    pub rejected: u64,
    /// Mutations whose end was not known when the run was over.
    pub unknown: u64,
    /// Snapshots that broke an invariant.
    pub violations: u64,
    pub nanos: u64,
    pub commit_latency: LatencyCounts,
    #[serde(default)]
    pub intervals: IntervalCounts,
    pub bytes_up: u64,
    pub bytes_down: u64,
    pub appends: Vec<Append>,
}

/// What an append saw, and put behind it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Append {
    pub list: String,
    pub element: String,
    pub seen: usize,
    /// Of what was seen.
    pub digest: u64,
}

/// Everything that a fresh session reads at the end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    pub total: i64,
    pub sum: i64,
    pub lists: BTreeMap<String, Vec<String>>,
}
