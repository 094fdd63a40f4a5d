//! Questions of apps with their answers, and the methods that ran. The checker sees this, and the rows of the store.

use std::collections::BTreeMap;

use iolite_machine::Instant;
use iolite_objects::CallResult;
use iolite_values::{ObjectEpoch, ObjectName, StoreIncarnation};

use super::names::At;
use crate::history::Moment;

/// An object under one store.
pub type Key = (StoreIncarnation, ObjectName);

#[derive(Debug, Default)]
pub struct Told {
    pub calls: Vec<CallTold>,
    pub runs: Vec<RunTold>,
    pub words: Vec<WordTold>,
    pub transactions: Vec<TransactionTold>,
    /// The list with which each object was to begin, by its first number.
    pub begun_with: BTreeMap<u64, Vec<u64>>,
    /// When each beginning of an object was, by the first number of its list.
    pub births: BTreeMap<Key, BTreeMap<u64, Moment>>,
    /// Copies that were forgotten.
    pub forgotten: Vec<(Moment, At, ObjectName)>,
    last_number: u64,
}

/// A call, by its place in [`Told::calls`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallIndex(pub usize);

/// A run of a method, by its place in [`Told::runs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunIndex(pub usize);

/// A word to a manager, by its place in [`Told::words`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WordIndex(pub usize);

/// A transaction, by its place in [`Told::transactions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransactionIndex(pub usize);

#[derive(Clone, Debug)]
pub struct CallTold {
    pub at: At,
    /// Counts the processes of the caller.
    pub life: u64,
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
    /// One at most, where nothing may repeat.
    pub runs: Vec<RunIndex>,
    /// The transaction that it is a part of.
    pub transaction: Option<TransactionIndex>,
}

#[derive(Clone, Debug)]
pub struct RunTold {
    pub call: CallIndex,
    pub at: At,
    /// The method runs at a copy of the object.
    pub is_copy: bool,
    pub store: Option<StoreIncarnation>,
    /// None: it is not known here.
    pub epoch: Option<ObjectEpoch>,
    /// The first number of the list, which no other beginning has.
    pub birth: u64,
    pub ended: Option<Moment>,
    pub caller: String,
}

/// A word to a manager: pull, push, begin, commit, abort, or the node to which the object is to move.
#[derive(Clone, Debug)]
pub struct WordTold {
    pub at: At,
    /// Counts the processes of the node.
    pub life: u64,
    pub object: ObjectName,
    pub word: String,
    pub asked: Moment,
    /// On the asker's clock.
    pub deadline: Instant,
    pub answered: Option<(Moment, CallResult)>,
}

/// A transaction of a client.
#[derive(Clone, Debug)]
pub struct TransactionTold {
    pub object: ObjectName,
    pub commits: Vec<WordIndex>,
}

impl Told {
    /// A number that no list has yet.
    pub fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}
