//! Those who read much hold up each other, and nobody else.

use iolite_machine::Machine;
use iolite_store::ReadLimit;
use iolite_values::{CoordinatorId, Interest, KeyRange, TableId};

use super::bench::{Bench, STORE, add, at, prepare};
use crate::node::{Answer, Ask, Life, MessageId, ShardId, Term, ToReplica, View};
use crate::replica::{ReplicaInput, ReplicaOutput};

/// Without what is journalled.
fn answers(bench: &mut Bench) -> Vec<(u64, Answer)> {
    let said = std::iter::from_fn(|| bench.replica.poll()).filter_map(|output| match output {
        ReplicaOutput::Reply { after: _, message } => Some((message.id.number, message.answer)),
        ReplicaOutput::Persist { .. } => None,
        ReplicaOutput::ToPeer { message, .. } => panic!("it is alone: {message:?}"),
    });
    said.collect()
}

#[test]
fn whatever_comes_is_done_before_the_reads_that_wait_and_those_one_at_a_time() {
    let mut bench = Bench::new();
    bench.close(at(1));
    let range = Interest::Range { table: TableId(1), range: KeyRange::all() };
    let read = Ask::ReadAt { interest: range, at: at(1), limit: ReadLimit::NONE, looks: usize::MAX };
    let asks = [read.clone(), read.clone(), prepare(&add(1, 1), at(5)), read];
    for (ask, number) in asks.into_iter().zip(101..) {
        let (from, id) = (CoordinatorId::default(), MessageId { life: Life(1), number });
        let (shard, view, store) = (ShardId::default(), View::default(), Some(STORE));
        let message = ToReplica { from, term: Term(1), id, store, shard, view, ask };
        bench.replica.handle(bench.now, ReplicaInput::FromCoordinator(message));
    }
    let [(103, Answer::Voted(_))] = answers(&mut bench)[..] else { panic!("it was voted first") };
    for number in [101, 102, 104] {
        assert!(bench.replica.deadline().is_some_and(|at| at <= bench.now.instant));
        bench.replica.on_deadline(bench.now);
        let read = answers(&mut bench);
        assert!(matches!(read[..], [(own, Answer::Read(Ok(_)))] if own == number), "{read:?}");
    }
    assert_eq!(bench.replica.deadline(), None);
}
