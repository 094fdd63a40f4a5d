//! Questions of apps with their answers, and the methods that ran. The checker sees this, and the rows of the store.

use iolite_machine::Instant;
use iolite_objects::CallResult;
use iolite_values::{ObjectEpoch, ObjectName, StoreIncarnation};

use super::names::At;
use crate::history::Moment;

#[derive(Debug, Default)]
pub struct Told {
    pub calls: Vec<CallTold>,
    pub runs: Vec<RunTold>,
    last_number: u64,
}

/// A call, by its place in [`Told::calls`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallIndex(pub usize);

/// A run of a method, by its place in [`Told::runs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunIndex(pub usize);

#[derive(Clone, Debug)]
pub struct CallTold {
    pub at: At,
    /// The caller, as the kernel knows it at which the call is made.
    pub entry: String,
    pub object: ObjectName,
    pub method: &'static str,
    /// The number that it puts into the list.
    pub number: u64,
    /// The object that the method calls in turn.
    pub target: Option<ObjectName>,
    /// For how long the method stays open.
    pub hold: Moment,
    pub asked: Moment,
    /// On the caller's clock.
    pub deadline: Instant,
    pub answered: Option<(Moment, CallResult)>,
    pub run: Option<RunIndex>,
}

#[derive(Clone, Debug)]
pub struct RunTold {
    pub call: CallIndex,
    pub at: At,
    pub store: Option<StoreIncarnation>,
    /// None: it is not known here.
    pub epoch: Option<ObjectEpoch>,
    /// The first number of the list, which no other beginning has.
    pub birth: u64,
    pub ended: Option<Moment>,
    pub caller: String,
}

impl Told {
    /// A number that no list has yet.
    pub fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}
