//! Copies of the store: completion records as rows, and history that is kept while it is copied.

use std::sync::Arc;

use iolite_machine::PersistId;
use iolite_store::{Completion, CompletionDecision, ReadLimit, ReadReply, TooOld};
use iolite_values::{ClientId, Counter, Decision, Id, Interest, KeyRange, Operation, Timestamp, Transaction};

use super::bench::{Bench, Said, add, at, blind, cell, completion, put, write};
use crate::completions::{CompletionRow, client_key, completions_table, outcome_key, outcomes_after};
use crate::node::{Answer, Ask, Piece};
use crate::replica::{COPIES_MAX, COPY_HELD_FOR, COPY_HISTORY_MAX};

const CLIENT: ClientId = ClientId(Id::from_u128(1));

fn completions(range: KeyRange, at: Timestamp, rows: usize) -> Ask {
    let interest = Interest::Range { table: completions_table(), range };
    Ask::ReadAt { interest, at, limit: ReadLimit { rows, ..ReadLimit::NONE }, looks: usize::MAX }
}

fn hold(at: Timestamp) -> Ask {
    completions(KeyRange::none(), at, 0)
}

fn rows(answer: Answer) -> Vec<CompletionRow> {
    let Answer::Read(Ok(Piece { reply: ReadReply { rows, .. }, .. })) = answer else { panic!("{answer:?}") };
    rows.iter().map(|row| CompletionRow::of(row).expect("a row of this table")).collect()
}

fn client(client: ClientId, acknowledged: u64) -> CompletionRow {
    CompletionRow::Client { client, acknowledged: Counter(acknowledged) }
}

fn outcome(client: ClientId, counter: u64, completion: Completion) -> CompletionRow {
    CompletionRow::Outcome { client, counter: Counter(counter), completion }
}

fn committed(millis: u64) -> Completion {
    completion(1, at(millis), CompletionDecision::Committed)
}

/// A replica with so many commits, one in each millisecond, all of them settled.
fn with_commits(count: u64) -> Bench {
    let mut bench = Bench::new();
    for counter in 1..=count {
        bench.commit(&put(counter, 1), at(counter));
    }
    bench.close(at(20));
    bench
}

#[test]
fn completion_records_are_read_as_of_a_timestamp_and_part_by_part() {
    let mut bench = Bench::new();
    let late = ClientId(Id::from_u128(u128::MAX));
    for counter in 1..=3 {
        bench.commit(&add(counter, 1), at(counter));
    }
    let aborted = Transaction { decision: Decision::Abort("no".into()), ..add(4, 1) };
    bench.prepare(&aborted, at(4));
    let mut other = add(u64::MAX, 1);
    other.id.client = late;
    bench.commit(&other, at(5));
    bench.commit(&add(5, 1), at(9));
    bench.answer(Ask::Acknowledge { client: CLIENT, through: Counter(2) });
    bench.close(at(20));
    let expected = [
        client(CLIENT, 2),
        outcome(CLIENT, 3, committed(3)),
        outcome(CLIENT, 4, completion(1, at(4), CompletionDecision::Aborted)),
        client(late, 0),
        outcome(late, u64::MAX, committed(5)),
    ];
    assert_eq!(rows(bench.answer(completions(KeyRange::all(), at(8), 100))), expected);
    // A page has one row more than was asked for, and the next one begins there.
    let first = rows(bench.answer(completions(KeyRange::all(), at(8), 2)));
    assert_eq!(first, expected[..3]);
    let CompletionRow::Outcome { counter, .. } = &first[2] else { panic!("an outcome") };
    let lower = outcome_key(CLIENT, *counter).as_bytes().into();
    assert_eq!(rows(bench.answer(completions(KeyRange { lower, upper: None }, at(8), 100))), expected[2..]);
    let upper = Some(client_key(late).as_bytes().into());
    assert_eq!(rows(bench.answer(completions(KeyRange { lower: Arc::new([]), upper }, at(8), 100))), expected[..3]);
}

#[test]
fn what_is_told_of_completions_is_durable() {
    let mut bench = Bench::new();
    bench.commit(&add(1, 1), at(1));
    bench.close(at(2));
    bench.answer(Ask::Acknowledge { client: CLIENT, through: Counter(1) });
    let said = bench.ask(completions(KeyRange::all(), at(1), 9));
    assert!(matches!(said[..], [Said::Answer(PersistId(3), Answer::Read(Ok(_)))]), "{said:?}");
}

#[test]
fn history_is_kept_while_a_copy_is_heard_of_and_no_longer() {
    let mut bench = with_commits(9);
    bench.answer(hold(at(5)));
    bench.close(at(5_000));
    assert_eq!(bench.replica.low_watermark(), Timestamp::ZERO, "what is a second older than the copy would go");
    bench.now.instant = bench.now.instant + COPY_HELD_FOR / 2;
    bench.answer(hold(at(5)));
    bench.now.instant = bench.now.instant + COPY_HELD_FOR / 2;
    bench.close(at(5_001));
    let interest = Interest::Cell(cell(1));
    let read = Ask::ReadAt { interest, at: at(5), limit: ReadLimit::NONE, looks: usize::MAX };
    assert!(matches!(bench.answer(read.clone()), Answer::Read(Ok(_))), "it was heard of again");
    bench.now.instant = bench.now.instant + COPY_HELD_FOR / 2;
    bench.close(at(5_002));
    let too_old = TooOld { low_watermark: at(9) };
    assert_eq!(bench.answer(read), Answer::Read(Err(too_old)));
    assert_eq!(bench.answer(hold(at(5))), Answer::Read(Err(too_old)), "and who holds it is told");
}

#[test]
fn what_became_of_one_clients_transactions_is_read_without_holding_history() {
    let mut bench = with_commits(9);
    let mut outcomes = |after, millis| {
        let range = outcomes_after(CLIENT, Counter(after));
        rows(bench.answer(completions(range, at(millis), 9)))
    };
    assert_eq!(outcomes(8, 20), [outcome(CLIENT, 9, committed(9))]);
    assert_eq!(outcomes(4, 5), [outcome(CLIENT, 5, committed(5))]);
    assert_eq!(outcomes(u64::MAX, 20), []);
    bench.close(at(5_000));
    bench.replica.settings.retention.age = std::time::Duration::ZERO;
    bench.close(at(5_001));
    assert_eq!(bench.replica.low_watermark(), at(9));
}

#[test]
fn a_copy_does_not_make_history_grow_without_end() {
    let mut bench = Bench::keeping(1_000);
    bench.commit(&put(1, 1), at(1));
    bench.close(at(2));
    bench.answer(hold(at(1)));
    for counter in 2..=1 + COPY_HISTORY_MAX as u64 {
        bench.commit(&blind(counter, vec![write(2, Operation::Add(1)); 999]), at(counter + 1));
    }
    bench.close(at(10));
    assert!(bench.replica.low_watermark() <= at(1), "held");
    bench.commit(&blind(99, vec![write(2, Operation::Add(1)); 999]), at(11));
    bench.close(at(11));
    assert!(bench.replica.low_watermark() > at(1), "there is far too much");
}

#[test]
fn only_so_many_copies_are_held() {
    let many = COPIES_MAX as u64;
    let mut bench = with_commits(many + 1);
    for copy in 0..=many {
        bench.answer(hold(at(many + 1 - copy)));
    }
    bench.close(at(5_000));
    bench.replica.settings.retention.age = std::time::Duration::ZERO;
    bench.close(at(5_001));
    // The last one, of the lowest timestamp, was one too many.
    assert_eq!(bench.replica.low_watermark(), at(2));
}
