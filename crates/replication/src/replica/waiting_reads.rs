//! Reads that may be much. Whatever else has come is done before them: those who read much hold up each other, and nobody else for longer than a turn takes.
//!
//! Invariants:
//! - in a turn so many rows are looked at, and by its last read up to as many again: one large read is done, or many small ones;
//! - a question waits once, however often it is asked meanwhile;
//! - coordinators take turns, and of one nothing waits that an earlier life of it asked.

use std::collections::BTreeMap;

use iolite_machine::Now;
use iolite_values::{CoordinatorId, Interest};

use super::Replica;
use crate::coordinator::READ_LOOKS_MAX;
use crate::node::{Ask, MessageId, ToReplica};

/// What a read takes beside the rows that it looks at, in rows.
const READ_TAKES: usize = 32;

#[derive(Clone, Debug, Default)]
pub(super) struct WaitingReads {
    /// In the order in which each asks.
    of: BTreeMap<CoordinatorId, BTreeMap<MessageId, ToReplica>>,
    /// Who had the last turn.
    last: Option<CoordinatorId>,
    /// Rows that were looked at in this turn.
    looked: usize,
}

impl WaitingReads {
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// A read has looked at so many rows.
    pub fn note_looked(&mut self, rows: usize) {
        self.looked += rows;
    }

    fn add(&mut self, message: ToReplica) {
        let own = self.of.entry(message.from).or_default();
        let latest = own.last_key_value().map(|(id, _)| id.life);
        if latest.is_some_and(|life| life < message.id.life) {
            own.clear();
        }
        if latest.is_none_or(|life| life <= message.id.life) {
            own.insert(message.id, message);
        }
    }

    fn take(&mut self) -> Option<ToReplica> {
        let later = self.last.and_then(|last| self.of.range(last..).map(|(id, _)| *id).find(|id| *id > last));
        let turn = later.or_else(|| self.of.keys().next().copied())?;
        self.last = Some(turn);
        let own = self.of.get_mut(&turn)?;
        let (_, message) = own.pop_first()?;
        if own.is_empty() {
            self.of.remove(&turn);
        }
        Some(message)
    }
}

impl Replica {
    /// Takes a question to answer now, or lets it wait.
    pub(super) fn on_question(&mut self, now: Now, message: ToReplica) {
        if may_be_much(&message.ask) {
            self.waiting_reads.add(message);
        } else {
            self.on_coordinator(now, message);
        }
    }

    /// A turn of the reads that wait.
    pub(super) fn read_waiting(&mut self, now: Now) {
        self.waiting_reads.looked = 0;
        while self.waiting_reads.looked < READ_LOOKS_MAX
            && let Some(message) = self.waiting_reads.take()
        {
            // How much it takes to look for changes is not known: nothing else is read after it.
            let is_last = matches!(message.ask, Ask::Changes { .. });
            self.waiting_reads.looked += if is_last { READ_LOOKS_MAX } else { READ_TAKES };
            self.on_coordinator(now, message);
        }
    }
}

fn may_be_much(ask: &Ask) -> bool {
    match ask {
        Ask::ReadAt { interest, .. } => !matches!(interest, Interest::Cell(_)),
        Ask::Changes { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use iolite_values::{StoreIncarnation, Timestamp};

    use super::*;
    use crate::node::{Life, ShardId, Term, View};

    fn coordinator(number: u16) -> CoordinatorId {
        CoordinatorId::new(number).expect("few coordinators")
    }

    fn message(from: u16, life: u64, number: u64) -> ToReplica {
        let ask = Ask::Changes { interests: Vec::new(), after: Timestamp::ZERO, through: Timestamp::ZERO };
        let id = MessageId { life: Life(life), number };
        let (shard, view, store) = (ShardId::default(), View::default(), Some(StoreIncarnation::default()));
        ToReplica { from: coordinator(from), term: Term(1), id, store, shard, view, ask }
    }

    /// Coordinators, lives and numbers of the questions, in the order of their turns.
    fn turns(asked: impl IntoIterator<Item = (u16, u64, u64)>) -> Vec<(CoordinatorId, u64, u64)> {
        let mut waiting = WaitingReads::default();
        asked.into_iter().for_each(|(from, life, number)| waiting.add(message(from, life, number)));
        let order = std::iter::from_fn(|| waiting.take()).map(|own| (own.from, own.id.life.0, own.id.number)).collect();
        assert!(waiting.is_empty());
        order
    }

    #[test]
    fn coordinators_have_turns_and_their_questions_their_order() {
        let order =
            [(1, 1), (2, 7), (3, 4), (1, 2), (3, 5), (1, 3)].map(|(from, number)| (coordinator(from), 1, number));
        assert_eq!(turns([(1, 1, 1), (1, 1, 2), (1, 1, 3), (3, 1, 4), (3, 1, 5), (2, 1, 7)]), order);
    }

    #[test]
    fn a_question_that_is_asked_again_while_it_waits_is_answered_once() {
        assert_eq!(turns([(1, 1, 1), (1, 1, 2), (1, 1, 1)]), [(coordinator(1), 1, 1), (coordinator(1), 1, 2)]);
    }

    #[test]
    fn what_an_earlier_life_asked_waits_no_more_and_what_comes_of_it_late_does_not_either() {
        assert_eq!(turns([(1, 1, 8), (1, 2, 1), (1, 1, 9)]), [(coordinator(1), 2, 1)]);
    }
}
