//! The parts that managers of copies share: versions of a state, what an owner knows of its caches, and what a cache knows of its copy.
//!
//! Invariants: a later state has a greater version, also at the next owner, because the object's epoch comes first in it. An owner counts a cache's lease an
//! eighth longer than the cache does, which counts from when it asked.

mod cached;
mod origin;

use serde::{Deserialize, Serialize};

pub(super) use self::cached::Cached;
pub(super) use self::origin::Origin;

/// The setting of a cache's lease, in milliseconds.
pub(super) const LEASE: &str = "lease";

/// The version of a state: the epoch of its owner, and how many writes it has had there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Version {
    epoch: u64,
    number: u64,
}

/// A node wants to be a cache, and has the state of this version.
#[derive(Serialize, Deserialize)]
struct Want {
    have: Option<Version>,
}

/// The node is a cache from when it asked. No state: it has that of this version.
#[derive(Serialize, Deserialize)]
struct Given {
    version: Version,
    /// The node that gives it, in text.
    owner: String,
    state: Option<Vec<u8>>,
}
