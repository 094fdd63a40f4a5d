//! Transactions of clients: begin, a few calls, and an end, each after the answer of the one before.
//!
//! Invariant: from `begin` to its end a client makes no other call of the object at its node, so that each call is part of a known transaction or of none.

use std::time::Duration;

use iolite_objects::{CallError, CallResult};
use iolite_values::ObjectName;
use iolite_wire::objects::NotRun;

use super::app::Asked;
use super::asking::Wanted;
use super::happened::ObjectEvent;
use super::names::{APPEND, At, LOOK, READ, SLOW};
use super::queue::NodeEvent;
use super::roughness::MILLISECOND;
use super::told::{TransactionIndex, TransactionTold};
use super::world::World;
use crate::history::Moment;

pub const BEGIN: &str = "begin";
pub const COMMIT: &str = "commit";
pub const ABORT: &str = "abort";

/// A transaction that a client is in.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    transaction: TransactionIndex,
    /// Calls to make.
    calls: u64,
    /// Times that the client says `commit`, before it says `abort`.
    commits: u64,
    aborts: u64,
}

/// How often a client says `commit` in doubt, and how often `abort`.
const COMMITS: u64 = 3;
const ABORTS: u64 = 6;

impl World {
    /// A client begins a transaction, unless something of its node is under way.
    pub fn transact(&mut self, at: At, object: ObjectName) {
        if self.is_asking(at, &object) || self.host(at).app.scripts.contains_key(&object) {
            return;
        }
        let transaction = TransactionIndex(self.told.transactions.len());
        self.told.transactions.push(TransactionTold { object: object.clone(), commits: Vec::new() });
        let commits = if self.random.chance(150) { 0 } else { COMMITS };
        let script = Script { transaction, calls: self.random.between(1, 3), commits, aborts: ABORTS };
        self.host_mut(at).app.scripts.insert(object.clone(), script);
        self.speak(at, object, BEGIN.to_owned());
    }

    /// Whether a node waits for an answer of this object.
    fn is_asking(&self, at: At, object: &ObjectName) -> bool {
        self.host(at).app.tickets.values().any(|asked| match asked {
            Asked::Call { call, .. } => self.told.calls[call.0].object == *object,
            Asked::Word(word) => self.told.words[word.0].object == *object,
            Asked::Create | Asked::Find(..) | Asked::Move => false,
        })
    }

    /// The next call of a transaction, or its end.
    pub fn go_on(&mut self, at: At, object: ObjectName) {
        let Some(mut script) = self.host(at).app.scripts.get(&object).copied() else { return };
        if !self.works {
            (script.calls, script.commits) = (0, 0);
        }
        if script.calls > 0 {
            script.calls -= 1;
            self.call_within(at, &object, script.transaction);
        } else if script.commits > 0 {
            script.commits -= 1;
            let word = self.speak(at, object.clone(), COMMIT.to_owned());
            self.told.transactions[script.transaction.0].commits.push(word);
        } else {
            script.aborts = script.aborts.saturating_sub(1);
            self.speak(at, object.clone(), ABORT.to_owned());
        }
        self.host_mut(at).app.scripts.insert(object, script);
        self.carry(at);
    }

    fn call_within(&mut self, at: At, object: &ObjectName, transaction: TransactionIndex) {
        let method = match self.random.below(10) {
            0..=2 => READ,
            3..=7 => APPEND,
            8 => LOOK,
            _ => SLOW,
        };
        let hold = self.random.between(1, 900) * MILLISECOND;
        let time = Duration::from_nanos(self.random.between(300, 4_000) * MILLISECOND);
        let object = object.clone();
        self.call(at, Wanted { method, hold, transaction: Some(transaction), ..Wanted::read(object, time) });
    }

    /// A call of a transaction has its answer.
    pub fn script_answered(&mut self, at: At, object: &ObjectName) {
        if self.host(at).app.scripts.contains_key(object) {
            let is_long = self.random.chance(80);
            let pause = if is_long { self.random.between(2_000, 6_000) } else { self.random.between(1, 300) };
            self.later(at, pause * MILLISECOND, NodeEvent::Script(object.clone()));
        }
    }

    /// A word of a transaction has its answer.
    pub fn transaction_answered(&mut self, at: At, object: &ObjectName, word: &str, result: &CallResult) {
        let Some(mut script) = self.host(at).app.scripts.get(object).copied() else { return };
        let is_wrong = matches!(result, Err(CallError::NotRun(NotRun::BadArguments(_))));
        let is_over = match word {
            BEGIN if is_wrong => {
                // One is open from before.
                (script.calls, script.commits) = (0, 0);
                false
            }
            BEGIN => result.is_err(),
            COMMIT => self.commit_answered(script, result),
            _abort => result.is_ok() || is_wrong || script.aborts == 0,
        };
        if is_over {
            self.host_mut(at).app.scripts.remove(object);
            return;
        }
        self.host_mut(at).app.scripts.insert(object.clone(), script);
        self.script_answered(at, object);
    }

    /// Whether the transaction is over.
    fn commit_answered(&mut self, script: Script, result: &CallResult) -> bool {
        match result {
            Ok(_) => {
                let is_again = self.told.transactions[script.transaction.0].commits.len() > 1;
                self.happened(if is_again { ObjectEvent::CommittedAgain } else { ObjectEvent::Committed });
                true
            }
            Err(CallError::NotRun(NotRun::Conflict)) => {
                self.happened(ObjectEvent::CommitConflict);
                true
            }
            Err(CallError::InDoubt(_)) => {
                self.happened(ObjectEvent::TransactionInDoubt);
                false
            }
            Err(
                CallError::NotRun(_) | CallError::App(_) | CallError::Fenced | CallError::Gone | CallError::Broke(_),
            ) => false,
        }
    }

    /// How long a word to a manager takes at most.
    pub const WORD_TIME: Moment = 10_000 * MILLISECOND;
}
