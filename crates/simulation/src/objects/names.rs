//! The names of this world: its nodes, classes and objects.

use std::collections::BTreeSet;

use iolite_objects::Class;
use iolite_values::{CoordinatorId, DeviceRight, Id, ObjectName};
use iolite_wire::objects::{Begin, Declared};

/// A process of this world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum At {
    Server(usize),
    Device(usize),
}

/// A class of this world. All of them are lists of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Servers run it.
    Served,
    /// Only devices of the service run it.
    Hosted,
    /// Every node runs it, and devices of users may own objects of it.
    Held,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Served, Kind::Hosted, Kind::Held];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Served => "Served",
            Kind::Hosted => "Hosted",
            Kind::Held => "Held",
        }
    }

    /// # Panics
    /// When no class of this world has the name.
    pub fn of(object: &ObjectName) -> Kind {
        Kind::ALL.into_iter().find(|kind| kind.name() == object.class()).expect("it is one of this world")
    }

    pub fn declared(self) -> Declared {
        let devices = match self {
            Kind::Served | Kind::Hosted => DeviceRight::Call,
            Kind::Held => DeviceRight::Hold,
        };
        Declared { version: 1, managers: String::new(), devices }
    }

    pub fn class(self) -> Class {
        Class { name: self.name().to_owned(), declared: self.declared(), reads: BTreeSet::from([READ.to_owned()]) }
    }
}

/// Returns the list.
pub const READ: &str = "read";
/// Puts a number at the end of the list.
pub const APPEND: &str = "append";
/// Stays open for a while, and then puts a number at the end.
pub const SLOW: &str = "slow";
/// Calls another object, and then puts a number at the end.
pub const PASS: &str = "pass";

/// How many objects there are of each class.
const OF_A_CLASS: usize = 2;

/// All objects of this world.
pub fn objects() -> Vec<ObjectName> {
    let of = |kind: Kind| (0..OF_A_CLASS).map(move |number| object(kind, number));
    Kind::ALL.into_iter().flat_map(of).collect()
}

fn object(kind: Kind, number: usize) -> ObjectName {
    ObjectName::new(kind.name(), &number.to_string()).expect("a short name")
}

pub fn begin(object: &ObjectName) -> Begin {
    Begin { object: object.clone(), declared: Kind::of(object).declared() }
}

pub fn gateway(server: usize) -> CoordinatorId {
    CoordinatorId::new(server as u16 + 1).expect("a small number")
}

pub fn device_id(device: usize) -> Id {
    Id::from_u128(1_000 + device as u128)
}

/// The user of a device.
pub fn user(device: usize) -> String {
    format!("user-{device}")
}

/// The caller of what no session has called, at a server.
pub const SERVER: &str = "server";
/// The user that a device names which lies.
pub const SOMEBODY: &str = "somebody";
