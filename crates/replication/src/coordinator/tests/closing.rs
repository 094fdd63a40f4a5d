//! A Close of five replicas: a majority is enough, and of one view.

use iolite_machine::{Instant, Now, WallTime};
use iolite_values::Timestamp;

use super::bench::{START_MICROS, closed, opened, own_id};
use super::two_shards::Bench;
use crate::ShardMap;
use crate::coordinator::{Coordinator, CoordinatorSettings};
use crate::node::{Answer, Ask, Closed, Epoch, Group, Life, ReplicaId, ShardId, ToReplica, View};
use crate::shards::Place;

const LATER: View = View { epoch: Epoch(0), number: 4 };

fn is_close(ask: &Ask) -> bool {
    matches!(ask, Ask::Close { .. })
}

/// What replica 0 was asked of `which` last.
fn last_asked(bench: &Bench, which: impl Fn(&Ask) -> bool) -> Option<&ToReplica> {
    let asked = bench.told.iter().rev().find(|(to, message)| *to == ReplicaId(0) && which(&message.ask));
    asked.map(|(_, message)| message)
}

/// All are asked to close, and two have done it.
fn closing() -> Bench {
    let now = Now { instant: Instant::from_nanos(0), wall: WallTime::from_micros(START_MICROS) };
    let members = [0, 1, 2, 3, 4].map(ReplicaId);
    let group = Group::new(ShardId(0), Epoch::default(), &members).expect("an odd group");
    let shards = ShardMap::new([(Place::first(), group)]).expect("one shard");
    let coordinator = Coordinator::new(now, CoordinatorSettings::new(own_id(), Life(3), shards));
    let mut bench = Bench { coordinator, now, told: Vec::new() };
    for (which, answer) in [
        ((|ask| matches!(ask, Ask::Open)) as fn(&Ask) -> bool, opened(Timestamp::ZERO)),
        (|ask| matches!(ask, Ask::Begin), Answer::Begun),
    ] {
        [0, 1, 2].into_iter().for_each(|replica| bench.answer(replica, which, answer.clone()));
    }
    bench.pass(250_000);
    [0, 1].into_iter().for_each(|replica| bench.answer(replica, is_close, closed(Timestamp::from_u64(9))));
    bench
}

fn resolved(bench: &Bench) -> Option<Timestamp> {
    let told = last_asked(bench, |ask| matches!(ask, Ask::Resolved { .. }))?;
    let Ask::Resolved { through, .. } = &told.ask else { return None };
    Some(*through)
}

#[test]
fn three_of_five_are_enough() {
    let mut bench = closing();
    assert_eq!(resolved(&bench), None);
    bench.answer(2, is_close, closed(Timestamp::from_u64(9)));
    assert_eq!(resolved(&bench), Some(Timestamp::from_u64(9)));
}

#[test]
fn a_replica_that_has_answered_is_asked_once_more_in_the_view_that_another_has_gone_on_to() {
    let mut bench = closing();
    assert_eq!(last_asked(&bench, is_close).expect("all are").view, View::default());
    bench.answer_in(LATER, 2, is_close, closed(Timestamp::from_u64(9)));
    assert_eq!(resolved(&bench), None, "answers of two views do not count together");
    assert_eq!(last_asked(&bench, is_close).expect("once more").view, LATER);
    [0, 1].into_iter().for_each(|replica| bench.answer_in(LATER, replica, is_close, closed(Timestamp::from_u64(9))));
    assert_eq!(resolved(&bench), Some(Timestamp::from_u64(9)));
}

/// By how far a majority is complete all forget: one that is behind, and near, is not to keep them from it.
#[test]
fn one_that_is_not_complete_is_made_up_for_by_another() {
    let closed_at = |through: u64, complete: u64| {
        let Answer::Closed(Ok(own)) = closed(Timestamp::from_u64(through)) else { panic!("it has") };
        Answer::Closed(Ok(Closed { complete: Timestamp::from_u64(complete), ..own }))
    };
    let mut bench = closing();
    bench.answer(2, is_close, closed_at(9, 0));
    assert_eq!(resolved(&bench), Some(Timestamp::from_u64(9)), "nothing was closed before");
    bench.pass(1_000_000);
    [0, 1].into_iter().for_each(|replica| bench.answer(replica, is_close, closed_at(20, 9)));
    bench.answer(2, is_close, closed_at(20, 0));
    assert_eq!(resolved(&bench), Some(Timestamp::from_u64(9)), "another one is waited for");
    bench.answer(3, is_close, closed_at(20, 9));
    assert_eq!(resolved(&bench), Some(Timestamp::from_u64(20)));
}
