//! The turns that a host gives to reactions, and the changes that wait for one.
//!
//! Invariant: no change is forgotten before all reactions were compared with it.

use crate::view::Changed;

/// A host says with it which reactions may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReactionTurn {
    /// All, whenever something changed.
    #[default]
    Always,
    /// None before the host gives them a turn.
    Waits,
    /// The ones whose first result or whose data is awaited, until none is due. Then they wait again.
    Awaited,
    /// All, until none is due. Then they wait again.
    All,
}

#[derive(Debug, Default)]
pub(super) struct Turns {
    turn: ReactionTurn,
    /// Changes that not all reactions were compared with, if there are any.
    unseen: Option<Changed>,
    /// How often something changed, or may have.
    changes: u64,
}

impl Turns {
    /// A turn of all goes on when those whose data is awaited get theirs.
    pub(super) fn set(&mut self, turn: ReactionTurn) {
        if (self.turn, turn) != (ReactionTurn::All, ReactionTurn::Awaited) {
            self.turn = turn;
        }
    }

    /// The reactions that may run have all run.
    pub(super) fn end(&mut self) {
        if self.turn != ReactionTurn::Always {
            self.turn = ReactionTurn::Waits;
        }
    }

    /// Something changed, or may have. `is_looked_at`: there are reactions.
    pub(super) fn note(&mut self, changed: Changed, is_looked_at: bool) {
        self.changes += 1;
        if is_looked_at {
            self.unseen.get_or_insert_default().merge(changed);
        }
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    pub(super) fn holds_back(&self) -> bool {
        self.turn != ReactionTurn::Always
    }

    pub(super) fn has_unseen(&self) -> bool {
        self.unseen.is_some()
    }

    /// Whether a reaction may run, which is `awaited` or not.
    pub(super) fn allow(&self, awaited: bool) -> bool {
        match self.turn {
            ReactionTurn::Always | ReactionTurn::All => true,
            ReactionTurn::Awaited => awaited,
            ReactionTurn::Waits => false,
        }
    }

    /// Takes the changes for a comparison. They are to be kept afterwards if that is not one of all reactions.
    pub(super) fn take_unseen(&mut self) -> Changed {
        self.unseen.take().unwrap_or_default()
    }

    pub(super) fn keep(&mut self, unseen: Changed) {
        self.unseen = Some(unseen);
    }
}
