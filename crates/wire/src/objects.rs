//! Messages between the nodes of objects and a server, on `/objects`; and between servers.
//!
//! Invariants: each message stands alone; arguments, results and states are bytes that nothing here reads. docs/protocols/objects.md walks through it.

mod answer;
mod from_device;
mod hold;
mod parts;
mod peer;
mod rpc;
mod to_device;
mod tracking;

use crate::message::ProtocolVersion;

pub use answer::{Answer, CallFailure, NotRun};
pub use from_device::{DeviceHello, FromDevice};
pub use hold::Hold;
pub use parts::Part;
pub use peer::{PeerHello, PeerMessage, ServedClass};
pub use rpc::{CallMode, Component, Rpc, RpcId};
pub use to_device::{DeviceWelcome, ToDevice};
pub use tracking::{Begin, Declared, OfferedClass, Placed, TrackAnswer};

/// The version of these messages.
pub const OBJECTS_PROTOCOL_VERSION: ProtocolVersion = ProtocolVersion(2);
