//! Reads that may be much. Whatever else has come is done before them: those who read much hold up each other, and nobody else for longer than a turn takes.
//!
//! Invariants:
//! - in a turn so much is read, with what the read that passes it takes: one large read is done, or many small ones;
//! - a question waits once, however often it is asked meanwhile, and as it was asked last;
//! - coordinators take turns; of each so much waits and no more, the oldest, and of one of its lives.

use std::collections::BTreeMap;

use iolite_machine::Now;
use iolite_values::CoordinatorId;

use super::Replica;
use crate::node::{Ask, MessageId, Piece, Term, ToReplica};
use crate::reads::{interests_of, may_be_much};

/// Rows of tables and indexes, or kibibytes of answers, that are looked at in a turn.
pub const TURN_LOOKS_MAX: usize = 2048;

/// What a read takes beside these.
const READ_TAKES: usize = 32;

/// Bytes of questions that wait for one coordinator, about: what is more is not heard, and asked again.
pub const WAITING_BYTES_MAX: usize = 4 << 20;

/// Of a question beside what it names.
const QUESTION_BYTES: usize = 128;

#[derive(Clone, Debug, Default)]
pub(super) struct WaitingReads {
    of: BTreeMap<CoordinatorId, Waiting>,
    /// Who had the last turn.
    last: Option<CoordinatorId>,
    /// How much was looked at in this turn.
    looked: usize,
}

/// What waits for one coordinator.
#[derive(Clone, Debug, Default)]
struct Waiting {
    /// Of its latest life.
    term: Term,
    /// In the order in which it asked.
    questions: BTreeMap<MessageId, ToReplica>,
    bytes: usize,
}

impl WaitingReads {
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// A read has looked at so many rows.
    pub fn note_rows(&mut self, rows: usize) {
        self.looked = self.looked.saturating_add(rows);
    }

    /// Its answer has these.
    pub fn note_answer(&mut self, piece: &Piece) {
        let bytes: usize = piece.reply.rows.iter().map(|row| row.row.size_bytes()).sum();
        self.note_rows(bytes >> 10);
    }

    /// Takes a question that may be much, and returns any other. What is asked under a number takes the place of what was.
    pub fn hear(&mut self, message: ToReplica) -> Option<ToReplica> {
        if let Some(own) = self.of.get_mut(&message.from).filter(|own| own.term == message.term) {
            own.drop(message.id);
            if own.questions.is_empty() {
                self.of.remove(&message.from);
            }
        }
        if !may_be_much(&message.ask) {
            return Some(message);
        }
        self.add(message);
        None
    }

    /// The oldest questions are heard: where there is no room, later ones give way.
    fn add(&mut self, message: ToReplica) {
        let own = self.of.entry(message.from).or_default();
        if own.term < message.term {
            *own = Waiting { term: message.term, ..Waiting::default() };
        }
        let bytes = bytes_of(&message.ask);
        while own.bytes + bytes > WAITING_BYTES_MAX
            && let Some((last, _)) = own.questions.last_key_value().filter(|(last, _)| **last > message.id)
        {
            let last = *last;
            own.drop(last);
        }
        if own.questions.is_empty() || own.bytes + bytes <= WAITING_BYTES_MAX {
            own.bytes += bytes;
            own.questions.insert(message.id, message);
        }
    }

    fn take(&mut self) -> Option<ToReplica> {
        let later = self.last.and_then(|last| self.of.range(last..).map(|(id, _)| *id).find(|id| *id > last));
        let turn = later.or_else(|| self.of.keys().next().copied())?;
        self.last = Some(turn);
        let own = self.of.get_mut(&turn)?;
        let first = *own.questions.first_key_value()?.0;
        let message = own.drop(first)?;
        if own.questions.is_empty() {
            self.of.remove(&turn);
        }
        Some(message)
    }
}

impl Waiting {
    fn drop(&mut self, id: MessageId) -> Option<ToReplica> {
        let message = self.questions.remove(&id)?;
        self.bytes -= bytes_of(&message.ask);
        Some(message)
    }
}

impl Replica {
    /// A turn of the reads that wait.
    pub(super) fn read_waiting(&mut self, now: Now) {
        self.waiting_reads.looked = 0;
        while self.waiting_reads.looked < TURN_LOOKS_MAX
            && let Some(message) = self.waiting_reads.take()
        {
            // To look for changes is bounded (`CHANGES_LOOKS_MAX`), and may be much: nothing else is read after it.
            let is_last = matches!(message.ask, Ask::Changes { .. });
            self.waiting_reads.note_rows(if is_last { TURN_LOOKS_MAX } else { READ_TAKES });
            // The replica may have gone over to another group meanwhile.
            if self.admit(now, &message) {
                self.answer_admitted(now, message);
            }
        }
    }
}

/// About as much as it takes in memory.
fn bytes_of(ask: &Ask) -> usize {
    let interests = interests_of(ask).iter().map(|own| QUESTION_BYTES + own.size_bytes());
    QUESTION_BYTES + interests.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use iolite_store::ReadLimit;
    use iolite_values::{Interest, KeyRange, StoreIncarnation, TableId, Timestamp};

    use super::*;
    use crate::node::{Life, ShardId, View};

    fn coordinator(number: u16) -> CoordinatorId {
        CoordinatorId::new(number).expect("few coordinators")
    }

    fn question(from: u16, term: u32, number: u64, ask: Ask) -> ToReplica {
        // Lives are random, so a later one may have the smaller number.
        let id = MessageId { life: Life(100 - u64::from(term)), number };
        let (shard, view, store) = (ShardId::default(), View::default(), Some(StoreIncarnation::default()));
        ToReplica { from: coordinator(from), term: Term(term), id, store, shard, view, ask }
    }

    fn read(interest: Interest) -> Ask {
        Ask::ReadAt { interest, at: Timestamp::ZERO, limit: ReadLimit::NONE, looks: 1 }
    }

    fn range(bytes: usize) -> Interest {
        Interest::Range { table: TableId(1), range: KeyRange { lower: vec![1; bytes].into(), upper: None } }
    }

    /// Coordinators, terms and numbers of the questions, in the order of their turns.
    fn turns(asked: impl IntoIterator<Item = (u16, u32, u64)>) -> Vec<(u16, u32, u64)> {
        let mut waiting = WaitingReads::default();
        let asked = asked.into_iter().map(|(from, term, number)| question(from, term, number, read(range(1))));
        asked.for_each(|question| assert_eq!(waiting.hear(question), None));
        let order = std::iter::from_fn(|| waiting.take()).map(|own| (own.from.number(), own.term.0, own.id.number));
        let order = order.collect();
        assert!(waiting.is_empty());
        order
    }

    #[test]
    fn coordinators_take_turns_and_their_questions_have_their_order() {
        let order = [(1, 1, 1), (2, 1, 7), (3, 1, 4), (1, 1, 2), (3, 1, 5), (1, 1, 3)];
        assert_eq!(turns([(1, 1, 1), (1, 1, 2), (1, 1, 3), (3, 1, 4), (3, 1, 5), (2, 1, 7)]), order);
    }

    #[test]
    fn a_question_that_is_asked_again_while_it_waits_is_answered_once() {
        assert_eq!(turns([(1, 1, 1), (1, 1, 2), (1, 1, 1)]), [(1, 1, 1), (1, 1, 2)]);
    }

    #[test]
    fn what_an_earlier_life_asked_waits_no_more() {
        assert_eq!(turns([(1, 1, 8), (1, 2, 1)]), [(1, 2, 1)]);
    }

    #[test]
    fn so_much_waits_for_a_coordinator_and_of_more_the_latest_is_not_heard() {
        let mut waiting = WaitingReads::default();
        let bytes = WAITING_BYTES_MAX / 4 - 2 * QUESTION_BYTES;
        for number in [1, 2, 3, 4, 5, 2, 0] {
            waiting.hear(question(1, 1, number, read(range(bytes))));
        }
        waiting.hear(question(2, 1, 9, read(range(bytes))));
        let heard = std::iter::from_fn(|| waiting.take()).map(|own| own.id.number).collect::<Vec<_>>();
        assert_eq!(heard, [0, 9, 1, 2, 3]);
        waiting.hear(question(1, 1, 6, read(range(WAITING_BYTES_MAX))));
        assert!(!waiting.is_empty(), "one is always heard");
    }

    #[test]
    fn what_is_asked_for_nothing_in_the_end_is_not_read() {
        let mut waiting = WaitingReads::default();
        let empty = KeyRange::none();
        let nothing = read(Interest::Range { table: TableId(0), range: empty });
        for number in [1, 2] {
            waiting.hear(question(1, 1, number, read(range(3))));
        }
        let in_its_place = question(1, 1, 1, nothing);
        assert_eq!(waiting.hear(in_its_place.clone()), Some(in_its_place));
        assert_eq!(std::iter::from_fn(|| waiting.take()).map(|own| own.id.number).collect::<Vec<_>>(), [2]);
    }
}
