//! What the feed has passed, and the replicas were not told of.

use std::sync::Arc;

use iolite_values::{Attempt, Timestamp};

use super::bench::{at, stretch, transaction};
use super::two_shards::Bench;
use crate::node::{Answer, Ask, Closed, ProposalId, ReplicaId, ShardId, Undecided};

fn proposal() -> ProposalId {
    ProposalId { at: at(1), transaction: transaction(1).id, attempt: Attempt(1) }
}

/// What a replica says that has voted OK on the proposal, and has heard of no outcome.
fn not_told(through: Timestamp, cursor: Timestamp) -> Closed {
    let participants: Arc<[ShardId]> = [ShardId(0), ShardId(1)].into();
    let is_in = cursor < proposal().at && proposal().at <= through;
    let undecided = is_in.then(|| Undecided { id: proposal(), participants });
    Closed { complete: at(0), undecided: undecided.into_iter().collect(), ..stretch(through, Vec::new()) }
}

/// Another coordinator aborted it, and told one replica, which was lost.
fn told(through: Timestamp, cursor: Timestamp) -> Closed {
    Closed { undecided: Vec::new(), aborted: vec![proposal()], ..not_told(through, cursor) }
}

/// Replicas answer what they are asked to close, from the message at `place` on.
fn answer_closes(bench: &mut Bench, mut place: usize, known: bool) -> usize {
    while place < bench.told.len() {
        let (ReplicaId(replica), message) = bench.told[place].clone();
        place += 1;
        let Ask::Close { through, cursor, .. } = message.ask else { continue };
        let closed = match replica {
            0 if known => told(through, cursor),
            1 | 2 => not_told(through, cursor),
            3 | 4 => stretch(through, Vec::new()),
            _ => continue,
        };
        bench.answer(replica, |ask| *ask == message.ask, Answer::Closed(Ok(closed)));
    }
    place
}

#[test]
fn what_replicas_still_wait_for_is_taken_over_though_the_feed_has_passed_it() {
    let mut bench = Bench::new();
    bench.open([(5, 100), (1, 100)]);
    let mut place = bench.told.len();
    let is_poll = |message: &Ask| matches!(message, Ask::Poll { id, .. } if *id == proposal());
    for _ in 0..2_000 {
        bench.pass(1_000);
        let has_passed = bench.coordinator.feed.position() > proposal().at;
        place = answer_closes(&mut bench, place, !has_passed);
    }
    assert!(bench.coordinator.feed.position() > proposal().at, "the feed has passed it");
    assert!(bench.told.iter().any(|(_, message)| is_poll(&message.ask)), "it is asked what became of it");
}
