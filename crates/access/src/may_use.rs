//! Whether an identity may do something with an object.
//!
//! A server asks for each session at the first call of each method, and when an object is to live at its device.

use iolite_values::ObjectName;

use crate::Identity;

/// Something to do with an object. Its class is part of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectRight<'a> {
    /// Call this method. To have a server create an object is to call `new`.
    Call { method: &'a str },
    /// Have a copy that only reads.
    Read,
    /// Own it, or have a copy that writes.
    Hold,
}

/// The answer for an object. A variant that says no leads the compiler to what a server makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayUse {
    Yes,
}

impl Identity {
    /// Whether it may do this with the object.
    pub fn may_use(&self, _object: &ObjectName, _right: ObjectRight<'_>) -> MayUse {
        match self {
            Identity::Developer | Identity::User(_) => MayUse::Yes,
        }
    }
}
