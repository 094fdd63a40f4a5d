//! Whether an identity may write what a mutation writes.
//!
//! A gateway asks for each attempt anew, just before the store gets it: a right may be given or taken away while a mutation waits.

use iolite_values::Transaction;

use crate::Identity;

/// The answer for a mutation. A variant that says no leads the compiler to what a gateway makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayWrite {
    Yes,
}

impl Identity {
    /// Whether it may commit this transaction.
    pub fn may_write(&self, _transaction: &Transaction) -> MayWrite {
        match self {
            Identity::Developer | Identity::User(_) => MayWrite::Yes,
        }
    }
}
