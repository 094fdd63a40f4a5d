//! A Close that only a majority answers: its list, and a view that changes meanwhile.

use iolite_machine::{Instant, Now, WallTime};
use iolite_values::Timestamp;

use super::bench::{START_MICROS, closed, opened, own_id};
use super::two_shards::Bench;
use crate::ShardMap;
use crate::coordinator::close::LIST_AFTER;
use crate::coordinator::{Coordinator, CoordinatorSettings};
use crate::node::{Answer, Ask, Epoch, Group, Life, ReplicaId, ShardId, ToReplica, View};
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

/// Three of five have answered, and are to record what may commit.
fn listing() -> Bench {
    let now = Now { instant: Instant::from_nanos(0), wall: WallTime::from_micros(START_MICROS) };
    let members = [0, 1, 2, 3, 4].map(ReplicaId);
    let group = Group::new(ShardId(0), Epoch::default(), &members).expect("an odd group");
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
