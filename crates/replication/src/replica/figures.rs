//! What an operator wants to know of a replica.

use iolite_values::Timestamp;

use super::Replica;
use crate::node::{Report, View};

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
    /// Messages that made no sense and did nothing, since its start.
    pub absurd: u64,
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

    pub fn figures(&self) -> Figures {
        Figures {
            view: self.standing.view(),
            is_normal: self.standing.is_normal(),
            is_fetching: self.catch_up.deadline().is_some(),
            complete: self.complete(),
            undecided: self.prepared.len(),
            recorded: self.record.len(),
            is_needed: self.report().needed_by().is_none_or(|waiting| !waiting.is_empty()),
            absurd: self.absurd,
        }
    }
}
