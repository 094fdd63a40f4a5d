//! The names of this world: its nodes, classes and objects.

use iolite_values::{CoordinatorId, Id, ObjectName};
use iolite_wire::objects::Begin;

use super::kinds::Kind;

/// A process of this world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum At {
    Server(usize),
    Device(usize),
}

/// Returns the list.
pub const READ: &str = "read";
/// Stays open for a while, and then returns the list.
pub const LOOK: &str = "look";
/// Puts a number at the end of the list.
pub const APPEND: &str = "append";
/// Stays open for a while, and then puts a number at the end.
pub const SLOW: &str = "slow";
/// Calls another object, and then puts a number at the end.
pub const PASS: &str = "pass";

/// Words to a manager of copies.
pub const PULL: &str = "pull";
pub const PUSH: &str = "push";

/// Whether a method only reads.
pub fn reads(method: &str) -> bool {
    method == READ || method == LOOK
}

/// The objects of a class: two, or one under managers.
pub fn objects_of(kind: Kind) -> Vec<ObjectName> {
    let count = if Kind::PLAIN.contains(&kind) { 2 } else { 1 };
    (0..count).map(|number| object(kind, number)).collect()
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

/// The id that a device draws.
pub fn drawn_id(device: usize) -> Id {
    Id::from_u128(1_000_000 + device as u128)
}

/// The name of a device: its server makes it of the user and of what the device drew.
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
