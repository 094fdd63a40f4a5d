//! Histories made by hand, each with one thing wrong: every check of the checker fails when it should, and by itself.

use std::collections::{BTreeMap, BTreeSet};

use iolite_client::{CallStatus, MutationStatus, Ticket, View};
use iolite_engine::{Position, RecoveredRecord};
use iolite_store::{Completion, CompletionDecision};
use iolite_values::{
    Attempt, ClientId, Counter, Decision, Id, Level, Operation, Read, StoreIncarnation, Timestamp, Transaction,
    TransactionId, Value, Write,
};
use iolite_wire::journal::{Completed, CompletedDecision, JournalRecord};
use iolite_wire::node::{ReplicaId, ShardId};

use super::{Invariant, check};
use crate::app::{Call, Model, SchemaVersion, Watcher};
use crate::history::{Called, CalledAs, ClientIndex, End, EndedAs, History, Moment, PendingThen, Sighting, TicketCall};

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
    history.versions.insert(CLIENT, SchemaVersion::First);
    for (counter, called_as) in calls {
        history.calls.insert((CLIENT, Counter(*counter)), called(*called_as, 0));
    }
    history
}

const ONE_HIT: Call = Call::Hit { key: 0, amount: 1 };

/// A call that is durable.
fn called(called_as: CalledAs, at: Moment) -> Called {
    Called { durable: true, ..Called::new(ONE_HIT, called_as, at, 1) }
}

fn issued(counter: u64) -> TransactionId {
    TransactionId { client: client(), counter: Counter(counter) }
}

fn hit(amount: i64) -> Write {
    Write { cell: crate::app::cell("hits", &[0], "value"), operation: Operation::Add(amount) }
}

fn commit(history: &mut History, of: StoreIncarnation, counter: u64, micros: u64) {
    add_record(history, of, issued(counter), Some(hit(1)), micros);
}

/// Without a write it is an abort.
fn add_record(
    history: &mut History,
    of: StoreIncarnation,
    transaction: TransactionId,
    write: Option<Write>,
    micros: u64,
) {
    add_records(history, of, transaction, write.map(|write| vec![write]), micros);
}

fn add_records(
    history: &mut History,
    of: StoreIncarnation,
    transaction: TransactionId,
    writes: Option<Vec<Write>>,
    micros: u64,
) {
    let decision = writes.map_or(CompletedDecision::Aborted, CompletedDecision::Committed);
    let completed = Completed {
        transaction,
        attempt: iolite_values::Attempt(1),
        at: at(micros),
        level: Level::Strict,
        decision,
        is_home: true,
    };
    let own = history.stores.entry(of).or_default().replicas.entry(ReplicaId(0)).or_default();
    let journal = &mut own.journal;
    journal.insert(Position(journal.len() as u64), JournalRecord::Completed(completed));
}

const REPLICA: (ReplicaId, ShardId) = (ReplicaId(0), ShardId(0));

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
    let replicas = &mut history.stores.get_mut(&store(1)).expect("it is there").replicas;
    replicas.clear();
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

fn of_other_client(history: &mut History, called_at: Moment, micros: u64) {
    let (index, own) = (ClientIndex(1), ClientId(Id::from_u128(78)));
    history.identities.insert(own, index);
    history.versions.insert(index, SchemaVersion::First);
    history.calls.insert((index, Counter(1)), called(CalledAs::Named, called_at));
    add_record(history, store(1), TransactionId { client: own, counter: Counter(1) }, Some(hit(1)), micros);
}

#[test]
fn a_mutation_that_comes_before_one_that_had_ended_is_found() {
    let with_call_at = |moment| {
        let mut history = history(&[(1, CalledAs::Named)]);
        commit(&mut history, store(1), 1, 20);
        end(&mut history, Some(store(1)), 1, EndedAs::Confirmed(at(20)));
        of_other_client(&mut history, moment, 10);
        history
    };
    assert_eq!(violated(&with_call_at(1)), None, "they were concurrent");
    assert_eq!(violated(&with_call_at(2)), Some(Invariant::RealTime));
}

#[test]
fn writes_that_a_closure_would_not_have_made_are_found() {
    let mut history = history(&[(1, CalledAs::Named)]);
    add_record(&mut history, store(1), issued(1), Some(hit(2)), 10);
    assert_eq!(violated(&history), Some(Invariant::Serializability));
}

#[test]
fn an_abort_of_a_closure_that_would_have_committed_is_found() {
    let mut history = history(&[(1, CalledAs::Named)]);
    add_record(&mut history, store(1), issued(1), None, 10);
    assert_eq!(violated(&history), Some(Invariant::Serializability));
}

#[test]
fn an_effect_of_what_was_not_durable_is_found() {
    let mut history = history(&[(1, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 10);
    history.calls.get_mut(&(CLIENT, Counter(1))).expect("it was called").durable = false;
    assert_eq!(violated(&history), Some(Invariant::Durability));
}

const HITS: Watcher = Watcher::Pair { key: 0 };

/// What the watcher sees after so many hits.
fn text(hits: usize) -> String {
    let mut model = Model::default();
    (0..hits).for_each(|_| model.apply(&[hit(1)]));
    HITS.run(&mut model).expect("nothing is missing in a model")
}

fn sighting(view: View, micros: u64, hits: usize) -> Sighting {
    Sighting {
        client: CLIENT,
        life: 1,
        store: Some(store(1)),
        version: SchemaVersion::First,
        watcher: HITS,
        view,
        at: at(micros),
        pending: Vec::new(),
        text: text(hits),
        alive: BTreeSet::new(),
        heard: BTreeSet::new(),
    }
}

#[test]
fn a_snapshot_of_another_moment_is_found() {
    let mut history = history(&[(1, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 10);
    for (micros, hits) in [(9, 0), (10, 1)] {
        history.sightings = vec![sighting(View::Confirmed, micros, hits)];
        assert_eq!(violated(&history), None);
        history.sightings = vec![sighting(View::Confirmed, micros, 1 - hits)];
        assert_eq!(violated(&history), Some(Invariant::ReactiveSnapshot));
    }
}

#[test]
fn a_view_without_a_pending_mutation_that_belongs_to_it_is_found() {
    let mut history = history(&[(1, CalledAs::Named), (2, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 10);
    for (view, durable, hits) in
        [(View::Optimistic, false, 2), (View::Durable, false, 1), (View::Durable, true, 2), (View::Confirmed, true, 1)]
    {
        let pending = PendingThen { counter: Counter(2), durable, is_hidden: false };
        let seen = |hits| Sighting { pending: vec![pending.clone()], ..sighting(view, 10, hits) };
        history.sightings = vec![seen(hits)];
        assert_eq!(violated(&history), None);
        history.sightings = vec![seen(3 - hits)];
        assert_eq!(violated(&history), Some(Invariant::ReactiveSnapshot));
    }
}

#[test]
fn a_mutation_that_is_pending_on_the_state_that_contains_it_is_found() {
    let mut history = history(&[(1, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 10);
    let pending = PendingThen { counter: Counter(1), durable: true, is_hidden: false };
    let seen = |micros, hits| Sighting { pending: vec![pending.clone()], ..sighting(View::Optimistic, micros, hits) };
    history.sightings = vec![seen(9, 1)];
    assert_eq!(violated(&history), None);
    history.sightings = vec![seen(10, 2)];
    assert_eq!(violated(&history), Some(Invariant::PendingOnce));
}

#[test]
fn a_mutation_that_its_own_client_does_not_see_is_found() {
    let mut history = history(&[(1, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 10);
    let seen = |micros, hits| Sighting { alive: [Counter(1)].into(), ..sighting(View::Optimistic, micros, hits) };
    history.sightings = vec![seen(10, 1)];
    assert_eq!(violated(&history), None);
    history.sightings = vec![seen(9, 0)];
    assert_eq!(violated(&history), Some(Invariant::OwnWritesVisible));
}

#[test]
fn a_state_that_goes_back_is_found() {
    let mut history = history(&[(1, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 10);
    let in_life = |life, micros, hits| Sighting { life, ..sighting(View::Confirmed, micros, hits) };
    history.sightings = vec![in_life(1, 10, 1), in_life(2, 9, 0)];
    assert_eq!(violated(&history), None, "another life may begin behind");
    history.sightings = vec![in_life(1, 10, 1), in_life(1, 9, 0)];
    assert_eq!(violated(&history), Some(Invariant::MonotonicReads));
}

fn ticket(history: &mut History, counters: &[u64], told: Vec<CallStatus>) {
    let mut called = TicketCall::new(CLIENT, ONE_HIT, 0);
    called.counters = counters.iter().copied().map(Counter).collect();
    (called.stored, called.told) = (true, told);
    history.tickets.insert(Ticket(Id::from_u128(5)), called);
}

#[test]
fn a_call_of_a_tab_that_takes_effect_twice_is_found() {
    let mut history = history(&[(1, CalledAs::Named), (2, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 10);
    ticket(&mut history, &[1, 2], vec![CallStatus::ConfirmedEarlier]);
    assert_eq!(violated(&history), None);
    commit(&mut history, store(1), 2, 20);
    assert_eq!(violated(&history), Some(Invariant::ExactlyOnce));
}

#[test]
fn a_call_of_a_tab_that_is_lost_or_told_a_wrong_end_is_found() {
    let mut history = history(&[(1, CalledAs::Named)]);
    history.stores.insert(store(1), Default::default());
    ticket(&mut history, &[], Vec::new());
    assert_eq!(violated(&history), Some(Invariant::Durability), "stored, and nobody heard of it again");
    ticket(&mut history, &[1], vec![CallStatus::ConfirmedEarlier]);
    assert_eq!(violated(&history), Some(Invariant::Durability), "told confirmed, and it is not");
    commit(&mut history, store(1), 1, 10);
    assert_eq!(violated(&history), None);
}

#[test]
fn a_call_of_a_tab_may_vanish_when_the_app_asked_to_take_it_back() {
    let mut history = history(&[(1, CalledAs::Named)]);
    history.stores.insert(store(1), Default::default());
    ticket(&mut history, &[1], Vec::new());
    assert_eq!(violated(&history), Some(Invariant::Durability));
    history.asked_back.insert((CLIENT, Counter(1)));
    assert_eq!(violated(&history), None, "by the counter that it had in the queue");
}

#[test]
#[should_panic(expected = "a durable record is lost")]
fn a_journal_that_comes_back_without_a_durable_record_is_found() {
    let mut history = history(&[(1, CalledAs::Named)]);
    history.recovered(store(1), REPLICA, Position(1), &[]);
    history.note_record(REPLICA.0, Position(1), JournalRecord::Ceiling(at(1)));
    history.note_durable(REPLICA.0, Position(1));
    history.recovered(store(1), REPLICA, Position(1), &[]);
}

#[test]
fn two_transactions_at_one_timestamp_are_found() {
    let mut history = history(&[(1, CalledAs::Named), (2, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 10);
    commit(&mut history, store(1), 2, 10);
    assert_eq!(violated(&history), Some(Invariant::ExactlyOnce));
}

#[test]
fn a_confirmation_ahead_of_the_state_that_contains_it_is_found() {
    let mut history = history(&[(1, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 1_001);
    end(&mut history, Some(store(1)), 1, EndedAs::Confirmed(at(1_001)));
    assert_eq!(violated(&history), Some(Invariant::Durability), "the client's state was at 1,000 then");
}

#[test]
fn a_rejection_of_what_took_effect_or_was_never_decided_is_found() {
    let mut history = history(&[(1, CalledAs::Named)]);
    history.stores.insert(store(1), Default::default());
    end(&mut history, Some(store(1)), 1, EndedAs::Rejected("no".into()));
    assert_eq!(violated(&history), Some(Invariant::Durability), "nothing says that it cannot take effect yet");
    commit(&mut history, store(1), 1, 10);
    assert_eq!(violated(&history), Some(Invariant::Durability));
}

#[test]
fn a_tab_that_is_told_of_another_end_than_the_recorded_one_is_found() {
    let mut history = history(&[(1, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 10);
    let confirmed = MutationStatus::Confirmed { at: at(10) };
    let rejected = MutationStatus::Rejected { reason: "no".into() };
    for (counter, status, expected) in [
        (1, confirmed.clone(), None),
        (2, confirmed, Some(Invariant::Durability)),
        (1, rejected, Some(Invariant::Durability)),
    ] {
        ticket(&mut history, &[1], vec![CallStatus::Ended(Counter(counter), status)]);
        assert_eq!(violated(&history), expected);
    }
}

#[test]
#[should_panic(expected = "a record changed on the disk")]
fn a_journal_that_comes_back_with_another_record_is_found() {
    let mut history = history(&[(1, CalledAs::Named)]);
    history.recovered(store(1), REPLICA, Position(1), &[]);
    history.note_record(REPLICA.0, Position(1), JournalRecord::Ceiling(at(1)));
    let bytes = JournalRecord::Ceiling(at(2)).encode().expect("it is short");
    history.recovered(store(1), REPLICA, Position(2), &[RecoveredRecord { position: Position(1), bytes }]);
}

/// A gateway gives the store a transaction that is told, and commits at `micros`.
fn at_gateway(history: &mut History, counter: u64, write: Write, submitted: Moment, micros: u64) {
    at_gateway_with(history, counter, (Vec::new(), vec![write]), submitted, micros);
}

fn at_gateway_with(
    history: &mut History,
    counter: u64,
    (reads, writes): (Vec<Read>, Vec<Write>),
    submitted: Moment,
    micros: u64,
) {
    let (id, attempt) = (issued(counter), Attempt(1));
    let calls = history.calls_of_stores.entry(store(1)).or_default();
    let decision = Decision::Commit(writes.clone());
    calls.note_submission(
        submitted,
        &Transaction { id, attempt, snapshot: Timestamp::ZERO, reads, level: Level::Strict, decision },
    );
    let completion = Completion { attempt, at: at(micros), decision: CompletionDecision::Committed };
    calls.note_report(submitted + 1, id, &completion);
    add_records(history, store(1), id, Some(writes), micros);
}

fn put(value: i64) -> Write {
    Write { cell: crate::app::cell("numbers", &[0], "value"), operation: Operation::Put(Value::Int(value)) }
}

#[test]
fn a_write_that_began_after_another_one_was_told_and_comes_before_it_is_found() {
    let run = |second: Moment| {
        let mut history = History::default();
        history.identities.insert(client(), CLIENT);
        history.versions.insert(CLIENT, SchemaVersion::First);
        at_gateway(&mut history, 1, put(1), 10, 20);
        at_gateway(&mut history, 2, put(2), second, 10);
        let commits = super::Commits::collect(&history, &history.stores[&store(1)]).expect("they are no two");
        super::strict::check(&history, store(1), &commits).err()
    };
    assert_eq!(run(11), None, "they overlapped");
    let violation = run(12).expect("they did not");
    assert_eq!(violation.invariant, Invariant::Strictness);
    assert_eq!(violation.cycle.expect("it says which").steps.len(), 2);
}

#[test]
fn writes_that_commute_may_be_told_in_any_order() {
    let mut history = History::default();
    history.identities.insert(client(), CLIENT);
    at_gateway(&mut history, 1, hit(1), 10, 20);
    at_gateway(&mut history, 2, hit(1), 12, 10);
    let commits = super::Commits::collect(&history, &history.stores[&store(1)]).expect("they are no two");
    assert_eq!(super::strict::check(&history, store(1), &commits), Ok(()));
}

#[test]
fn an_end_that_only_a_gateway_was_told_has_to_be_recorded() {
    let mut history = history(&[(1, CalledAs::Named)]);
    at_gateway(&mut history, 1, hit(1), 10, 20);
    assert_eq!(violated(&history), None);
    history.stores.get_mut(&store(1)).expect("it is there").replicas.clear();
    assert_eq!(violated(&history), Some(Invariant::Durability));
}

mod delivery;
mod levels;
mod queries;
mod room;
mod splits;
mod texts;
