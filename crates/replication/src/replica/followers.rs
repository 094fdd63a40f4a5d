//! Who wants to know when something commits: coordinators whose own commits are not the only ones.
//!
//! Invariants: whoever follows is told once, and of nothing that it has proposed itself. It is a hint: what is told rests on nothing, and when it is lost the
//! feed is closed later.
//! Source: Iolite's own (docs/protocols/feed.md).

use std::collections::BTreeMap;

use iolite_machine::{Now, PersistId};
use iolite_values::{CoordinatorId, Timestamp};

use super::Replica;
use crate::node::{Answer, MessageId};

#[derive(Clone, Debug, Default)]
pub(super) struct Followers {
    /// With the question that each asked last.
    waiting: BTreeMap<CoordinatorId, MessageId>,
    due: Vec<(CoordinatorId, MessageId, Timestamp)>,
}

impl Followers {
    /// What is here at the time of the answer, the answer tells.
    pub fn follow(&mut self, coordinator: CoordinatorId, question: MessageId) {
        self.waiting.insert(coordinator, question);
    }

    /// Something has committed.
    pub fn note(&mut self, at: Timestamp) {
        let proposer = at.coordinator();
        let own = self.waiting.remove(&proposer);
        let told = std::mem::take(&mut self.waiting).into_iter();
        self.due.extend(told.map(|(coordinator, question)| (coordinator, question, at)));
        self.waiting.extend(own.map(|question| (proposer, question)));
    }
}

impl Replica {
    pub(super) fn tell_followers(&mut self, now: Now) {
        for (coordinator, question, at) in std::mem::take(&mut self.followers.due) {
            self.reply(now, coordinator, question, PersistId::START, Answer::Stirred { at });
        }
    }
}
