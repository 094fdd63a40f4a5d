//! A Close: that only a majority answers, with its list, and a view that changes meanwhile; and that answers come to without commits.

use std::sync::Arc;

use iolite_machine::{Instant, Now, WallTime};
use iolite_store::Commit;
use iolite_values::Timestamp;

use super::bench::{START_MICROS, at, closed, opened, own_id, stretch, transaction};
use super::two_shards::Bench;
use crate::ShardMap;
use crate::coordinator::close::LIST_AFTER;
use crate::coordinator::{Coordinator, CoordinatorSettings};
use crate::node::{Answer, Ask, Closed, Detail, Epoch, Group, Life, ReplicaId, ShardId, ToReplica, View};
use crate::shards::Place;

fn is_close(ask: &Ask) -> bool {
    matches!(ask, Ask::Close { .. })
}

fn is_list(ask: &Ask) -> bool {
    matches!(ask, Ask::CloseList { .. })
}

/// The last of those that replica 0 was asked.
fn last_asked(bench: &Bench, which: impl Fn(&Ask) -> bool) -> Option<&ToReplica> {
    let asked = bench.told.iter().rev().find(|(to, message)| *to == ReplicaId(0) && which(&message.ask));
    asked.map(|(_, message)| message)
}

/// So many were asked to close; the first three answer all that comes before.
fn closing(members: &[ReplicaId]) -> Bench {
    let now = Now { instant: Instant::from_nanos(0), wall: WallTime::from_micros(START_MICROS) };
    let group = Group::new(ShardId(0), Epoch::default(), members).expect("an odd group");
    let shards = ShardMap::new([(Place::first(), group)]).expect("one shard");
    let coordinator = Coordinator::new(now, CoordinatorSettings::new(own_id(), Life(3), shards));
    let mut bench = Bench { coordinator, now, told: Vec::new() };
    let mut answer_of_three = |which: fn(&Ask) -> bool, answer: Answer| {
        for replica in [0, 1, 2] {
            bench.answer(replica, which, answer.clone());
        }
    };
    answer_of_three(|ask| matches!(ask, Ask::Open), opened(Timestamp::ZERO));
    answer_of_three(|ask| matches!(ask, Ask::Begin), Answer::Begun);
    bench.pass(250_000);
    bench
}

/// Three of five have answered, and are to record what may commit.
fn listing() -> Bench {
    let mut bench = closing(&[0, 1, 2, 3, 4].map(ReplicaId));
    for replica in [0, 1, 2] {
        bench.answer(replica, is_close, closed(Timestamp::from_u64(9)));
    }
    bench.pass(LIST_AFTER.as_micros() as u64);
    bench
}

#[test]
fn a_replica_that_has_gone_on_to_another_view_is_asked_to_close_in_that_one() {
    let mut bench = listing();
    let is_listed = last_asked(&bench, is_list).expect("three are not enough alone").view == View::default();
    assert!(is_listed && last_asked(&bench, is_close).expect("that came first").view == View::default());
    let later = View { epoch: Epoch::default(), number: 4 };
    bench.answer_in(later, 0, is_list, Answer::Unknown);
    assert_eq!(last_asked(&bench, is_close).expect("once more").view, later);
    let asked = bench.told.len();
    bench.pass(100_000);
    assert!(!bench.told[asked..].iter().any(|(_, message)| is_list(&message.ask)), "the list is of no use");
}

#[test]
fn the_one_that_was_asked_for_commits_may_be_the_last_to_answer() {
    let mut bench = closing(&[0, 1, 2].map(ReplicaId));
    let is_whole = |ask: &Ask| matches!(ask, Ask::Close { detail: Detail::Whole, .. });
    let asked_whole = |bench: &Bench| bench.told.iter().filter(|(_, message)| is_whole(&message.ask)).count();
    assert!(last_asked(&bench, is_whole).is_some() && asked_whole(&bench) == 1, "the nearest one is");
    let commit = Commit { at: at(1), transaction: transaction(1).id, writes: Arc::from([]) };
    let whole = stretch(at(150), vec![commit]);
    let names = Closed { commits: Vec::new(), ..whole.clone() };
    for replica in [1, 2] {
        bench.answer(replica, is_close, Answer::Closed(Ok(names.clone())));
    }
    assert!(bench.coordinator.feed.position() < at(1), "enough have closed, and nobody has told what it is");
    bench.answer(0, is_close, Answer::Closed(Ok(whole)));
    assert_eq!((bench.coordinator.feed.position(), asked_whole(&bench)), (at(150), 1), "nobody else is asked for it");
}

#[test]
fn others_are_asked_for_commits_when_the_nearest_one_is_silent() {
    let mut bench = closing(&[0, 1, 2].map(ReplicaId));
    let commit = Commit { at: at(1), transaction: transaction(1).id, writes: Arc::from([]) };
    let whole = stretch(at(150), vec![commit]);
    for replica in [1, 2] {
        bench.answer(replica, is_close, Answer::Closed(Ok(Closed { commits: Vec::new(), ..whole.clone() })));
    }
    bench.pass(LIST_AFTER.as_micros() as u64 + 1_000);
    for replica in [1, 2] {
        let is_whole = |ask: &Ask| matches!(ask, Ask::Close { detail: Detail::Whole, .. });
        bench.answer(replica, is_whole, Answer::Closed(Ok(whole.clone())));
    }
    assert_eq!(bench.coordinator.feed.position(), at(150));
}
