//! How much a kernel takes on. docs/limits.md names the test of each.

/// Calls of one session that have no answer yet, in either direction. Further ones are answered with `Busy`.
pub const SESSION_CALLS_MAX: usize = 256;
/// Messages that a node's socket has not taken. A node with more is sent away.
pub const SESSION_UNDRAINED_MAX: usize = 2_048;
/// Calls that wait for an instance. Further ones are answered with `Busy`.
pub const INSTANCE_CALLS_MAX: usize = 64;
/// Instances of a node. No object begins there past it: `Busy`.
pub const INSTANCES_MAX: usize = 10_000;
/// Objects of which a kernel remembers where they are. When there are more, it asks tracking again.
pub const LOCATIONS_MAX: usize = 10_000;
/// Caches of an object. Further nodes read at its owner.
pub const CACHES_MAX: usize = 64;
/// Copies of an object under LoadBalancedFrontEnd, with the object itself. A class that wishes for more gets so many: their names fit into the row.
pub const COPIES_MAX: u64 = 64;
/// Times that a call follows an object which has moved, before its kernel asks tracking.
pub const HOPS_MAX: u8 = 3;
/// Bytes of an object's state, where it begins elsewhere or moves. A longer one is refused with `TooLarge`.
pub const STATE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// States of which parts have come on one connection, and no end. Another one ends the connection.
pub const STATES_OPEN_MAX: usize = 4;
