//! One run of a closure: what it read, what it wrote, what it missed.

use std::collections::{BTreeMap, BTreeSet};

use iolite_machine::WallTime;
use iolite_rowsync::RowVersion;
use iolite_values::{Counter, Digest, Interest, LaneNumber, LogId, Read, RowKey, Write};
use iolite_wire::message::First;

use super::{Marks, Random, RunError};
use crate::ReactionId;
use crate::cache::RowId;
use crate::text::RunAuthors;
use crate::view::{Overlay, View};

/// Whose closure runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOf {
    Mutation(Counter),
    Reaction(ReactionId),
    /// The next entry of the log with this lane, on the confirmed state.
    Replay(LaneNumber),
}

/// A run that has begun. Handed to [`crate::Client::transaction`] for every call, and to [`crate::Client::finish`] at the end.
#[derive(Debug)]
pub struct Run {
    pub(crate) of: RunOf,
    pub(crate) view: View,
    /// The log that it is an operation of.
    pub(crate) log: Option<LogId>,
    pub(crate) called_at: WallTime,
    pub(crate) random: Random,
    pub(crate) authors: RunAuthors,
    pub(crate) marks: Marks,
    /// Rows of tables that merge which this run has inserted, or kept in their lives.
    pub(crate) touched: BTreeSet<RowId>,
    pub(crate) reads: BTreeMap<Read, Digest>,
    pub(crate) writes: Vec<Write>,
    pub(crate) bytes: usize,
    pub(crate) own: Overlay,
    pub(crate) missed: BTreeSet<Missed>,
    pub(crate) lives: Lives,
    /// Whether nothing comes of what it read and missed.
    pub(crate) is_peek: bool,
    /// Rows that were created because nothing is known of them.
    pub(crate) assumed: BTreeSet<RowId>,
    /// The version of the row that the user saw, where the app said it, for rows of tables that sync.
    pub(crate) bases: BTreeMap<RowKey, RowVersion>,
}

/// What has to be known of a row before it is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lives {
    /// That there is none as far as is known here: nothing holds up who has no connection.
    AsFarAsKnown,
    /// That there is none. The store has refused an attempt that assumed it.
    ForSure,
}

/// Something that a run needs and that is not held: all of an interest, or so many first rows of a query.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Missed {
    pub(crate) interest: Interest,
    pub(crate) first: Option<First>,
}

/// A run that was stopped: what it lacked, and what it had seen until then.
#[derive(Debug)]
pub(crate) struct Stopped {
    pub(crate) missed: Vec<Missed>,
    pub(crate) reads: Vec<(Read, Digest)>,
}

/// How the closure ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closed {
    /// It returned.
    Returned,
    /// It gave up on purpose; the reason is for the user.
    Aborted(String),
    /// It failed: a thrown exception, a panic, a returned promise. The message is for the developer.
    Failed(String),
    /// The app has no closure of this name or id.
    Unknown,
}

impl Run {
    pub const READS_MAX: usize = 2_000;
    pub const WRITES_MAX: usize = 2_000;
    /// Of operations with their rows' keys, and of reads: with its overhead, all of it fits one frame.
    pub const BYTES_MAX: usize = 512 * 1024;

    pub(crate) fn new(of: RunOf, view: View, called_at: WallTime, random: Random) -> Run {
        Run {
            of,
            view,
            log: None,
            called_at,
            random,
            authors: RunAuthors::of(random),
            marks: Marks::default(),
            touched: BTreeSet::new(),
            reads: BTreeMap::new(),
            writes: Vec::new(),
            bytes: 0,
            own: Overlay::default(),
            missed: BTreeSet::new(),
            lives: Lives::AsFarAsKnown,
            is_peek: false,
            assumed: BTreeSet::new(),
            bases: BTreeMap::new(),
        }
    }

    /// A run for a peek. No reaction has its id.
    pub(crate) fn of_peek(view: View, called_at: WallTime, random: Random) -> Run {
        Run { is_peek: true, ..Run::new(RunOf::Reaction(ReactionId(0)), view, called_at, random) }
    }

    pub fn of(&self) -> RunOf {
        self.of
    }

    /// The log whose operation runs, if one does.
    pub fn log(&self) -> Option<&LogId> {
        self.log.as_ref()
    }

    /// Whether something was missing, so that this run does not count.
    pub fn is_stopped(&self) -> bool {
        !self.missed.is_empty()
    }

    /// Whether another run of the same closure, on the same state, asked for the same and wrote the same. Development mode runs every closure
    /// twice and compares: a closure that depends on anything else gives other results when it is run again after a conflict.
    pub fn agrees_with(&self, other: &Run) -> bool {
        (&self.reads, &self.writes, &self.missed) == (&other.reads, &other.writes, &other.missed)
    }

    /// What a stopped run misses is bounded like what it reads.
    pub(crate) fn note_missed(&mut self, missed: Missed) -> Result<(), RunError> {
        if self.missed.len() >= Run::READS_MAX {
            return Err(RunError::TooLarge { what: "reads", limit: Run::READS_MAX });
        }
        self.missed.insert(missed);
        Ok(())
    }

    /// # Errors
    /// [`RunError::TooLarge`].
    pub(crate) fn take_room(&mut self, bytes: usize) -> Result<(), RunError> {
        self.bytes += bytes;
        if self.bytes > Run::BYTES_MAX {
            return Err(RunError::TooLarge { what: "bytes of operations and reads", limit: Run::BYTES_MAX });
        }
        Ok(())
    }

    pub(crate) fn check_going(&self) -> Result<(), RunError> {
        if self.is_stopped() { Err(RunError::Stopped) } else { Ok(()) }
    }
}
