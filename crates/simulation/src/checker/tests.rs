//! Histories made by hand, each with one thing wrong that no broken variant makes.

use std::collections::BTreeMap;

use iolite_engine::Position;
use iolite_values::{ClientId, Counter, Id, Operation, StoreIncarnation, Timestamp, TransactionId, Write};
use iolite_wire::journal::{Completed, CompletedDecision, JournalRecord};

use super::{Invariant, check};
use crate::app::Call;
use crate::history::{Called, CalledAs, ClientIndex, End, EndedAs, History};

const CLIENT: ClientIndex = ClientIndex(0);

fn store(number: u128) -> StoreIncarnation {
    StoreIncarnation(Id::from_u128(number))
}

fn client() -> ClientId {
    ClientId(Id::from_u128(77))
}

fn at(micros: u64) -> Timestamp {
    Timestamp::end_of(micros)
}

/// Each call hits one counter once.
fn history(calls: &[(u64, CalledAs)]) -> History {
    let mut history = History::default();
    history.identities.insert(client(), CLIENT);
    history.versions.insert(CLIENT, crate::app::SchemaVersion::First);
    for (counter, called_as) in calls {
        let call = Call::Hit { key: 0, amount: 1 };
        let called = Called { durable: true, ..Called::new(call, *called_as, 0, 1) };
        history.calls.insert((CLIENT, Counter(*counter)), called);
    }
    history
}

fn commit(history: &mut History, of: StoreIncarnation, counter: u64, micros: u64) {
    let transaction = TransactionId { client: client(), counter: Counter(counter) };
    let write = Write { cell: crate::app::cell("hits", &[0], "value"), operation: Operation::Add(1) };
    let decision = CompletedDecision::Committed(vec![write]);
    let completed = Completed { transaction, attempt: iolite_values::Attempt(1), at: at(micros), decision };
    let journal = &mut history.stores.entry(of).or_default().journal;
    journal.insert(Position(journal.len() as u64), JournalRecord::Completed(completed));
}

fn end(history: &mut History, of: Option<StoreIncarnation>, counter: u64, how: EndedAs) {
    let called = history.calls.get_mut(&(CLIENT, Counter(counter))).expect("it was called");
    called.ends = BTreeMap::from([(of, End { at: 1, life: 1, how, confirmed_through: at(1_000) })]);
}

fn violated(history: &History) -> Option<Invariant> {
    check(history).err().map(|violation| violation.invariant)
}

#[test]
fn mutations_of_a_client_out_of_order_are_found() {
    let mut history = history(&[(1, CalledAs::Named), (2, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 10);
    commit(&mut history, store(1), 2, 20);
    assert_eq!(violated(&history), None);
    let journal = &mut history.stores.get_mut(&store(1)).expect("it is there").journal;
    journal.clear();
    commit(&mut history, store(1), 2, 10);
    commit(&mut history, store(1), 1, 20);
    assert_eq!(violated(&history), Some(Invariant::ClientOrder));
}

#[test]
fn a_closure_that_its_process_left_behind_may_come_late_and_no_other() {
    let mut history = history(&[(1, CalledAs::Closure), (2, CalledAs::Named)]);
    commit(&mut history, store(1), 2, 10);
    commit(&mut history, store(1), 1, 20);
    assert_eq!(violated(&history), None);
    end(&mut history, Some(store(1)), 1, EndedAs::Confirmed(at(20)));
    assert_eq!(violated(&history), Some(Invariant::ClientOrder));
}

#[test]
fn what_was_taken_back_takes_effect_in_no_history() {
    let mut history = history(&[(1, CalledAs::Named)]);
    end(&mut history, Some(store(1)), 1, EndedAs::Cancelled("taken back".into()));
    history.stores.insert(store(1), Default::default());
    assert_eq!(violated(&history), None);
    commit(&mut history, store(2), 1, 10);
    assert_eq!(violated(&history), Some(Invariant::Durability));
}

#[test]
fn a_mutation_may_take_effect_once_in_each_history() {
    let mut history = history(&[(1, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 10);
    commit(&mut history, store(2), 1, 5);
    assert_eq!(violated(&history), None);
    commit(&mut history, store(2), 1, 20);
    assert_eq!(violated(&history), Some(Invariant::ExactlyOnce));
}

#[test]
fn an_end_is_compared_with_the_history_that_it_was_told_in() {
    let mut history = history(&[(1, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 10);
    commit(&mut history, store(2), 1, 5);
    end(&mut history, Some(store(2)), 1, EndedAs::Confirmed(at(5)));
    assert_eq!(violated(&history), None);
    end(&mut history, Some(store(2)), 1, EndedAs::Confirmed(at(10)));
    assert_eq!(violated(&history), Some(Invariant::Durability));
}
