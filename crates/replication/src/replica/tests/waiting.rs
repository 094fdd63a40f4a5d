//! Those who read much hold up each other, and nobody else.

use iolite_machine::Machine;
use iolite_store::ReadLimit;
use iolite_values::{CoordinatorId, Interest, KeyRange, Operation, TableId};

use super::bench::{Bench, STORE, add, at, blind, prepare, write};
use crate::node::{Answer, Ask, Life, MessageId, ShardId, Term, ToReplica, View};
use crate::replica::{ReplicaInput, ReplicaOutput, TURN_LOOKS_MAX};

/// Without what is journalled.
fn answers(bench: &mut Bench) -> Vec<(u64, Answer)> {
    let said = std::iter::from_fn(|| bench.replica.poll()).filter_map(|output| match output {
        ReplicaOutput::Reply { after: _, message } => Some((message.id.number, message.answer)),
        ReplicaOutput::Persist { .. } => None,
        ReplicaOutput::ToPeer { message, .. } => panic!("it is alone: {message:?}"),
    });
    said.collect()
}

/// Says these, and returns what is answered before anything that waits.
fn ask(bench: &mut Bench, asks: impl IntoIterator<Item = Ask>) -> Vec<(u64, Answer)> {
    for (ask, number) in asks.into_iter().zip(101..) {
        let (from, id) = (CoordinatorId::default(), MessageId { life: Life(1), number });
        let (shard, view, store) = (ShardId::default(), View::default(), Some(STORE));
        let message = ToReplica { from, term: Term(1), id, store, shard, view, ask };
        bench.replica.handle(bench.now, ReplicaInput::FromCoordinator(message));
    }
    answers(bench)
}

/// The reads that are answered in the next turn.
fn turn(bench: &mut Bench) -> Vec<u64> {
    assert!(bench.replica.deadline().is_some_and(|at| at <= bench.now.instant));
    bench.replica.on_deadline(bench.now);
    let read = answers(bench).into_iter();
    read.map(|(number, answer)| {
        assert!(matches!(answer, Answer::Read(Ok(_)) | Answer::Changes(Ok(_))), "{answer:?}");
        number
    })
    .collect()
}

fn read_all() -> Ask {
    let interest = Interest::Range { table: TableId(1), range: KeyRange::all() };
    Ask::ReadAt { interest, at: at(1), limit: ReadLimit::NONE, looks: TURN_LOOKS_MAX }
}

/// With a table of more rows than are looked at in a turn.
fn bench_with_much() -> Bench {
    let mut bench = Bench::new();
    let writes = (0..TURN_LOOKS_MAX as i64 + 1).map(|row| write(row, Operation::Add(1)));
    bench.commit(&blind(1, writes.collect()), at(1));
    bench.close(at(1));
    bench
}

#[test]
fn whatever_comes_is_done_before_the_reads_that_wait_and_of_those_so_much_in_a_turn() {
    let mut bench = bench_with_much();
    let before = ask(&mut bench, [read_all(), read_all(), prepare(&add(2, 1), at(5)), read_all()]);
    assert!(matches!(before[..], [(103, Answer::Voted(_))]), "{before:?}");
    assert_eq!([(); 3].map(|()| turn(&mut bench)), [[101], [102], [104]]);
    assert_eq!(bench.replica.deadline(), None);
}

#[test]
fn many_small_reads_are_done_in_a_turn_and_a_look_for_changes_is_its_last() {
    let mut bench = Bench::new();
    bench.close(at(1));
    let changes = Ask::Changes { interests: Vec::new(), after: at(0), through: at(1) };
    assert_eq!(ask(&mut bench, [read_all(), read_all(), changes, read_all()]), []);
    assert_eq!([(); 2].map(|()| turn(&mut bench)), [vec![101, 102, 103], vec![104]]);
    assert_eq!(ask(&mut bench, std::iter::repeat_n(read_all(), 100)), []);
    assert_eq!([(); 2].map(|()| turn(&mut bench).len()), [64, 36]);
}
