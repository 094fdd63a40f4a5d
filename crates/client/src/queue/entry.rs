//! One pending mutation.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite_machine::{PersistId, WallTime};
use iolite_values::{Attempt, Counter, Decision, Interest, Read, Timestamp, Write};
use iolite_wire::message::Submit;

use crate::cache::RowId;
use crate::interface::Pending;
use crate::view::{Digest, Reader};

/// What was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MutationKind {
    /// A named function with its arguments in JSON: the only kind that survives a restart.
    Named { name: Arc<str>, arguments: Arc<str> },
    /// A closure, kept by the app's process under the mutation's counter. It works online only.
    Closure,
}

/// A call of a mutation, as the app made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    pub counter: Counter,
    pub kind: MutationKind,
    pub called_at: WallTime,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) mutation: Mutation,
    pub(crate) state: RunState,
    pub(crate) stage: Stage,
    /// The number of the last attempt that was submitted; zero before the first.
    pub(crate) attempts: Attempt,
    /// The next attempt needs a snapshot at or above this.
    pub(crate) wait_for: Timestamp,
    /// Why the closure gave up, of each attempt that was submitted and did.
    pub(crate) abort_reasons: BTreeMap<Attempt, String>,
    /// Runs in a row that missed something.
    pub(crate) misses: u32,
}

/// What came of the closure's last run.
#[derive(Debug)]
pub(crate) enum RunState {
    /// It has to run (again).
    Due,
    /// It missed these, and has no effect until they are there.
    Missing(Vec<Interest>),
    Done(Ran),
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) reads: Vec<(Read, Digest)>,
    pub(crate) decision: Decision,
}

/// How far a mutation is on its way.
#[derive(Debug)]
pub(crate) enum Stage {
    /// Its closure has not run to its end yet, so it may still turn out to be a mistake.
    Called,
    /// On its way to the disk: it may not be sent.
    Saving(PersistId),
    /// On disk (a closure: in memory): the lane may submit it.
    Saved,
    Submitted(Submit),
    /// Its session was lost before the answer. It is sent again, unchanged.
    Unanswered(Submit),
    /// Committed at this timestamp, which the confirmed state has not reached yet.
    Committed(Timestamp),
}

impl Ran {
    pub(crate) fn writes(&self) -> &[Write] {
        match &self.decision {
            Decision::Commit(writes) => writes,
            Decision::Abort(_) => &[],
        }
    }
}

impl Entry {
    pub(crate) fn new(mutation: Mutation, stage: Stage) -> Entry {
        let (attempts, wait_for) = (Attempt(0), Timestamp::ZERO);
        Entry { mutation, state: RunState::Due, stage, attempts, wait_for, abort_reasons: BTreeMap::new(), misses: 0 }
    }

    pub(crate) fn counter(&self) -> Counter {
        self.mutation.counter
    }

    /// Whether a restart of the client would find it. A closure counts while its process lives.
    pub(crate) fn is_durable(&self) -> bool {
        !matches!(self.stage, Stage::Called | Stage::Saving(_))
    }

    pub(crate) fn status(&self) -> Pending {
        let would_reject = match &self.state {
            RunState::Done(Ran { decision: Decision::Abort(reason), .. }) => Some(reason.clone()),
            RunState::Done(_) | RunState::Due | RunState::Missing(_) => None,
        };
        let waits_for_data = matches!(self.state, RunState::Missing(_));
        Pending { waits_for_data, durable: self.is_durable(), sent: !self.is_unsent(), would_reject }
    }

    /// Nothing of it was ever sent, so it can be taken back.
    pub(crate) fn is_unsent(&self) -> bool {
        self.attempts == Attempt(0)
    }

    /// Compares what the last run saw with what it would see now.
    pub(crate) fn check(&mut self, reader: Reader<'_>) -> &RunState {
        let stale = match &self.state {
            RunState::Due => false,
            RunState::Missing(interests) => interests.iter().all(|interest| reader.holds(interest)),
            RunState::Done(ran) => !reader.would_repeat(&ran.reads),
        };
        if stale {
            self.state = RunState::Due;
        }
        &self.state
    }

    pub(crate) fn writes(&self) -> &[Write] {
        match &self.state {
            RunState::Done(ran) => ran.writes(),
            RunState::Due | RunState::Missing(_) => &[],
        }
    }

    /// The rows that its last run wrote.
    pub(crate) fn rows(&self) -> impl Iterator<Item = RowId> {
        self.writes().iter().map(|write| (write.cell.table, write.cell.row.clone()))
    }
}
