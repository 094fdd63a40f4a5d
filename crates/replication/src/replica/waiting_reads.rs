//! Reads that may be much. Whatever else has come is done before them: those who read much hold up each other, and nobody else for longer than a turn takes.
//!
//! Invariants:
//! - in a turn so much is read, and by its last read up to a piece more: one large read is done, or many small ones;
//! - a question waits once, however often it is asked meanwhile, and as it was asked last;
//! - coordinators take turns; of each so much waits and no more, and nothing that an earlier life of it asked.

use std::collections::BTreeMap;

use iolite_machine::Now;
use iolite_values::{CoordinatorId, Interest};

use super::Replica;
use crate::node::{Ask, MessageId, Term, ToReplica};

/// Rows of tables and indexes, or kibibytes of answers, that are looked at in a turn.
pub const TURN_LOOKS_MAX: usize = 2048;

/// What a read takes beside these.
const READ_TAKES: usize = 32;

/// Bytes of questions that wait for one coordinator, about: who has more is not heard, and asks again.
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

    /// A read has looked at so many rows, and its answer has so many bytes.
    pub fn note_looked(&mut self, rows: usize, bytes: usize) {
        self.looked = self.looked.saturating_add(rows).saturating_add(bytes >> 10);
    }

    /// Takes a question that may be much, and returns any other. What is asked under a number takes the place of what was.
    pub fn hear(&mut self, message: ToReplica) -> Option<ToReplica> {
        self.drop(message.from, message.id);
        if !may_be_much(&message.ask) {
            return Some(message);
        }
        self.add(message);
        None
    }

    fn add(&mut self, message: ToReplica) {
        let own = self.of.entry(message.from).or_default();
        if own.term < message.term {
            *own = Waiting { term: message.term, ..Waiting::default() };
        }
        let bytes = bytes_of(&message.ask);
        let fits = own.questions.is_empty() || own.bytes + bytes <= WAITING_BYTES_MAX;
        if own.term == message.term && fits {
            own.bytes += bytes;
            own.questions.insert(message.id, message);
        }
    }

    fn drop(&mut self, from: CoordinatorId, id: MessageId) {
        let Some(own) = self.of.get_mut(&from) else { return };
        own.bytes -= own.questions.remove(&id).map_or(0, |before| bytes_of(&before.ask));
        if own.questions.is_empty() {
            self.of.remove(&from);
        }
    }

    fn take(&mut self) -> Option<ToReplica> {
        let later = self.last.and_then(|last| self.of.range(last..).map(|(id, _)| *id).find(|id| *id > last));
        let turn = later.or_else(|| self.of.keys().next().copied())?;
        self.last = Some(turn);
        let own = self.of.get_mut(&turn)?;
        let (_, message) = own.questions.pop_first()?;
        own.bytes -= bytes_of(&message.ask);
        if own.questions.is_empty() {
            self.of.remove(&turn);
        }
        Some(message)
    }
}

impl Replica {
    /// Takes a question to answer now, or lets it wait.
    pub(super) fn on_question(&mut self, now: Now, message: ToReplica) {
        if let Some(message) = self.waiting_reads.hear(message) {
            self.on_coordinator(now, message);
        }
    }

    /// A turn of the reads that wait.
    pub(super) fn read_waiting(&mut self, now: Now) {
        self.waiting_reads.looked = 0;
        while self.waiting_reads.looked < TURN_LOOKS_MAX
            && let Some(message) = self.waiting_reads.take()
        {
            // How much it takes to look for changes is not known: nothing else is read after it.
            let is_last = matches!(message.ask, Ask::Changes { .. });
            self.waiting_reads.note_looked(if is_last { TURN_LOOKS_MAX } else { READ_TAKES }, 0);
            self.on_coordinator(now, message);
        }
    }
}

fn may_be_much(ask: &Ask) -> bool {
    match ask {
        Ask::ReadAt { interest: Interest::Cell(_), .. } => false,
        Ask::ReadAt { interest: Interest::Range { table: _, range }, .. } => !range.is_of_one_row(),
        Ask::ReadAt { interest: Interest::Query(_), .. } | Ask::Changes { .. } => true,
        Ask::Open
        | Ask::Begin
        | Ask::Prepare { .. }
        | Ask::Finalise { .. }
        | Ask::Poll { .. }
        | Ask::Outcome { .. }
        | Ask::Close { .. }
        | Ask::CloseList { .. }
        | Ask::Resolved { .. }
        | Ask::Validate { .. }
        | Ask::Acknowledge { .. }
        | Ask::Report
        | Ask::Configured { .. } => false,
    }
}

/// About as much as it takes in memory.
fn bytes_of(ask: &Ask) -> usize {
    let of_interests = |interests: &[Interest]| interests.iter().map(|own| QUESTION_BYTES + own.size_bytes()).sum();
    match ask {
        Ask::ReadAt { interest, .. } => QUESTION_BYTES + interest.size_bytes(),
        Ask::Changes { interests, .. } => of_interests(interests),
        _ => QUESTION_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use iolite_store::ReadLimit;
    use iolite_values::{KeyRange, Query, StoreIncarnation, TableId, Timestamp};

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
    fn what_an_earlier_life_asked_waits_no_more_and_what_comes_of_it_late_does_not_either() {
        assert_eq!(turns([(1, 1, 8), (1, 2, 1), (1, 1, 9)]), [(1, 2, 1)]);
    }

    #[test]
    fn so_much_waits_for_a_coordinator_and_who_asks_for_more_is_not_heard() {
        let mut waiting = WaitingReads::default();
        let bytes = WAITING_BYTES_MAX / 4 - QUESTION_BYTES;
        // What is there already is taken once more: it may be asked in a later view.
        for number in [1, 2, 3, 4, 5, 2] {
            waiting.hear(question(1, 1, number, read(range(bytes))));
        }
        waiting.hear(question(2, 1, 9, read(range(bytes))));
        let heard = std::iter::from_fn(|| waiting.take()).map(|own| own.id.number).collect::<Vec<_>>();
        assert_eq!(heard, [1, 9, 2, 3, 4]);
        waiting.hear(question(1, 1, 6, read(range(WAITING_BYTES_MAX))));
        assert!(!waiting.is_empty(), "one is always heard");
    }

    #[test]
    fn what_is_asked_for_nothing_in_the_end_is_not_read() {
        let mut waiting = WaitingReads::default();
        let empty = KeyRange { lower: Arc::new([]), upper: Some(Arc::new([])) };
        let nothing = read(Interest::Range { table: TableId(0), range: empty });
        for number in [1, 2] {
            waiting.hear(question(1, 1, number, read(range(3))));
        }
        let in_its_place = question(1, 1, 1, nothing);
        assert_eq!(waiting.hear(in_its_place.clone()), Some(in_its_place));
        assert_eq!(std::iter::from_fn(|| waiting.take()).map(|own| own.id.number).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn what_is_one_row_does_not_wait() {
        let one = KeyRange { lower: Arc::new([7]), upper: Some(Arc::new([7, 0])) };
        let none = KeyRange { lower: Arc::new([]), upper: Some(Arc::new([])) };
        for range in [one, none] {
            assert!(!may_be_much(&read(Interest::Range { table: TableId(1), range })));
        }
        assert!(may_be_much(&read(range(3))));
        assert!(may_be_much(&read(Interest::Query(Arc::new(Query::all(TableId(1), true))))));
    }
}
