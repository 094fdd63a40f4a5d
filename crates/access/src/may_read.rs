//! Whether an identity may be told what an interest includes.
//!
//! A gateway asks when a session subscribes, before anything is read.

use iolite_values::Interest;

use crate::Identity;

/// The answer for an interest. A variant that says no leads the compiler to what a gateway makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayRead {
    Yes,
}

impl Identity {
    /// Whether it may subscribe to this interest.
    pub fn may_read(&self, _interest: &Interest) -> MayRead {
        match self {
            Identity::Developer | Identity::User(_) => MayRead::Yes,
        }
    }
}
