//! Proposals: what is decided, what has to come later, what has to run again.

use iolite_machine::PersistId;
use iolite_store::{CompletionDecision, Refusal};
use iolite_values::{
    Attempt, Author, Counter, Decision, Edit, Id, Insertion, Level, ListOrder, Operation, StoreIncarnation, Timestamp,
    Unit, UnitRange, Value,
};

use super::bench::{
    Bench, Prepared, Said, accepted, add, at, blind, cell, completion, id, objected, prepare, put, read, reading, write,
};
use super::group::{Trio, id_of};
use crate::journal::{Completed, CompletedDecision, JournalRecord, RECORD_BYTES_MAX, ROW_BYTES_MAX, row_bytes};
use crate::node::{Answer, Ask, Objection, Opened, Outcome, Term};

#[test]
fn a_proposal_is_decided_by_one_record_and_answered_after_it() {
    let mut bench = Bench::new();
    let transaction = add(1, 1);
    let record = Completed {
        transaction: id(1),
        attempt: Attempt(1),
        at: at(1),
        level: Level::Strict,
        decision: CompletedDecision::Committed(transaction.writes().to_vec()),
        is_home: true,
    };
    let ask = prepare(&transaction, at(1));
    assert_eq!(
        bench.ask(ask.clone()),
        [Said::Record(PersistId(1), JournalRecord::Completed(record)), Said::Answer(PersistId(1), accepted())]
    );
    let known = objected(Objection::Completed(completion(1, at(1), CompletionDecision::Committed)));
    assert_eq!(bench.ask(ask), [Said::Answer(PersistId(1), known)], "asked again, it decides nothing again");
}

#[test]
fn an_abort_is_recorded_without_writes() {
    let mut bench = Bench::new();
    let mut transaction = reading(1, Timestamp::ZERO, vec![read(1)], Vec::new());
    transaction.decision = Decision::Abort("no".into());
    let decision = CompletedDecision::Aborted;
    let record =
        Completed { transaction: id(1), attempt: Attempt(1), at: at(1), level: Level::Strict, decision, is_home: true };
    assert_eq!(
        bench.ask(prepare(&transaction, at(1))),
        [Said::Record(PersistId(1), JournalRecord::Completed(record)), Said::Answer(PersistId(1), accepted())]
    );
    assert_eq!(bench.prepare(&put(2, 1), at(1)), Prepared::Retry { above: at(1) }, "what it read holds until there");
}

#[test]
fn an_acknowledgement_is_one_record_and_makes_a_copy_forgotten() {
    let mut bench = Bench::new();
    bench.commit(&add(1, 1), at(1));
    let ask = Ask::Acknowledge { client: id(1).client, through: Counter(1) };
    let record = JournalRecord::Acknowledged { client: id(1).client, through: Counter(1) };
    assert_eq!(
        bench.ask(ask.clone()),
        [Said::Record(PersistId(2), record), Said::Answer(PersistId(2), Answer::Acknowledged)]
    );
    assert_eq!(bench.ask(ask), [Said::Answer(PersistId(2), Answer::Acknowledged)]);
    assert_eq!(bench.prepare(&add(1, 1), at(2)), Prepared::Forgotten);
}

#[test]
fn nothing_commits_at_or_below_the_barrier() {
    let mut bench = Bench::new();
    bench.close(at(5));
    assert_eq!(bench.prepare(&add(1, 1), at(5)), Prepared::Retry { above: at(5) });
    bench.commit(&add(1, 1), at(6));
}

#[test]
fn nothing_commits_at_or_below_a_read() {
    let mut bench = Bench::new();
    bench.commit(&reading(1, Timestamp::ZERO, vec![read(1)], Vec::new()), at(5));
    assert_eq!(bench.prepare(&put(2, 1), at(4)), Prepared::Retry { above: at(5) });
}

#[test]
fn a_timestamp_is_given_once() {
    let mut bench = Bench::new();
    bench.commit(&add(1, 1), at(5));
    assert_eq!(bench.prepare(&add(2, 2), at(5)), Prepared::Retry { above: at(5) });
    let aborted = |counter| {
        let decision = Decision::Abort("no".into());
        iolite_values::Transaction { decision, ..blind(counter, Vec::new()) }
    };
    assert_eq!(bench.prepare(&aborted(3), at(5)), Prepared::Retry { above: at(5) });
    let completed = Prepared::Completed(completion(1, at(6), CompletionDecision::Aborted));
    assert_eq!(bench.prepare(&aborted(3), at(6)), completed);
    assert_eq!(bench.prepare(&add(2, 2), at(6)), Prepared::Retry { above: at(6) }, "also if nothing was written there");
}

#[test]
fn a_write_comes_after_what_it_does_not_commute_with() {
    let mut bench = Bench::new();
    bench.commit(&put(1, 1), at(5));
    assert_eq!(bench.prepare(&put(2, 1), at(4)), Prepared::Retry { above: at(5) });
    bench.commit(&put(2, 2), at(4));
}

#[test]
fn what_commutes_may_come_before() {
    let mut bench = Bench::new();
    let append = |counter: u64| {
        let operation = Operation::Append { value: Value::Int(counter as i64), order: ListOrder::Commit };
        blind(counter, vec![write(1, operation)])
    };
    bench.commit(&append(1), at(5));
    bench.commit(&append(2), at(4));
    let list =
        bench.replica.versions().row(cell(1).table, &cell(1).row).unwrap().latest().cell(cell(1).column).cloned();
    let expected = iolite_values::CellState::List(vec![Value::Int(2), Value::Int(1)]);
    assert_eq!(list, Some(expected), "in timestamp order");
}

#[test]
fn a_read_that_changed_since_is_a_conflict_at_the_last_change() {
    let mut bench = Bench::new();
    bench.close(at(1));
    bench.commit(&put(1, 1), at(5));
    bench.commit(&put(2, 1), at(6));
    bench.commit(&put(3, 2), at(7));
    let transaction = reading(4, at(1), vec![read(1)], Vec::new());
    assert_eq!(bench.prepare(&transaction, at(8)), Prepared::Conflict { at_least: at(6) });
}

/// However long ago it read: what counts is whether anything has changed, as long as there is history to tell.
#[test]
fn what_was_read_before_the_low_watermark_is_a_conflict_whether_it_has_changed_or_not() {
    let mut bench = Bench::new();
    bench.commit(&put(1, 1), at(5));
    bench.close(at(1_100));
    assert_eq!(bench.replica.low_watermark(), at(5));
    let transaction = reading(2, at(4), vec![read(9)], Vec::new());
    assert_eq!(bench.prepare(&transaction, at(1_151)), Prepared::Conflict { at_least: at(1_100) });
    bench.commit(&reading(2, at(6), vec![read(9)], Vec::new()), at(1_151));
    bench.commit(&reading(3, at(4), Vec::new(), Vec::new()), at(1_200));
}

#[test]
fn a_snapshot_that_is_not_resolved_is_refused() {
    let mut bench = Bench::new();
    bench.close(at(1));
    let refusal = Refusal::NotResolved { asked: at(2), resolved: at(1) };
    let transaction = reading(1, at(2), vec![read(1)], Vec::new());
    assert_eq!(bench.prepare(&transaction, at(3)), Prepared::Refused(refusal));
}

#[test]
fn a_proposal_of_a_clock_far_ahead_is_refused() {
    let mut bench = Bench::new();
    let limit = Timestamp::end_of(at(11_000).micros());
    let far = at(11_001);
    assert_eq!(bench.prepare(&add(1, 1), far), Prepared::Refused(Refusal::TooFarAhead { asked: far, limit }));
    bench.commit(&add(1, 1), at(11_000));
}

/// A mutation without reads may come with any snapshot: nobody looks at it.
#[test]
fn an_earlier_attempt_is_told_of_no_snapshot_beyond_what_is_resolved() {
    let mut bench = Bench::new();
    bench.close(at(5));
    let earlier = add(1, 1);
    let mut later = earlier.clone();
    (later.attempt, later.snapshot) = (Attempt(2), Timestamp::MAX);
    assert_eq!(bench.prepare(&later, at(5)), Prepared::Retry { above: at(5) });
    assert_eq!(bench.prepare(&earlier, at(6)), Prepared::Conflict { at_least: at(5) });
}

#[test]
fn an_earlier_attempt_does_not_commit_once_a_later_one_conflicted() {
    let mut bench = Bench::new();
    bench.close(at(1));
    bench.commit(&put(1, 1), at(5));
    let mut later = reading(2, at(1), vec![read(1)], Vec::new());
    later.attempt = Attempt(2);
    assert_eq!(bench.prepare(&later, at(6)), Prepared::Conflict { at_least: at(5) });
    assert_eq!(bench.prepare(&add(2, 3), at(7)), Prepared::Conflict { at_least: at(5) });
}

#[test]
fn another_history_is_refused() {
    let mut bench = Bench::new();
    let other = StoreIncarnation(Id::from_u128(6));
    let ask = prepare(&add(1, 1), at(1));
    for store in [None, Some(other)] {
        assert_eq!(bench.ask_of(store, ask.clone()), [Said::Answer(PersistId::START, Answer::WrongStore)]);
    }
    let opened = Answer::Opened(Opened { term: Term(1), complete: Timestamp::ZERO, latest: Timestamp::ZERO });
    assert_eq!(bench.ask_of(None, Ask::Open), [Said::Answer(PersistId::START, opened)]);
}

fn list(counter: u64, operations: Vec<Operation>) -> iolite_values::Transaction {
    blind(counter, operations.into_iter().map(|operation| write(1, operation)).collect())
}

fn append(order: ListOrder) -> Operation {
    Operation::Append { value: Value::Null, order }
}

fn set_at(index: u32) -> Operation {
    Operation::SetAt { index, value: Value::Int(1) }
}

#[test]
fn an_element_that_is_not_there_is_a_conflict() {
    let mut bench = Bench::new();
    bench.commit(&list(1, vec![append(ListOrder::Strict)]), at(5));
    assert_eq!(bench.prepare(&list(2, vec![set_at(1)]), at(6)), Prepared::Conflict { at_least: at(5) });
    bench.commit(&list(3, vec![append(ListOrder::Strict), set_at(1)]), at(7));
}

#[test]
fn an_element_is_set_after_it_was_appended() {
    let mut bench = Bench::new();
    bench.commit(&list(1, vec![append(ListOrder::Commit)]), at(5));
    assert_eq!(bench.prepare(&list(2, vec![set_at(0)]), at(4)), Prepared::Retry { above: at(5) });
    bench.commit(&list(2, vec![set_at(0)]), at(6));
}

#[test]
fn an_append_does_not_move_an_element_whose_index_was_used() {
    let mut bench = Bench::new();
    bench.commit(&list(1, vec![append(ListOrder::Commit)]), at(5));
    bench.commit(&list(2, vec![set_at(0)]), at(6));
    assert_eq!(bench.prepare(&list(3, vec![append(ListOrder::Commit)]), at(4)), Prepared::Retry { above: at(6) });
    let after = list(3, vec![append(ListOrder::Commit)]);
    assert!(matches!(bench.prepare(&after, Timestamp::from_u64(at(5).as_u64() + 1)), Prepared::Completed(_)));
}

#[test]
fn a_row_does_not_grow_past_what_a_checkpoint_takes() {
    let mut bench = Bench::new();
    let half = Value::bytes(vec![0; ROW_BYTES_MAX / 2 - 1000]);
    let put = |counter: u64, column: u32, value: &Value| {
        let mut put = write(1, Operation::Put(value.clone()));
        put.cell.column.0 += column;
        blind(counter, vec![put])
    };
    bench.commit(&put(1, 0, &half), at(1));
    bench.commit(&put(2, 1, &half), at(2));
    bench.commit(&put(3, 1, &half), at(3));
    let refusal = Refusal::RowTooLarge { table: cell(1).table, key: cell(1).row.clone(), bytes_max: ROW_BYTES_MAX };
    assert_eq!(bench.prepare(&put(4, 2, &half), at(4)), Prepared::Refused(refusal));
}

#[test]
fn what_may_be_too_much_for_a_row_beside_what_is_prepared_is_told_to_try_again() {
    let mut trio = Trio::new();
    let half = Value::bytes(vec![0; ROW_BYTES_MAX / 2]);
    let append = |counter| list(counter, vec![Operation::Append { value: half.clone(), order: ListOrder::Commit }]);
    assert_eq!(trio.objection(0, &append(1), at(1)), None);
    let with = id_of(&append(1), at(1));
    assert_eq!(trio.objection(0, &append(2), at(2)), Some(Objection::Busy { with }));
    trio.ask(0, Ask::Outcome { id: with, outcome: Outcome::Aborted, proposal: None });
    assert_eq!(trio.objection(0, &append(3), at(3)), None, "the other one came to nothing");
    let little = list(4, vec![Operation::Append { value: Value::Null, order: ListOrder::Commit }]);
    assert_eq!(trio.objection(0, &little, at(4)), None, "both fit");
}

#[test]
fn a_text_that_is_replaced_again_and_again_stays_as_large_as_it_is() {
    let mut bench = Bench::new();
    let length = 50_000;
    for save in 0..40 {
        let first = Unit::new(Author(1), save * length);
        let text = "x".repeat(length as usize).into();
        let inserted = Some(Insertion { first, left: None, right: None, text });
        let before = (save > 0).then(|| UnitRange { author: Author(1), from: (save - 1) * length, length });
        let edit = Operation::Edit(Edit { inserted, removed: before.into_iter().collect() }.into());
        bench.commit(&blind(u64::from(save) + 1, vec![write(1, edit)]), at(u64::from(save) + 1));
    }
}

#[test]
fn a_text_does_not_grow_past_it_by_what_is_removed() {
    let mut bench = Bench::new();
    let edit = |counter: u64, inserted, removed| {
        blind(counter, vec![write(1, Operation::Edit(Edit { inserted, removed }.into()))])
    };
    let first = Unit::new(Author(1), 0);
    let letters = Insertion { first, left: None, right: None, text: "x".repeat(100_000).into() };
    bench.commit(&edit(1, Some(letters), Vec::new()), at(1));
    // Each letter that goes makes two runs of one.
    let every_other = |from: u32| (0..1000).map(move |place| UnitRange::one(Unit::new(Author(1), from + 2 * place)));
    let removal = |save: u32| edit(u64::from(save) + 2, None, every_other(2000 * save).collect());
    let refusal = Refusal::RowTooLarge { table: cell(1).table, key: cell(1).row.clone(), bytes_max: ROW_BYTES_MAX };
    let prepared: Vec<Prepared> = (0..26).map(|save| bench.prepare(&removal(save), at(u64::from(save) + 2))).collect();
    assert_eq!(prepared.last(), Some(&Prepared::Refused(refusal)));
    let row = bench.replica.versions().row(cell(1).table, &cell(1).row).unwrap();
    assert!((ROW_BYTES_MAX - 100_000..=ROW_BYTES_MAX).contains(&row_bytes(row.latest())));
}

#[test]
fn a_transaction_that_fits_no_record_is_refused() {
    let mut bench = Bench::new();
    let large = Value::bytes(vec![0; ROW_BYTES_MAX - 1000]);
    let puts = |rows: i64| (0..rows).map(|row| write(row, Operation::Put(large.clone()))).collect();
    let rows = (RECORD_BYTES_MAX / ROW_BYTES_MAX) as i64;
    bench.commit(&blind(1, puts(rows)), at(1));
    let refusal = Refusal::TransactionTooLarge { bytes_max: RECORD_BYTES_MAX };
    assert_eq!(bench.prepare(&blind(2, puts(rows + 1)), at(2)), Prepared::Refused(refusal));
}
