//! The classes of this world: three without managers, and one under each manager. All of them are lists of numbers.
//!
//! Invariant: a class is named once here, with its managers. Checks and clients ask here what an object promises.

use iolite_objects::{Class, managers};
use iolite_values::{DeviceRight, ObjectName};
use iolite_wire::objects::Declared;

use super::names::{LOOK, READ};
use crate::random::Random;

/// A class of this world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Servers run it.
    Served,
    /// Only devices of the service run it.
    Hosted,
    /// Every node runs it, and devices of users may own objects of it. So it is with all that have managers.
    Held,
    AtLeastOnce,
    Immutable,
    Explicit,
    Leased,
    WriteThrough,
    Consistent,
    Serial,
    Locking,
    Optimistic,
    InPlace,
    InCloud,
    OnDevice,
    Migrating,
    Front,
    /// Three managers at once.
    Layered,
}

/// The promise of a class to its readers, besides what its own manager promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// All calls have one order in real time.
    Linear,
    /// The object never changes.
    Unchanged,
    /// Each node has a copy of its own, and pushes it.
    OwnCopies,
    /// Each node reads forward.
    Forward,
    /// Some calls are parts of transactions.
    Transactions,
    /// Copies that are not kept the same take the calls.
    Copies,
}

impl Kind {
    pub const PLAIN: [Kind; 3] = [Kind::Served, Kind::Hosted, Kind::Held];
    pub const MANAGED: [Kind; 15] = [
        Kind::AtLeastOnce,
        Kind::Immutable,
        Kind::Explicit,
        Kind::Leased,
        Kind::WriteThrough,
        Kind::Consistent,
        Kind::Serial,
        Kind::Locking,
        Kind::Optimistic,
        Kind::InPlace,
        Kind::InCloud,
        Kind::OnDevice,
        Kind::Migrating,
        Kind::Front,
        Kind::Layered,
    ];

    /// Copies of these are never older than they were.
    pub const CACHED: &[Kind] = &[Kind::WriteThrough, Kind::Consistent, Kind::Layered];
    /// States that are written back to these have all that was there.
    pub const WRITTEN_BACK: &[Kind] = &[Kind::Explicit, Kind::Leased];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Served => "Served",
            Kind::Hosted => "Hosted",
            Kind::Held => "Held",
            Kind::AtLeastOnce => "AtLeastOnce",
            Kind::Immutable => "Immutable",
            Kind::Explicit => "Explicit",
            Kind::Leased => "Leased",
            Kind::WriteThrough => "WriteThrough",
            Kind::Consistent => "Consistent",
            Kind::Serial => "Serial",
            Kind::Locking => "Locking",
            Kind::Optimistic => "Optimistic",
            Kind::InPlace => "InPlace",
            Kind::InCloud => "InCloud",
            Kind::OnDevice => "OnDevice",
            Kind::Migrating => "Migrating",
            Kind::Front => "Front",
            Kind::Layered => "Layered",
        }
    }

    /// # Panics
    /// When no class of this world has the name.
    pub fn of(object: &ObjectName) -> Kind {
        let mut all = Kind::PLAIN.into_iter().chain(Kind::MANAGED);
        all.find(|kind| kind.name() == object.class()).expect("it is one of this world")
    }

    /// The line above the class. Leases are short: the pauses of this world are to outlast them.
    fn line(self) -> &'static str {
        match self {
            Kind::Served | Kind::Hosted | Kind::Held => "",
            Kind::AtLeastOnce => "AtLeastOnceRPC within=8000",
            Kind::Immutable => "Immutable",
            Kind::Explicit => "ExplicitCaching",
            Kind::Leased => "LeaseCaching lease=1500",
            Kind::WriteThrough => "WriteThroughCaching lease=3000",
            Kind::Consistent => "ConsistentCaching lease=3000",
            Kind::Serial => "SerializableRPC",
            Kind::Locking => "LockingTransactions lock=3000",
            Kind::Optimistic => "OptimisticTransactions",
            Kind::InPlace => "KeepInPlace",
            Kind::InCloud => "KeepInCloud",
            Kind::OnDevice => "KeepOnDevice after=2 rest=1000",
            Kind::Migrating => "ExplicitMigration",
            Kind::Front => "LoadBalancedFrontEnd copies=3",
            Kind::Layered => "AtLeastOnceRPC within=8000; ConsistentCaching lease=3000; ExplicitMigration",
        }
    }

    /// The manager to which clients speak, if there is one.
    pub fn listener(self) -> Option<&'static str> {
        match self {
            Kind::Explicit => Some("ExplicitCaching"),
            Kind::Locking => Some("LockingTransactions"),
            Kind::Optimistic => Some("OptimisticTransactions"),
            Kind::Migrating | Kind::Layered => Some("ExplicitMigration"),
            Kind::Served
            | Kind::Hosted
            | Kind::Held
            | Kind::AtLeastOnce
            | Kind::Immutable
            | Kind::Leased
            | Kind::WriteThrough
            | Kind::Consistent
            | Kind::Serial
            | Kind::InPlace
            | Kind::InCloud
            | Kind::OnDevice
            | Kind::Front => None,
        }
    }

    pub fn promise(self) -> Promise {
        match self {
            Kind::Immutable => Promise::Unchanged,
            Kind::Explicit => Promise::OwnCopies,
            Kind::WriteThrough => Promise::Forward,
            Kind::Locking | Kind::Optimistic => Promise::Transactions,
            Kind::Front => Promise::Copies,
            Kind::Served
            | Kind::Hosted
            | Kind::Held
            | Kind::AtLeastOnce
            | Kind::Leased
            | Kind::Consistent
            | Kind::Serial
            | Kind::InPlace
            | Kind::InCloud
            | Kind::OnDevice
            | Kind::Migrating
            | Kind::Layered => Promise::Linear,
        }
    }

    /// A method may run more than once for one call.
    pub fn repeats(self) -> bool {
        self.line().starts_with("AtLeastOnceRPC")
    }

    /// The state of a list depends on the list alone: managers compare states.
    pub fn has_one_state(self) -> bool {
        self == Kind::Explicit
    }

    pub fn declared(self) -> Declared {
        let is_for_the_service = matches!(self, Kind::Served | Kind::Hosted);
        let devices = if is_for_the_service { DeviceRight::Call } else { DeviceRight::Hold };
        let managers = managers::canonical(self.line()).expect("managers that fit");
        Declared { version: 1, managers, devices }
    }

    pub fn class(self) -> Class {
        let reads = [READ, LOOK].map(str::to_owned).into();
        Class { name: self.name().to_owned(), declared: self.declared(), reads }
    }
}

/// How many classes with managers a run has.
const MANAGED_OF_A_RUN: usize = 4;

/// The classes of a run.
pub fn drawn(random: &mut Random) -> Vec<Kind> {
    let mut managed = Kind::MANAGED.to_vec();
    while managed.len() > MANAGED_OF_A_RUN {
        managed.swap_remove(random.below(managed.len() as u64) as usize);
    }
    Kind::PLAIN.into_iter().chain(managed).collect()
}
