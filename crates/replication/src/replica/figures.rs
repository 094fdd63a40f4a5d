//! What an operator wants to know of a replica.

use iolite_values::Timestamp;

use super::Replica;
use crate::node::View;

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
}

impl Replica {
    pub fn figures(&self) -> Figures {
        Figures {
            view: self.standing.view(),
            is_normal: self.standing.is_normal(),
            is_fetching: self.catch_up.deadline().is_some(),
            complete: self.complete(),
            undecided: self.prepared.len(),
            recorded: self.record.len(),
        }
    }
}
