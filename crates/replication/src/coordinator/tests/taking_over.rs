//! Taking over what others proposed.

use std::collections::BTreeSet;
use std::sync::Arc;

use iolite_machine::Machine;
use iolite_values::{Attempt, RowKey, TableId};

use super::bench::{at, stretch, transaction};
use super::two_shards::Bench;
use crate::coordinator::CoordinatorInput;
use crate::coordinator::close::TAKEN_OVER_EACH_ROUND;
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

fn proposal(counter: u64) -> ProposalId {
    ProposalId { at: at(counter), transaction: transaction(counter).id, attempt: Attempt(1) }
}

/// Each Close waits behind what was asked before it, so replicas are asked as much as they answer.
#[test]
fn what_a_gateway_left_is_taken_over_by_and_by_and_the_oldest_first() {
    let mut bench = Bench::new();
    bench.open([(5, 100), (1, 100)]);
    let participants: Arc<[ShardId]> = [ShardId(0)].into();
    let left = (1..=3 * TAKEN_OVER_EACH_ROUND as u64).map(proposal);
    let undecided: Vec<Undecided> = left.map(|id| Undecided { id, participants: participants.clone() }).collect();
    let mut asked = vec![0];
    while asked.len() < 4 {
        bench.pass(500_000);
        for replica in [0, 1, 2] {
            let closed = Closed { undecided: undecided.clone(), ..stretch(at(60_000), Vec::new()) };
            bench.answer(replica, |ask| matches!(ask, Ask::Close { .. }), Answer::Closed(Ok(closed)));
        }
        let polled = bench.told.iter().filter_map(|(_, message)| match message.ask {
            Ask::Poll { id, .. } => Some(id),
            _ => None,
        });
        let polled: BTreeSet<ProposalId> = polled.collect();
        assert!(polled.iter().copied().eq((1..=polled.len() as u64).map(proposal)), "the oldest first");
        if polled.len() > asked[asked.len() - 1] {
            asked.push(polled.len());
        }
    }
    assert_eq!(asked, [0, 1, 2, 3].map(|rounds| rounds * TAKEN_OVER_EACH_ROUND));
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
