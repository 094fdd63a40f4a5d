//! Close: barrier, ceiling, and the stretch of the feed.

use std::sync::Arc;

use iolite_machine::PersistId;
use iolite_store::{Commit, ReadLimit, TooOld};
use iolite_values::{Attempt, CoordinatorId, Interest, KeyRange, Operation, Timestamp, Value};

use super::bench::{Bench, Said, add, at, blind, cell, close, prepare, put, write};
use crate::journal::JournalRecord;
use crate::node::{Answer, Ask, Closed, Detail, Opened, Outcome, Proposal, ProposalId, ShardId, Term};
use crate::replica::CHANGES_LOOKS_MAX;
use crate::replica::close::{ANSWER_BYTES_MAX, CLOSED_WRITES_MAX};

fn commit(transaction: &iolite_values::Transaction, at: Timestamp) -> Commit {
    Commit { at, transaction: transaction.id, writes: Arc::from(transaction.writes()) }
}

fn closed(through: Timestamp, commits: Vec<Commit>) -> Answer {
    let latest = commits.last().map_or(Timestamp::ZERO, |commit| commit.at);
    closed_before(latest, through, commits)
}

/// With `latest` as the last commit that the replica has.
fn closed_before(latest: Timestamp, through: Timestamp, commits: Vec<Commit>) -> Answer {
    let id = |commit: &Commit| ProposalId { at: commit.at, transaction: commit.transaction, attempt: Attempt(1) };
    Answer::Closed(Ok(Closed {
        through,
        barrier: through,
        latest,
        complete: through,
        undecided: Vec::new(),
        aborted: Vec::new(),
        committed: commits.iter().map(id).collect(),
        given_up: Vec::new(),
        commits,
    }))
}

#[test]
fn closing_past_the_ceiling_persists_a_new_one_a_second_ahead() {
    let mut bench = Bench::new();
    let ceiling = Timestamp::end_of(at(1_005).micros());
    assert_eq!(
        bench.ask(close(at(5), Timestamp::ZERO)),
        [
            Said::Record(PersistId(1), JournalRecord::Ceiling(ceiling)),
            Said::Answer(PersistId(1), closed(at(5), vec![])),
        ]
    );
    let below = close(at(900), at(5));
    assert_eq!(bench.ask(below), [Said::Answer(PersistId(1), closed(at(900), vec![]))]);
}

#[test]
fn a_stretch_waits_for_its_own_commits_only() {
    let mut bench = Bench::new();
    bench.close(at(1));
    let (first, second) = (add(1, 1), add(2, 1));
    bench.commit(&first, at(5));
    bench.commit(&second, at(9));
    let ask = close(at(5), at(1));
    let told = closed_before(at(9), at(5), vec![commit(&first, at(5))]);
    assert_eq!(bench.ask(ask), [Said::Answer(PersistId(2), told)]);
    let interest = Interest::Cell(cell(1));
    let read = bench.ask(Ask::ReadAt { interest, at: at(5), limit: ReadLimit::NONE, looks: usize::MAX });
    assert!(matches!(read[..], [Said::Answer(PersistId(2), Answer::Read(Ok(_)))]), "{read:?}");
    let ask = close(at(9), at(5));
    assert_eq!(bench.ask(ask), [Said::Answer(PersistId(3), closed(at(9), vec![commit(&second, at(9))]))]);
}

#[test]
fn who_follows_is_told_once_that_others_have_committed_and_not_of_its_own() {
    let mut bench = Bench::new();
    let follow = |through| Ask::Close { through, cursor: through, settled: through, detail: Detail::Followed };
    let by_another = |millis| Timestamp::new(at(millis).micros(), CoordinatorId::new(7).expect("a small number"));
    let stirred = |bench: &mut Bench, counter, at| {
        let said = bench.ask(prepare(&add(counter, 1), at));
        let news = said.into_iter().filter(|said| matches!(said, Said::Answer(_, Answer::Stirred { .. })));
        news.collect::<Vec<_>>()
    };
    let told = |at| [Said::Answer(PersistId::START, Answer::Stirred { at })];
    assert_eq!(stirred(&mut bench, 1, by_another(1)), [], "nobody follows");
    bench.ask(follow(at(2)));
    assert_eq!(stirred(&mut bench, 2, at(5)), [], "its own");
    assert_eq!(stirred(&mut bench, 3, by_another(6)), told(by_another(6)));
    assert_eq!(stirred(&mut bench, 4, by_another(7)), [], "it knows that there is something");
    bench.ask(follow(at(7)));
    assert_eq!(stirred(&mut bench, 5, by_another(9)), told(by_another(9)));
    bench.ask(close(at(20), at(7)));
    assert_eq!(stirred(&mut bench, 6, by_another(30)), [], "a question that does not ask for it");
}

#[test]
fn who_opens_the_store_is_told_of_a_barrier_that_a_crash_does_not_take_back() {
    let mut bench = Bench::new();
    bench.close(at(1));
    bench.commit(&add(1, 1), at(5));
    bench.close(at(5));
    let opened = Answer::Opened(Opened { term: Term(1), complete: at(5), latest: at(5) });
    assert_eq!(bench.ask(Ask::Open), [Said::Answer(PersistId(2), opened)]);
}

/// With another shard, so that it hears how the proposal ended.
fn prepare_with_another(transaction: &iolite_values::Transaction, at: Timestamp) -> (ProposalId, Ask) {
    let Ask::Prepare { proposal, .. } = prepare(transaction, at) else { panic!("it is a Prepare") };
    let participants = [ShardId(0), ShardId(1)].into();
    let proposal = Arc::new(Proposal { participants, ..(*proposal).clone() });
    (proposal.id, Ask::Prepare { proposal, after: None })
}

#[test]
fn a_crash_does_not_take_back_either_how_far_a_replica_alone_is_complete() {
    let mut bench = Bench::new();
    bench.close(at(1));
    let (id, ask) = prepare_with_another(&add(1, 1), at(5));
    bench.ask(ask);
    let complete = |said: Vec<Said>| match said.last() {
        Some(Said::Answer(after, Answer::Closed(Ok(closed)))) => (*after, closed.complete),
        other => panic!("{other:?}"),
    };
    let before = Timestamp::from_u64(at(5).as_u64() - 1);
    assert_eq!(complete(bench.ask(close(at(5), at(1)))), (PersistId(1), before));
    let said = bench.ask(Ask::Outcome { id, outcome: Outcome::Committed, proposal: None });
    assert!(matches!(said[..], [Said::Record(PersistId(3), JournalRecord::Entry(_))]), "{said:?}");
    assert_eq!(complete(bench.ask(close(at(5), at(1)))), (PersistId(3), at(5)));
    let opened = Answer::Opened(Opened { term: Term(1), complete: at(5), latest: at(5) });
    assert_eq!(bench.ask(Ask::Open), [Said::Answer(PersistId(3), opened)]);
}

#[test]
fn a_slower_coordinator_learns_as_far_as_another_closed() {
    let mut bench = Bench::new();
    bench.close(at(9));
    let ask = close(at(5), Timestamp::ZERO);
    assert_eq!(bench.ask(ask), [Said::Answer(PersistId(1), closed(at(9), vec![]))]);
}

#[test]
fn closing_follows_a_clock_that_is_far_ahead_only_so_far() {
    let mut bench = Bench::new();
    let limit = Timestamp::end_of(at(10_000).micros());
    for _ in 0..3 {
        let answer = bench.answer(close(Timestamp::MAX, Timestamp::ZERO));
        assert_eq!(answer, closed(limit, vec![]), "however often it asks");
    }
}

#[test]
fn a_long_stretch_comes_in_parts() {
    let mut bench = Bench::new();
    let writes = vec![write(1, Operation::Add(1)); CLOSED_WRITES_MAX / 2];
    for counter in 1..=5 {
        bench.commit(&blind(counter, writes.clone()), at(counter));
    }
    let mut cursor = Timestamp::ZERO;
    let mut parts = Vec::new();
    while cursor < at(9) {
        let Answer::Closed(Ok(closed)) = bench.answer(close(at(9), cursor)) else { panic!("closed") };
        assert_eq!(closed.barrier, at(9));
        cursor = closed.through;
        parts.push((closed.through, closed.commits.len()));
    }
    assert_eq!(parts, [(at(2), 2), (at(4), 2), (at(9), 1)]);
}

/// One stays undecided, and whatever conflicts with it is proposed again and again.
#[test]
fn so_does_one_in_which_much_was_aborted() {
    let mut bench = Bench::new();
    let (stuck, ask) = prepare_with_another(&put(1, 1), at(1));
    bench.ask(ask);
    let many = CLOSED_WRITES_MAX as u64 * 3 / 2;
    for counter in 2..=many {
        let (id, ask) = prepare_with_another(&put(counter, 1), at(counter));
        let Ask::Prepare { proposal, after } = ask else { panic!("it is a Prepare") };
        bench.replica.on_prepare(bench.now, proposal, after);
        bench.replica.on_outcome(id, Outcome::Aborted, None);
    }
    bench.ask(prepare_with_another(&put(many + 1, 2), at(many + 1)).1);
    let mut cursor = Timestamp::ZERO;
    let (mut parts, mut undecided) = (Vec::new(), Vec::new());
    while cursor < at(9_000) {
        let Answer::Closed(Ok(closed)) = bench.answer(close(at(9_000), cursor)) else { panic!("closed") };
        cursor = closed.through;
        parts.push((closed.through, closed.aborted.len() + closed.undecided.len()));
        undecided.extend(closed.undecided.iter().map(|own| own.id.at));
    }
    let first = CLOSED_WRITES_MAX as u64;
    assert_eq!(parts, [(at(first), CLOSED_WRITES_MAX), (at(9_000), (many + 1 - first) as usize)]);
    assert_eq!(undecided, [stuck.at, at(many + 1)]);
}

#[test]
fn so_does_one_of_few_and_large_commits() {
    let mut bench = Bench::new();
    let large = Value::bytes(vec![7; ANSWER_BYTES_MAX / 10]);
    for counter in 1..=25 {
        bench.commit(&blind(counter, vec![write(counter as i64, Operation::Put(large.clone()))]), at(counter));
    }
    let mut cursor = Timestamp::ZERO;
    let mut parts = Vec::new();
    while cursor < at(90) {
        let Answer::Closed(Ok(closed)) = bench.answer(close(at(90), cursor)) else { panic!("closed") };
        cursor = closed.through;
        parts.push((closed.through, closed.commits.len()));
    }
    assert_eq!(parts, [(at(10), 10), (at(20), 10), (at(90), 5)]);
}

#[test]
fn changes_that_are_much_are_told_from_their_beginning() {
    let mut bench = Bench::new();
    let large = Value::bytes(vec![7; ANSWER_BYTES_MAX / 10]);
    for counter in 1..=25 {
        bench.commit(&blind(counter, vec![write(counter as i64, Operation::Put(large.clone()))]), at(counter));
    }
    bench.answer(close(at(90), at(90)));
    let interests = vec![Interest::Cell(cell(1)), Interest::Range { table: cell(1).table, range: KeyRange::all() }];
    let mut after = Timestamp::ZERO;
    let mut told = Vec::new();
    while after < at(90) {
        let ask = Ask::Changes { interests: interests.clone(), after, through: at(90) };
        let Answer::Changes(Ok(changed)) = bench.answer(ask) else { panic!("changes") };
        after = changed.through;
        told.push((changed.through, changed.commits.len()));
    }
    assert_eq!(told, [(at(10), 10), (at(20), 10), (at(90), 5)]);
}

#[test]
fn changes_that_are_few_among_many_are_looked_for_piece_by_piece() {
    let mut bench = Bench::new();
    for counter in 1..=25 {
        let row = if counter == 13 { 1 } else { 2 };
        let writes = vec![write(row, Operation::Add(1)); CHANGES_LOOKS_MAX.div_ceil(10)];
        bench.commit(&blind(counter, writes), at(counter));
    }
    bench.answer(close(at(90), at(90)));
    let mut after = Timestamp::ZERO;
    let mut told = Vec::new();
    while after < at(90) {
        let ask = Ask::Changes { interests: vec![Interest::Cell(cell(1))], after, through: at(90) };
        let Answer::Changes(Ok(changed)) = bench.answer(ask) else { panic!("changes") };
        after = changed.through;
        told.push((changed.through, changed.commits.len()));
    }
    assert_eq!(told, [(at(10), 0), (at(20), 1), (at(90), 0)]);
}

#[test]
fn a_cursor_below_the_low_watermark_is_too_old() {
    let mut bench = Bench::new();
    bench.commit(&put(1, 1), at(5));
    bench.close(at(1_100));
    let too_old = TooOld { low_watermark: at(5) };
    let ask = close(at(1_100), at(4));
    assert_eq!(bench.answer(ask), Answer::Closed(Err(too_old)));
    let interest = Interest::Cell(cell(1));
    assert_eq!(
        bench.answer(Ask::ReadAt { interest: interest.clone(), at: at(4), limit: ReadLimit::NONE, looks: usize::MAX }),
        Answer::Read(Err(too_old))
    );
    let changes = Ask::Changes { interests: vec![interest], after: at(4), through: at(9) };
    assert_eq!(bench.answer(changes), Answer::Changes(Err(too_old)));
}

#[test]
fn history_is_collected_when_it_is_old_or_too_much() {
    let mut bench = Bench::keeping(1_000);
    bench.commit(&put(1, 1), at(1));
    bench.close(at(1_000));
    assert_eq!(bench.replica.low_watermark(), Timestamp::ZERO, "it is not old yet");
    bench.commit(&blind(2, vec![write(2, Operation::Add(1)); 1_000]), at(1_001));
    bench.close(at(1_001));
    assert_eq!(bench.replica.low_watermark(), at(1), "there is more than enough");
    bench.close(at(2_002));
    assert_eq!(bench.replica.low_watermark(), at(1_001));
}

#[test]
fn a_deleted_row_is_forgotten_with_its_history() {
    let mut bench = Bench::new();
    bench.commit(&put(1, 1), at(1));
    let mut delete = write(1, Operation::Delete);
    delete.cell.column = iolite_values::ColumnId::ROW;
    bench.commit(&blind(2, vec![delete]), at(2));
    assert!(bench.replica.versions().row(cell(1).table, &cell(1).row).is_some());
    bench.close(at(1_100));
    assert_eq!(bench.replica.versions().row(cell(1).table, &cell(1).row), None);
}
