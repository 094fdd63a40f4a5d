//! An object lives at nodes of the service.
//!
//! Promise: no device of a user ever has it. It begins at a node that serves and has the class, and moves to such nodes only. If there is none, it does not begin.
//!
//! The servers keep this, and no component: a device asks a server to begin an object or to take one, and the server reads the class's managers
//! (`Declared::is_kept_in_cloud`). What a device thinks of them does not count.

use super::{Fact, Kind, Manager, Slot};

/// `KeepInCloud`.
#[derive(Clone, Copy, Debug)]
pub struct KeepInCloud;

impl Manager for KeepInCloud {
    const KIND: Kind = Kind { name: "KeepInCloud", slot: Slot::Placement, facts: &[Fact::ServiceOnly], settings: &[] };
}
