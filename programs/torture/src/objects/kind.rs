//! The kinds of objects: one under no manager, and one under each of five.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A class of this run, by its manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// Under no manager.
    Plain,
    /// `ExplicitMigration`: moved from host to host all the time.
    Migrating,
    Leased,
    Consistent,
    WriteThrough,
    AtLeastOnce,
}

/// The promise of a kind to those who read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// All calls have one order, which real time agrees with. A number is there once.
    Linear,
    /// The same, but a number may be there again.
    Repeated,
    /// Writes have one order, and each process reads it forward, with its own writes. A read is older than its lease at most.
    Forward,
}

/// The lease of `LeaseCaching`: pauses and cuts are longer than it.
pub const LEASED_MS: u64 = 500;
/// The lease of the two managers that keep copies.
pub const COPIED_MS: u64 = 1_000;
/// The time within which `AtLeastOnceRPC` repeats.
pub const REPEATED_MS: u64 = 5_000;

impl Kind {
    pub const ALL: [Kind; 6] =
        [Kind::Plain, Kind::Migrating, Kind::Leased, Kind::Consistent, Kind::WriteThrough, Kind::AtLeastOnce];

    /// The manager, as people read it.
    pub fn manager(self) -> &'static str {
        match self {
            Kind::Plain => "no manager",
            Kind::Migrating => "ExplicitMigration",
            Kind::Leased => "LeaseCaching",
            Kind::Consistent => "ConsistentCaching",
            Kind::WriteThrough => "WriteThroughCaching",
            Kind::AtLeastOnce => "AtLeastOnceRPC",
        }
    }

    pub fn promise(self) -> Promise {
        match self {
            Kind::Plain | Kind::Migrating | Kind::Leased | Kind::Consistent => Promise::Linear,
            Kind::AtLeastOnce => Promise::Repeated,
            Kind::WriteThrough => Promise::Forward,
        }
    }

    /// How old a read may be under [`Promise::Forward`].
    pub fn lease(self) -> Duration {
        Duration::from_millis(COPIED_MS)
    }
}

/// An object of a run. After some seconds all go on with the objects of the next generation, so that lists stay short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    pub kind: Kind,
    pub generation: u32,
}

impl Place {
    pub fn id(self) -> String {
        format!("g{}", self.generation)
    }

    /// The host at which the object begins.
    pub fn host(self, hosts: u32) -> u32 {
        (self.generation + self.kind as u32) % hosts
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the object of generation {} under {}", self.generation, self.kind.manager())
    }
}
