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
    by_coordinator: BTreeMap<CoordinatorId, Follower>,
    due: Vec<(CoordinatorId, MessageId, Timestamp)>,
}

#[derive(Clone, Copy, Debug)]
struct Follower {
    /// The last question that it asked.
    question: MessageId,
    hint: Hint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hint {
    Owed,
    /// Until it asks again, it knows that there is something.
    Given,
}

impl Followers {
    /// What is here at the time of the answer, the answer tells. A question that comes once more, or late, changes nothing.
    pub fn follow(&mut self, coordinator: CoordinatorId, question: MessageId) {
        let asked = Follower { question, hint: Hint::Owed };
        let own = self.by_coordinator.entry(coordinator).or_insert(asked);
        if own.question.life != question.life || own.question.number < question.number {
            *own = asked;
        }
    }

    /// Something has committed.
    pub fn note(&mut self, at: Timestamp) {
        let proposer = at.coordinator();
        let others = self.by_coordinator.iter_mut().filter(|(coordinator, _)| **coordinator != proposer);
        for (coordinator, own) in others.filter(|(_, own)| own.hint == Hint::Owed) {
            own.hint = Hint::Given;
            self.due.push((*coordinator, own.question, at));
        }
    }
}

impl Replica {
    pub(super) fn tell_followers(&mut self, now: Now) {
        for (coordinator, question, at) in std::mem::take(&mut self.followers.due) {
            self.reply(now, coordinator, question, PersistId::START, Answer::Stirred { at });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Life;

    #[test]
    fn a_question_that_comes_once_more_or_late_asks_for_nothing() {
        let [own, other] = [1, 2].map(|number| CoordinatorId::new(number).expect("a small number"));
        let question = |number| MessageId { life: Life(7), number };
        let mut followers = Followers::default();
        let told = |followers: &mut Followers, micros| {
            followers.note(Timestamp::new(micros, other));
            std::mem::take(&mut followers.due).len()
        };
        followers.follow(own, question(5));
        assert_eq!(told(&mut followers, 1), 1);
        followers.follow(own, question(5));
        followers.follow(own, question(4));
        assert_eq!(told(&mut followers, 2), 0);
        followers.follow(own, question(6));
        assert_eq!(told(&mut followers, 3), 1);
    }
}
