//! Readings whose shards change while they are under way.

use iolite_machine::Machine;
use iolite_store::{Request, RequestId};
use iolite_values::{Interest, KeyRange, RowKey, TableId, Timestamp};

use super::two_shards::Bench;
use crate::coordinator::CoordinatorInput;
use crate::coordinator::reading::READ_AGAIN_AFTER;
use crate::node::{Answer, Ask, Epoch, Group, ReplicaId, ShardId, Split};

fn group(shard: u32, epoch: u32, members: [u64; 3]) -> Group {
    Group::new(ShardId(shard), Epoch(epoch), &members.map(ReplicaId)).expect("three")
}

fn is_reading(ask: &Ask) -> bool {
    matches!(ask, Ask::Changes { .. })
}

/// Both shards are read, and all replicas of the second one are behind: they are asked again in a moment.
fn waiting_for_the_second_shard() -> Bench {
    let mut bench = Bench::new();
    bench.open([(5, 100), (1, 100)]);
    let interests = vec![Interest::Range { table: TableId(1), range: KeyRange::all() }];
    let request =
        Request::Changes { interests, after: Timestamp::ZERO, through: Timestamp::ZERO, bytes_max: usize::MAX };
    bench.coordinator.handle(bench.now, CoordinatorInput::Request(RequestId(1), request));
    for _ in 0..3 {
        bench.listen();
        let asked = bench.told.iter().rev().find(|(_, own)| own.shard == ShardId(1) && is_reading(&own.ask));
        let ReplicaId(replica) = asked.expect("one of it is asked").0;
        bench.answer(replica, is_reading, Answer::Behind { complete: Timestamp::ZERO });
    }
    bench.told.clear();
    bench
}

/// How often each of these shards was asked for its part, up to when those that were behind are asked again.
fn asked(mut bench: Bench, shards: [u32; 3]) -> [usize; 3] {
    bench.pass(READ_AGAIN_AFTER.as_micros() as u64 + 1_000);
    bench.listen();
    let parts = bench.told.iter().filter(|(_, own)| is_reading(&own.ask));
    let parts: Vec<ShardId> = parts.map(|(_, own)| own.shard).collect();
    shards.map(|shard| parts.iter().filter(|own| **own == ShardId(shard)).count())
}

#[test]
fn each_part_of_a_shard_that_ends_is_read_once_while_another_shard_is_waited_for() {
    let mut bench = waiting_for_the_second_shard();
    let place = (TableId(1 << 30), RowKey::bound(&[]));
    let split = Split::new(group(0, 0, [0, 1, 2]), place, group(2, 0, [6, 7, 8]), group(3, 0, [9, 10, 11]));
    bench.coordinator.handle(bench.now, CoordinatorInput::Ended(split.expect("a place in it")));
    assert_eq!(asked(bench, [2, 3, 1]), [1, 1, 1]);
}

#[test]
fn a_part_of_a_shard_that_ends_is_not_asked_for_again_because_the_shard_was_behind() {
    let mut bench = waiting_for_the_second_shard();
    let place = (TableId(3 << 30), RowKey::bound(&[]));
    let split = Split::new(group(1, 0, [3, 4, 5]), place, group(2, 0, [6, 7, 8]), group(3, 0, [9, 10, 11]));
    bench.coordinator.handle(bench.now, CoordinatorInput::Ended(split.expect("a place in it")));
    assert_eq!(asked(bench, [2, 3, 0]), [1, 1, 0], "and nobody else is");
}

#[test]
fn a_later_group_is_not_asked_for_a_part_again_because_the_one_before_was_behind() {
    let mut bench = waiting_for_the_second_shard();
    bench.coordinator.handle(bench.now, CoordinatorInput::Configured(group(1, 1, [3, 4, 6])));
    assert_eq!(asked(bench, [1, 0, 2]), [1, 0, 0]);
}
