//! Rights: what the identity of a session may write and read.
//!
//! Invariant: a right is asked when it is used, and no answer is kept: rights may be given and taken while a session is open.

use iolite_access::{Identity, MayRead, MayWrite};
use iolite_values::{Interest, Transaction};

use crate::Gateway;

/// A question that was put to `crates/access`. Tests look at these, as every answer is yes today.
#[cfg(test)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    Write(iolite_values::Counter, iolite_values::Attempt),
    Read(Interest),
}

impl Gateway {
    /// Whether a session may commit this, now.
    pub(crate) fn may_write(&mut self, identity: &Identity, transaction: &Transaction) -> MayWrite {
        #[cfg(test)]
        self.rights_asked.push(Asked::Write(transaction.id.counter, transaction.attempt));
        identity.may_write(transaction)
    }

    /// Whether a session may subscribe to this, now.
    pub(crate) fn may_read(&mut self, identity: &Identity, interest: &Interest) -> MayRead {
        #[cfg(test)]
        self.rights_asked.push(Asked::Read(interest.clone()));
        identity.may_read(interest)
    }
}
