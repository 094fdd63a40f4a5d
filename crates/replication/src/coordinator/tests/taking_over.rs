//! Taking over what others proposed.

use iolite_machine::Machine;
use iolite_values::{Attempt, RowKey, TableId};

use super::bench::{at, stretch, transaction};
use super::two_shards::Bench;
use crate::coordinator::CoordinatorInput;
use crate::node::{Answer, Ask, Closed, Epoch, Group, ProposalId, ReplicaId, ShardId, Split, Undecided};

/// Shard 0 tells of what stays undecided, until it is overdue.
fn meet(bench: &mut Bench, id: ProposalId) {
    let undecided = Undecided { id, participants: [ShardId(0), ShardId(3)].into() };
    for _ in 0..20 {
        bench.pass(500_000);
        for replica in [0, 1, 2] {
            let closed = stretch(at(60_000), Vec::new());
            let closed = Closed { undecided: vec![undecided.clone()], ..closed };
            bench.answer(replica, |ask| matches!(ask, Ask::Close { .. }), Answer::Closed(Ok(closed)));
        }
    }
}

fn polled(bench: &Bench, replica: u64) -> bool {
    bench.told.iter().any(|(to, message)| *to == ReplicaId(replica) && matches!(message.ask, Ask::Poll { .. }))
}

/// Simulated seed 827: another coordinator knew of a split already.
#[test]
fn a_proposal_that_names_an_unknown_shard_is_taken_over_once_that_is_known() {
    let mut bench = Bench::new();
    bench.open([(5, 100), (1, 100)]);
    let id = ProposalId { at: at(1), transaction: transaction(1).id, attempt: Attempt(1) };
    meet(&mut bench, id);
    assert!(!polled(&bench, 0), "nobody to ask in shard 3");

    let group = |shard, members: [u64; 3]| Group::new(ShardId(shard), Epoch(0), &members.map(ReplicaId)).unwrap();
    let (lower, upper) = (group(2, [6, 7, 8]), group(3, [9, 10, 11]));
    let place = (TableId(3 << 30), RowKey::bound(&[]));
    let split = Split::new(group(1, [3, 4, 5]), place, lower, upper).unwrap();
    bench.coordinator.handle(bench.now, CoordinatorInput::Ended(split));
    meet(&mut bench, id);
    assert!(polled(&bench, 0) && polled(&bench, 9));
}
