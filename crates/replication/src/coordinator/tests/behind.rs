//! What a coordinator that knows of a later group does with replicas that do not.

use iolite_machine::Machine;
use iolite_values::{Id, StoreIncarnation, Timestamp};

use super::bench::{STORE, opened, own_id};
use super::two_shards::Bench;
use crate::coordinator::CoordinatorInput;
use crate::node::{Answer, Ask, Boot, Epoch, FromReplica, Group, ReplicaId, ShardId, ToReplica, View};

fn group(epoch: u32) -> Group {
    Group::new(ShardId(0), Epoch(epoch), &[0, 1, 2].map(ReplicaId)).expect("three")
}

/// A replica answers what it was asked last.
fn says(bench: &mut Bench, replica: u64, store: StoreIncarnation, epoch: u32, answer: Answer) {
    bench.listen();
    let (_, asked) = bench.told.iter().rev().find(|(to, _)| *to == ReplicaId(replica)).expect("it was asked");
    let message = FromReplica {
        to: own_id(),
        from: ReplicaId(replica),
        shard: ShardId(0),
        id: asked.id,
        boot: Boot(1),
        store,
        view: View { epoch: Epoch(epoch), number: 0 },
        highest: Default::default(),
        limit: Default::default(),
        answer,
    };
    bench.coordinator.handle(bench.now, CoordinatorInput::FromReplica(message));
    bench.listen();
}

/// What a replica says of its group, and what it is told then.
fn told(bench: &mut Bench, replica: u64, store: StoreIncarnation, epoch: u32) -> Vec<ToReplica> {
    bench.listen();
    let before = bench.told.len();
    says(bench, replica, store, epoch, Answer::WrongEpoch(Some(group(epoch))));
    let told = bench.told[before..].iter().filter(|(_, message)| matches!(message.ask, Ask::Configured { .. }));
    told.map(|(to, message)| {
        assert_eq!(*to, ReplicaId(replica), "who said it is told");
        message.clone()
    })
    .collect()
}

#[test]
fn a_replica_that_is_behind_is_told_of_the_later_group_and_no_other_is() {
    let mut bench = Bench::new();
    bench.open([(5, 100), (1, 100)]);
    assert_eq!(told(&mut bench, 0, STORE, 0), []);
    assert_eq!(told(&mut bench, 0, STORE, 2), []);
    assert_eq!(bench.coordinator.map().group(ShardId(0)), Some(&group(2)));
    assert_eq!(told(&mut bench, 1, STORE, 2), []);
    for epoch in [0, 1] {
        let told = told(&mut bench, 1, STORE, epoch);
        let said = told.iter().map(|message| (&message.ask, message.store, message.view.epoch));
        assert_eq!(said.collect::<Vec<_>>(), [(&Ask::Configured { group: group(2) }, Some(STORE), Epoch(2))]);
    }
}

/// A hint says in which view its replica is. One of a later group would accept what is meant for the group that is known here, whose quorums are other ones.
#[test]
fn a_hint_from_a_later_group_is_no_word_of_that_group() {
    let mut bench = Bench::new();
    bench.open([(5, 100), (1, 100)]);
    let before = bench.told.len();
    says(&mut bench, 0, STORE, 2, Answer::Stirred { at: Timestamp::ZERO });
    bench.pass(1_000_000);
    let epochs: Vec<Epoch> = bench.told[before..].iter().map(|(_, message)| message.view.epoch).collect();
    assert!(epochs.len() > 3 && epochs.iter().all(|epoch| *epoch == Epoch(0)), "{epochs:?}");
    assert_eq!(sounded(&mut bench, before), [ReplicaId(0)], "who is further is asked which group it is in");
    says(&mut bench, 0, STORE, 2, Answer::WrongEpoch(Some(group(2))));
    assert_eq!(bench.coordinator.map().group(ShardId(0)), Some(&group(2)));
}

/// While it opens it does not know the history, and a majority may have to be told before it can.
#[test]
fn a_replica_is_told_of_the_group_of_a_directory_while_the_store_is_opened() {
    let mut bench = Bench::new();
    bench.coordinator.handle(bench.now, CoordinatorInput::Configured(group(1)));
    assert_eq!(told(&mut bench, 1, STORE, 0).len(), 1);
    assert_eq!(told(&mut bench, 2, STORE, 0).len(), 1);
}

#[test]
fn replicas_of_another_history_are_not_told_of_its_groups() {
    let other = StoreIncarnation(Id::from_u128(99));
    let mut bench = Bench::new();
    bench.open([(5, 100), (1, 100)]);
    bench.coordinator.handle(bench.now, CoordinatorInput::Configured(group(2)));
    assert_eq!(told(&mut bench, 1, other, 1), []);
    assert_eq!(told(&mut bench, 1, STORE, 1).len(), 1);
    assert_eq!(told(&mut bench, 1, other, 3), []);
    assert_eq!(told(&mut bench, 2, STORE, 1), [], "the latest group is of another history");
}

/// The replicas that are asked what needs no answer, in the order in which they are.
fn sounded(bench: &mut Bench, from: usize) -> Vec<ReplicaId> {
    bench.listen();
    let sounded = bench.told[from..].iter().filter(|(_, message)| message.ask == Ask::Open && message.id.number == 0);
    sounded.map(|(to, _)| *to).collect()
}

/// The one that answered is asked nothing more, and the two that are waited for are gone for good: nobody else would tell.
#[test]
fn a_group_of_which_some_are_silent_for_long_is_asked_whether_it_has_changed() {
    let mut bench = Bench::new();
    for replica in [0, 2, 3, 4] {
        bench.answer(replica, |ask| *ask == Ask::Open, opened(Timestamp::ZERO));
    }
    for replica in [0, 3, 4, 5] {
        bench.answer(replica, |ask| *ask == Ask::Begin, Answer::Begun);
    }
    bench.pass(1_000_000);
    assert_eq!(sounded(&mut bench, 0), [], "it may take a while");
    bench.pass(4_000_000);
    let sounded = sounded(&mut bench, 0);
    assert!(sounded.len() >= 3 && sounded.chunks(3).all(|own| own == [0, 1, 2].map(ReplicaId)), "{sounded:?}");
    let before = bench.told.len();
    assert_eq!(told(&mut bench, 0, STORE, 1), []);
    let opens = bench.told[before..].iter().filter(|(_, message)| message.ask == Ask::Open);
    let opens: Vec<_> = opens.map(|(to, message)| (to.0, message.view.epoch)).collect();
    let expected = [0, 1, 2].map(|replica| (replica, Epoch(1))).into_iter();
    assert_eq!(opens, expected.chain([3, 4, 5].map(|replica| (replica, Epoch(0)))).collect::<Vec<_>>());
}
