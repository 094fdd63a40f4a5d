//! What an operator wants to know of a replica.

use iolite_values::Timestamp;

use super::Replica;
use crate::node::{Objection, Report, View};

/// Numbers of this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// The view that it takes part in, or is on the way to.
    pub view: View,
    /// Whether it takes part.
    pub is_normal: bool,
    /// Whether it fetches what others have.
    pub is_fetching: bool,
    /// Everything that committed at or below this is here.
    pub complete: Timestamp,
    /// Proposals that are voted OK and have no outcome here.
    pub undecided: usize,
    /// Proposals of which it remembers how it voted.
    pub recorded: usize,
    /// Whether it has to stay: [`Report::needed_by`].
    pub is_needed: bool,
    /// Clients that ever came: one counter of each is kept for good.
    pub clients: usize,
    /// Outcomes that are kept until their clients acknowledge them.
    pub completions: usize,
    /// Bytes of records for the journal, without checkpoints, since its start.
    pub journaled: u64,
    /// Since its start.
    pub votes: Votes,
    /// Messages that made no sense and did nothing, since its start.
    pub absurd: u64,
}

/// How often it voted how, on proposals that it had not seen before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Votes {
    pub ok: u64,
    /// No, for another proposal is in the way and undecided.
    pub busy: u64,
    /// No, for something that was read has changed.
    pub conflict: u64,
    /// No, for the timestamp is too low.
    pub retry: u64,
    /// No, for the transaction has its outcome.
    pub completed: u64,
    /// No, for it makes no sense here.
    pub refused: u64,
}

impl Votes {
    pub(super) fn count<T>(&mut self, vote: &Result<T, Objection>) {
        *match vote {
            Ok(_) => &mut self.ok,
            Err(Objection::Busy { .. }) => &mut self.busy,
            Err(Objection::Conflict { .. }) => &mut self.conflict,
            Err(Objection::Retry { .. }) => &mut self.retry,
            Err(Objection::Completed(_) | Objection::Forgotten) => &mut self.completed,
            Err(Objection::Refused(_)) => &mut self.refused,
        } += 1;
    }
}

impl Replica {
    /// What an operator's tool waits for when it changes who keeps the shard.
    pub fn report(&self) -> Report {
        Report {
            group: self.group().clone(),
            takes_part: self.takes_part(),
            is_fetching: self.catch_up.deadline().is_some(),
            complete: self.complete(),
            split: self.division_split().cloned(),
            begun: self.begun_parts(),
        }
    }

    /// Of the recorded proposals those at or below a timestamp. What came to nothing at one that is far ahead, because a coordinator's clock was, stays until
    /// clocks are there.
    pub fn recorded_through(&self, through: Timestamp) -> usize {
        self.record.through(through).count()
    }

    pub fn figures(&self) -> Figures {
        Figures {
            view: self.standing.view(),
            is_normal: self.standing.is_normal(),
            is_fetching: self.catch_up.deadline().is_some(),
            complete: self.complete(),
            undecided: self.prepared.len(),
            recorded: self.record.len(),
            is_needed: self.report().needed_by().is_none_or(|waiting| !waiting.is_empty()),
            clients: self.clients.len(),
            completions: self.clients.completions(),
            journaled: *self.journaled,
            votes: *self.votes,
            absurd: self.absurd,
        }
    }
}
