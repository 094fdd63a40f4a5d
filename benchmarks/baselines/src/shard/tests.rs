//! The rules of both systems, at a leader whose log is this test.

use std::time::Duration;

use iolite_baseline_client::{
    Ask, Blocker, Get, Look, Outcome, Pair, Prepare, Read, Settlement, TransactionId, Validate, Value, Values,
};
use iolite_machine::WallTime;

use super::leading::refused;
use super::*;
use crate::command::Change;

const OWN: Leadership = Leadership { term: 1, node: 0 };
const OTHER: Leadership = Leadership { term: 2, node: 1 };
const DONE: Tell = Tell::Done(());
const REFUSED: fn() -> Tell = || refused(None);

/// A shard, and the log that its proposals go to when the test says so.
struct Bed {
    shard: Shard,
    now: Instant,
    index: u64,
    proposed: VecDeque<Command>,
    confirming: Vec<Ticket>,
    told: Vec<(u64, Tell)>,
}

impl Bed {
    /// A leader, with `x` and `y` at version 1.
    fn new(control: Control) -> Bed {
        let now = Instant::from_nanos(0);
        let (proposed, confirming, told) = (VecDeque::new(), Vec::new(), Vec::new());
        let mut bed = Bed { shard: Shard::new(0, control), now, index: 0, proposed, confirming, told };
        let pairs = ["x", "y"].map(|key| pair(key, "old")).into();
        bed.apply(OWN, Entry::First);
        bed.index = 0;
        let change = Some(Change::Load(crate::command::Loaded { pairs }));
        bed.apply(OWN, Entry::Command(Command { under: OWN, ticket: 0, change }));
        bed
    }

    fn give(&mut self, input: Input) {
        self.shard.handle(Now { instant: self.now, wall: WallTime::from_micros(0) }, input);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.shard.poll() {
            match output {
                Output::Reply(_, reply) => self.told.push((reply.id, reply.tell.expect("it tells something"))),
                Output::Propose(command) => self.proposed.push_back(command),
                Output::Confirm(ticket) => self.confirming.push(ticket),
            }
        }
        self.shard.validate();
    }

    fn apply(&mut self, leadership: Leadership, entry: Entry) {
        self.index += 1;
        self.give(Input::Applied { index: LogIndex(self.index), leadership, entry });
    }

    /// Applies all that was proposed, and confirms all that was to be.
    fn go_on(&mut self) {
        while let Some(command) = self.proposed.pop_front() {
            self.apply(OWN, Entry::Command(command));
        }
        let tickets = std::mem::take(&mut self.confirming);
        self.give(Input::Confirmed { tickets, leads: Leads::Yes });
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        let due = self.shard.deadline().is_some_and(|at| at <= self.now);
        if due {
            self.shard.on_deadline(Now { instant: self.now, wall: WallTime::from_micros(0) });
            self.drain();
        }
    }

    /// Asks as request `id`, on the link of the same number.
    fn ask(&mut self, id: u64, ask: Ask) {
        self.give(Input::Client(id, LinkEvent::Message(Request { id, ask: Some(ask) })));
    }

    /// What was told since the last time, by request.
    fn told(&mut self) -> Vec<(u64, Tell)> {
        std::mem::take(&mut self.told)
    }

    fn value(&mut self, key: &str) -> Value {
        self.ask(1000, Ask::Look(Look { keys: vec![key.into()] }));
        self.go_on();
        match self.told().pop() {
            Some((1000, Tell::Values(Values { mut values }))) => values.pop().expect("one was asked for"),
            other => panic!("{other:?}"),
        }
    }
}

fn of(number: u64) -> TransactionId {
    TransactionId { client: 7, number }
}

fn pair(key: &str, value: &str) -> Pair {
    Pair { key: key.into(), value: value.into() }
}

fn read(key: &str, version: u64) -> Read {
    Read { key: key.into(), version }
}

fn old(version: u64) -> Value {
    Value { value: Some("old".into()), version }
}

/// The smaller its number, the older it is.
fn get(number: u64, key: &str) -> Ask {
    Ask::Get(Get { transaction: of(number), age: number, key: key.into() })
}

fn prepare(number: u64, reads: &[Read], writes: &[&str]) -> Ask {
    let writes = writes.iter().map(|key| pair(key, "new")).collect();
    let (transaction, age, participants) = (of(number), number, vec![0]);
    Ask::Prepare(Prepare { transaction, age, reads: reads.to_vec(), writes, participants })
}

fn validate(number: u64, reads: &[Read]) -> Ask {
    Ask::Validate(Validate { transaction: of(number), reads: reads.to_vec() })
}

#[test]
fn a_transaction_is_prepared_once_the_log_has_it_and_seen_once_it_is_committed() {
    let mut bed = Bed::new(Control::Optimistic);
    bed.ask(1, get(1, "x"));
    assert_eq!(bed.told(), [(1, Tell::Value(old(1)))]);
    bed.ask(2, prepare(1, &[read("x", 1)], &["x"]));
    assert_eq!(bed.told(), [], "nothing is told that a majority does not have");
    bed.go_on();
    assert_eq!(bed.told(), [(2, DONE)]);
    bed.ask(3, get(2, "x"));
    assert_eq!(bed.told(), [(3, Tell::Value(old(1)))]);
    bed.ask(4, Ask::Commit(of(1)));
    bed.go_on();
    assert_eq!(bed.value("x"), Value { value: Some("new".into()), version: 3 });
}

#[test]
fn what_was_read_must_still_be_the_newest() {
    let mut bed = Bed::new(Control::Optimistic);
    bed.ask(1, prepare(1, &[], &["x"]));
    bed.go_on();
    bed.ask(2, Ask::Commit(of(1)));
    bed.go_on();
    bed.told();
    bed.ask(3, prepare(2, &[read("x", 1)], &["y"]));
    bed.ask(4, validate(3, &[read("x", 1)]));
    assert_eq!(bed.told(), [(3, REFUSED()), (4, REFUSED())]);
    assert_eq!(bed.proposed.len(), 0, "what is refused is not in the log");
}

#[test]
fn nobody_prepares_against_what_is_on_its_way_to_the_log() {
    let mut bed = Bed::new(Control::Optimistic);
    bed.ask(1, prepare(1, &[read("x", 1)], &["y"]));
    for (ask, why) in [
        (prepare(2, &[], &["y"]), "two would write y"),
        (prepare(3, &[], &["x"]), "x would be written, which one has read"),
        (prepare(4, &[read("y", 1)], &["z"]), "y was read, which one is about to write"),
        (validate(5, &[read("y", 1)]), "y may be written already, as others see it"),
    ] {
        bed.ask(2, ask);
        assert_eq!(bed.told(), [(2, REFUSED())], "{why}");
    }
    bed.ask(3, prepare(6, &[read("x", 1)], &["z"]));
    bed.go_on();
    assert_eq!(bed.told(), [(1, DONE), (3, DONE)], "two may read x");
}

#[test]
fn a_transaction_that_only_read_is_told_by_a_node_that_still_leads() {
    let mut bed = Bed::new(Control::Optimistic);
    bed.ask(1, validate(1, &[read("x", 1)]));
    assert_eq!(bed.told(), []);
    let tickets = std::mem::take(&mut bed.confirming);
    bed.give(Input::Confirmed { tickets, leads: Leads::No });
    assert_eq!(bed.told(), [(1, Tell::Unsure(()))]);
}

#[test]
fn who_leads_no_more_tells_that_it_is_unsure_and_what_it_proposed_does_nothing_under_another() {
    let mut bed = Bed::new(Control::Optimistic);
    bed.ask(1, prepare(1, &[], &["x"]));
    bed.apply(OTHER, Entry::First);
    assert_eq!(bed.told(), [(1, Tell::Unsure(()))]);
    let late = bed.proposed.pop_front().expect("it was proposed");
    bed.apply(OTHER, Entry::Command(late));
    bed.ask(2, get(2, "x"));
    assert_eq!(bed.told(), [(2, Tell::Moved(Moved { leader: Some(1) }))]);
    bed.apply(Leadership { term: 3, node: 0 }, Entry::First);
    bed.ask(3, Ask::Settle(of(1)));
    assert!(matches!(bed.proposed.pop_front(), Some(Command { change: Some(Change::Abort(one)), .. }) if one == of(1)));
}

#[test]
fn a_new_leader_keeps_the_locks_of_what_is_prepared() {
    let mut bed = Bed::new(Control::Locking);
    bed.ask(1, prepare(1, &[], &["x"]));
    bed.go_on();
    bed.apply(OTHER, Entry::First);
    bed.apply(Leadership { term: 3, node: 0 }, Entry::First);
    bed.told();
    bed.ask(2, get(2, "x"));
    assert_eq!(bed.told(), [], "it waits");
}

#[test]
fn what_is_prepared_for_long_is_shown_to_whom_it_stands_in_the_way_of() {
    let mut bed = Bed::new(Control::Optimistic);
    bed.ask(1, prepare(1, &[], &["x"]));
    bed.go_on();
    bed.pass(Duration::from_secs(2));
    bed.told();
    bed.ask(2, prepare(2, &[read("x", 1)], &["y"]));
    let blocker = Blocker { transaction: of(1), participants: vec![0] };
    assert_eq!(bed.told(), [(2, refused(Some(blocker)))]);
    bed.ask(3, Ask::Settle(of(1)));
    assert_eq!(bed.told(), [(3, Tell::Settled(Settlement { outcome: Outcome::Prepared.into() }))]);
}

#[test]
fn what_was_not_prepared_when_it_was_settled_never_is() {
    for control in [Control::Optimistic, Control::Locking] {
        let mut bed = Bed::new(control);
        bed.ask(1, Ask::Settle(of(1)));
        bed.ask(2, prepare(1, &[], &["x"]));
        bed.go_on();
        let aborted = Tell::Settled(Settlement { outcome: Outcome::Aborted.into() });
        assert_eq!(bed.told(), [(1, aborted), (2, REFUSED())]);
        assert_eq!(bed.value("x"), old(1), "and it holds no lock");
        bed.ask(3, prepare(1, &[], &["x"]));
        assert_eq!(bed.told(), [(3, REFUSED())]);
    }
}

#[test]
fn a_reader_waits_until_what_is_prepared_is_committed() {
    let mut bed = Bed::new(Control::Locking);
    bed.ask(1, prepare(1, &[], &["x"]));
    bed.go_on();
    bed.ask(2, get(2, "x"));
    assert_eq!(bed.told(), [(1, DONE)]);
    bed.ask(3, Ask::Commit(of(1)));
    bed.go_on();
    assert_eq!(bed.told(), [(2, Tell::Value(Value { value: Some("new".into()), version: 3 }))]);
}

#[test]
fn of_two_that_increment_a_key_the_older_goes_first_and_the_younger_runs_again() {
    let mut bed = Bed::new(Control::Locking);
    bed.ask(1, get(1, "x"));
    bed.ask(2, get(2, "x"));
    bed.told();
    bed.ask(4, prepare(2, &[read("x", 1)], &["x"]));
    assert_eq!(bed.told(), [], "the younger waits for the older");
    bed.ask(3, prepare(1, &[read("x", 1)], &["x"]));
    assert_eq!(bed.told(), [(4, REFUSED())], "the older takes its lock");
    bed.go_on();
    assert_eq!(bed.told(), [(3, DONE)]);
}

#[test]
fn who_lost_its_locks_is_refused_when_it_next_asks() {
    for next in [prepare(2, &[read("x", 1)], &["y"]), validate(2, &[read("x", 1)]), get(2, "y")] {
        let mut bed = Bed::new(Control::Locking);
        bed.ask(1, get(2, "x"));
        bed.ask(2, prepare(1, &[], &["x"]));
        bed.go_on();
        bed.told();
        bed.ask(3, next);
        bed.go_on();
        assert_eq!(bed.told(), [(3, REFUSED())]);
    }
}

#[test]
fn locks_for_what_was_read_are_gone_with_the_leader_that_had_them() {
    for next in [prepare(1, &[read("x", 1)], &["y"]), validate(1, &[read("x", 1)])] {
        let mut bed = Bed::new(Control::Locking);
        bed.ask(1, get(1, "x"));
        bed.apply(OTHER, Entry::First);
        bed.apply(Leadership { term: 3, node: 0 }, Entry::First);
        bed.told();
        bed.ask(2, next);
        assert_eq!(bed.told(), [(2, REFUSED())]);
    }
}

#[test]
fn an_older_one_waits_for_what_is_prepared_and_not_for_ever() {
    let mut bed = Bed::new(Control::Locking);
    bed.ask(1, prepare(2, &[], &["x"]));
    bed.go_on();
    bed.told();
    bed.ask(2, prepare(1, &[], &["x"]));
    bed.pass(Duration::from_secs(2));
    assert_eq!(bed.told(), []);
    bed.pass(Duration::from_secs(1));
    let blocker = Blocker { transaction: of(2), participants: vec![0] };
    assert_eq!(bed.told(), [(2, refused(Some(blocker)))]);
}

#[test]
fn a_client_that_is_gone_leaves_no_lock_but_of_what_is_prepared() {
    let mut bed = Bed::new(Control::Locking);
    bed.ask(1, get(1, "x"));
    bed.ask(2, prepare(2, &[], &["y"]));
    bed.go_on();
    for link in [1, 2] {
        bed.give(Input::Client(link, LinkEvent::Closed));
    }
    bed.told();
    bed.ask(3, prepare(3, &[], &["x"]));
    bed.ask(4, prepare(4, &[], &["y"]));
    bed.go_on();
    assert_eq!(bed.told(), [(3, DONE)]);
}
