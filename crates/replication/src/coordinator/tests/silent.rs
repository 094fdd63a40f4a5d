//! Replicas that fall silent.

use iolite_machine::Machine;
use iolite_store::{ReadLimit, ReadReply, Request, RequestId, TooOld};
use iolite_values::{
    Cell, ClientId, ColumnId, Counter, Decision, Id, Interest, KeyRange, Operation, RowKey, TableId, Timestamp,
    Transaction, Value, Write,
};

use super::bench::transaction;
use super::two_shards::{Bench, shard_of};
use crate::coordinator::CoordinatorInput;
use crate::node::{Answer, Ask, ReplicaId, ShardId, ToReplica};

const IN_THE_FIRST: TableId = TableId(1);
const IN_THE_SECOND: TableId = TableId(1 << 31 | 1);

/// Adds to a row of that number in each of these tables.
fn adding(counter: u64, tables: &[TableId]) -> Request {
    let row = RowKey::new(&[Value::Int(counter as i64)]).expect("short");
    let cells = tables.iter().map(|table| Cell { table: *table, row: row.clone(), column: ColumnId(1) });
    let decision = Decision::Commit(cells.map(|cell| Write { cell, operation: Operation::Add(1) }).collect());
    let transaction = Transaction { decision, ..transaction(counter) };
    Request::Commit { transaction, floor: Timestamp::ZERO, within: None }
}

fn of_two_shards() -> Request {
    adding(1, &[IN_THE_FIRST, IN_THE_SECOND])
}

/// The third of one shard is gone, and waited for longer than that of the other, which comes in time.
#[test]
fn the_slow_path_of_each_shard_begins_in_its_time() {
    let mut bench = Bench::new();
    bench.open([(5, 2_500), (1, 2_500)]);
    bench.coordinator.handle(bench.now, CoordinatorInput::Request(RequestId(1), of_two_shards()));
    bench.listen();
    bench.pass(3_000);
    bench.vote(0);
    bench.vote(2);
    bench.vote(3);
    bench.vote(4);
    assert!(!bench.is_finalising(0) && !bench.is_finalising(1), "the others may come in time");
    bench.vote(5);
    bench.pass(7_500);
    assert!(bench.is_finalising(0), "replica 1 is waited for no longer than twice its usual time");
    assert_eq!(bench.coordinator.tally().slow_paths, 1, "the other shard needed none");
}

/// How often replica 5 is asked for its vote in so many microseconds, if it says nothing.
fn prepares_within(round_trip: u64, micros: u64) -> usize {
    let mut bench = Bench::new();
    bench.open([(5, round_trip), (1, 100)]);
    bench.coordinator.handle(bench.now, CoordinatorInput::Request(RequestId(1), of_two_shards()));
    bench.pass(micros);
    bench.listen();
    let is_prepare =
        |(to, message): &&(ReplicaId, ToReplica)| *to == ReplicaId(5) && matches!(message.ask, Ask::Prepare { .. });
    bench.told.iter().filter(is_prepare).count()
}

/// Or every question over a long distance would be asked twice, and every read of two replicas.
#[test]
fn a_far_replica_is_given_the_time_that_it_takes_before_it_is_asked_again() {
    let [near, far] = [100, 150_000];
    assert_eq!([90_000, 250_000].map(|micros| prepares_within(near, micros)), [1, 2]);
    assert_eq!([250_000, 350_000].map(|micros| prepares_within(far, micros)), [1, 2]);
}

/// Or a read that waits at all replicas for longer than each of them is waited for would never be done.
#[test]
fn what_a_replica_has_read_is_taken_though_another_one_was_asked_meanwhile() {
    let mut bench = Bench::new();
    bench.open([(5, 100), (1, 100)]);
    let interest = Interest::Range { table: IN_THE_FIRST, range: KeyRange::all() };
    let read = Request::ReadAt { interest, at: Timestamp::ZERO, limit: ReadLimit::NONE };
    bench.coordinator.handle(bench.now, CoordinatorInput::Request(RequestId(1), read));
    bench.pass(150_000);
    bench.listen();
    let is_read = |ask: &Ask| matches!(ask, Ask::ReadAt { .. });
    let asked = bench.told.iter().filter(|(_, message)| is_read(&message.ask)).map(|(to, _)| *to);
    let [first, second] = asked.collect::<Vec<_>>()[..] else { panic!("two are asked by then") };
    assert_ne!(first, second);
    let too_old = Answer::Read(Err(TooOld { low_watermark: Timestamp::MAX }));
    bench.answer(first.0, is_read, too_old);
    assert_eq!(bench.coordinator.open_requests(), 1, "the other one may have it");
    bench.answer(second.0, is_read, Answer::Behind { complete: Timestamp::ZERO });
    let Some((third, message)) = bench.told.last().cloned() else { panic!("the third is asked") };
    assert!(![first, second].contains(&third) && is_read(&message.ask));
    bench.answer(third.0, is_read, Answer::Behind { complete: Timestamp::ZERO });
    let reply = ReadReply { at: Timestamp::ZERO, rows: Vec::new(), is_cut: false };
    let before = bench.told.len();
    bench.answer(first.0, is_read, Answer::Read(Ok(reply.into())));
    assert_eq!(bench.coordinator.open_requests(), 0);
    let told = bench.told[before..].iter().map(|(to, message)| (*to, is_read(&message.ask)));
    assert_eq!(told.collect::<Vec<_>>(), [(second, true), (third, true)], "nobody waits for it any more");
}

/// Or there would be more and more of them while one is down.
#[test]
fn no_acknowledgement_waits_for_a_replica_that_is_down() {
    let mut bench = Bench::new();
    bench.open([(5, 100), (1, 100)]);
    for counter in 1..=50 {
        let (id, client) = (RequestId(counter), ClientId(Id::from_u128(1)));
        let request = Request::Acknowledge { client, through: Counter(counter) };
        bench.coordinator.handle(bench.now, CoordinatorInput::Request(id, request));
        bench.listen();
        let (last, _) = bench.told.last().expect("all of a shard are told");
        for replica in if shard_of(*last) == ShardId(0) { [0, 2] } else { [3, 4] } {
            bench.answer(replica, |ask| matches!(ask, Ask::Acknowledge { .. }), Answer::Acknowledged);
        }
    }
    let before = bench.told.len();
    bench.pass(1_000_000);
    let again = bench.told[before..].iter().filter(|(_, message)| matches!(message.ask, Ask::Acknowledge { .. }));
    assert_eq!(again.count(), 0);
}

/// How often replica 5 is asked whether there is a later group, in a minute in which it says nothing to so many questions, of which each came after the last.
fn looks_in_a_minute(questions: u64) -> usize {
    let mut bench = Bench::new();
    bench.open([(5, 100), (1, 100)]);
    let before = bench.told.len();
    for counter in 1..=questions {
        let request = adding(counter, &[IN_THE_SECOND]);
        bench.coordinator.handle(bench.now, CoordinatorInput::Request(RequestId(counter), request));
        bench.pass(7_000);
    }
    bench.pass(60_000_000 - questions * 7_000);
    let told = bench.told[before..].iter().filter(|(to, _)| *to == ReplicaId(5));
    told.filter(|(_, message)| message.ask == Ask::Open).count()
}

/// Or a group that is down is told more, the more wait for it.
#[test]
fn many_questions_of_a_silent_shard_look_for_later_groups_no_oftener_than_one() {
    let [one, many] = [1, 200].map(looks_in_a_minute);
    assert!((20..=30).contains(&one), "{one}");
    assert!(many <= 30, "{many}");
}
