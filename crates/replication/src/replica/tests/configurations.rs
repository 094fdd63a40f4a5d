//! Replicas that are not of the group, and configurations that do not follow it.

use iolite_machine::{Machine, PersistId};
use iolite_store::{ConfigurationFault, Refusal};
use iolite_values::{Operation, Timestamp, Value, Write};

use super::bench::{at, blind, put, settings};
use super::group::{Trio, id_of};
use crate::node::{Answer, Ask, Configuration, Epoch, Group, Objection, Peer, ReplicaId, ShardId, Vote};
use crate::replica::{Replica, ReplicaInput, ReplicaOutput, ReplicaSettings};
use crate::{configuration_cell, configuration_write};

fn next(group: &Group, members: [u64; 3]) -> Configuration {
    Configuration::after(group, &members.map(ReplicaId)).unwrap()
}

/// Carries what a fourth replica says to the three, and back.
fn settle(trio: &mut Trio, fourth: &mut Replica) {
    let now = trio.now;
    let mut said = Vec::new();
    loop {
        said.extend(std::iter::from_fn(|| fourth.poll()));
        for replica in &mut trio.replicas {
            said.extend(std::iter::from_fn(|| replica.poll()));
        }
        if said.is_empty() {
            return;
        }
        for output in said.drain(..) {
            let ReplicaOutput::ToPeer { message, .. } = output else { continue };
            let to = message.to.0 as usize;
            trio.replicas.get_mut(to).unwrap_or(fourth).handle(now, ReplicaInput::FromPeer(message));
        }
    }
}

#[test]
fn who_is_of_no_group_yet_follows_it() {
    let mut trio = Trio::new();
    let transaction = put(1, 1);
    trio.commit(&[0, 1, 2], &transaction, at(5));
    trio.resolve(&[0, 1, 2], Timestamp::ZERO, at(9), &[id_of(&transaction, at(5))]);
    let group = trio.replicas[0].group().clone();
    let mut fourth = Replica::new(ReplicaSettings { id: ReplicaId(3), group, ..settings(1) });
    assert!(fourth.deadline().is_some());
    fourth.on_deadline(trio.now);
    settle(&mut trio, &mut fourth);
    assert_eq!((fourth.complete(), fourth.takes_part()), (at(9), false));
    assert!(fourth.versions().has_commit_at(at(5)));
}

#[test]
fn a_configuration_that_does_not_follow_the_group_is_a_conflict() {
    let mut trio = Trio::new();
    let group = trio.replicas[0].group().clone();
    let later = next(next(&group, [0, 1, 3]).group(), [0, 1, 4]);
    let vote = |trio: &mut Trio, configuration| {
        trio.prepare(&[0], &blind(1, vec![configuration_write(configuration)]), at(5)).remove(0)
    };
    assert_eq!(vote(&mut trio, &later), Vote::No);
    let mut trio = Trio::new();
    assert_eq!(vote(&mut trio, &next(&group, [0, 1, 3])), Vote::Ok);
}

#[test]
fn what_is_no_configuration_of_the_shard_is_refused() {
    let mut trio = Trio::new();
    let group = trio.replicas[0].group().clone();
    let sealed = configuration_write(&next(&group, [0, 1, 3]));
    let other_shard = Group::new(ShardId(9), group.epoch, group.members()).unwrap();
    let other_cell = configuration_cell(ShardId(9));
    let put = |value| Operation::Put(Value::Bytes(value));
    let writes = [
        Write { operation: put([1, 2, 3].into()), ..sealed.clone() },
        Write { operation: put([].into()), ..sealed.clone() },
        Write { operation: Operation::Delete, ..sealed.clone() },
        configuration_write(&Configuration::first(group.clone())),
        Write { cell: sealed.cell.clone(), ..configuration_write(&next(&other_shard, [0, 1, 3])) },
    ];
    let mut millis = 5;
    let refused = Some(Objection::Refused(Refusal::Configuration(ConfigurationFault::Unfit)));
    for write in writes {
        millis += 1;
        assert_eq!(trio.objection(0, &blind(millis, vec![write.clone()]), at(millis)), refused, "{write:?}");
    }
    let elsewhere = blind(89, vec![Write { cell: other_cell, ..sealed.clone() }]);
    assert!(matches!(trio.objection(0, &elsewhere, at(89)), Some(Objection::Conflict { .. })), "it may have ended");
    let twice = blind(90, vec![sealed.clone(), configuration_write(&next(&group, [0, 1, 4]))]);
    assert_eq!(trio.objection(0, &twice, at(90)), refused, "one transaction makes one configuration");
    assert_eq!(trio.objection(0, &blind(91, vec![sealed]), at(91)), None);
}

#[test]
fn who_learns_that_a_configuration_committed_is_sealed() {
    let mut trio = Trio::new();
    let group = trio.replicas[0].group().clone();
    let change = blind(1, vec![configuration_write(&next(&group, [1, 2, 3]))]);
    trio.commit(&[0, 1, 2], &change, at(5));
    for replica in &trio.replicas {
        assert_eq!(replica.group(), next(&group, [1, 2, 3]).group());
        assert!(!replica.takes_part());
    }
    // In the view of the new epoch, the one that was left out says who keeps the shard now.
    assert!(matches!(trio.ask(0, Ask::Begin), Some(Answer::WrongEpoch(Some(now))) if now.contains(ReplicaId(3))));
    // Two of the three are enough to begin, and the new one is not there yet.
    trio.settle_without(None);
    assert_eq!([0, 1, 2].map(|replica: usize| trio.replicas[replica].takes_part()), [false, true, true]);
    let reported = [0, 1, 2].map(|replica| match trio.ask(replica, Ask::Report) {
        Some(Answer::Reported(report)) => (report.group.epoch, report.takes_part),
        other => panic!("{other:?}"),
    });
    assert_eq!(reported, [(Epoch(1), false), (Epoch(1), true), (Epoch(1), true)]);
}

fn told(group: &Group) -> Ask {
    Ask::Configured { group: group.clone() }
}

#[test]
fn who_is_told_by_a_coordinator_of_the_group_after_its_own_is_sealed() {
    let mut trio = Trio::new();
    let next = next(trio.replicas[0].group(), [0, 2, 3]);
    assert_eq!(trio.ask(0, told(next.group())), None, "it is not answered");
    assert_eq!((trio.replicas[0].group(), trio.replicas[0].takes_part()), (next.group(), false));
    assert!(trio.ask(0, Ask::Begin).is_none(), "it is on the way to the next epoch");
    trio.settle_without(None);
    assert!(
        trio.said.contains(&Peer::Configured { configuration: next.clone() }),
        "it says whose records that begins from"
    );
    let taking_part = [0, 1, 2].map(|replica: usize| trio.replicas[replica].takes_part());
    assert_eq!(taking_part, [true, false, true]);
    assert!(trio.replicas.iter().all(|replica| replica.group() == next.group()));
}

/// It is not told whose records such an epoch begins from. Those that know of it do tell, when they are asked.
#[test]
fn who_is_told_of_a_group_further_on_asks_its_peers() {
    let mut trio = Trio::new();
    let group = trio.replicas[0].group().clone();
    let first = next(&group, [0, 1, 2]);
    let second = next(first.group(), [0, 1, 2]);
    for ahead in [1, 2] {
        trio.ask(ahead, told(first.group()));
        trio.ask(ahead, told(second.group()));
    }
    trio.take_said();
    assert_eq!(trio.ask(0, told(second.group())), None);
    assert_eq!(trio.replicas[0].group(), &group);
    trio.settle();
    assert_eq!(trio.replicas[0].group(), second.group());
}

#[test]
fn a_group_that_does_not_follow_its_own_moves_no_replica() {
    let mut trio = Trio::new();
    let group = trio.replicas[0].group().clone();
    let of = |shard, epoch| Group::new(ShardId(shard), Epoch(epoch), &[7, 8, 9].map(ReplicaId)).unwrap();
    for other in [of(0, 0), of(0, 2), of(0, u32::MAX), of(9, 1), of(9, 0), of(u32::MAX, u32::MAX)] {
        assert_eq!(trio.ask(0, told(&other)), None);
        assert_eq!((trio.replicas[0].group(), trio.replicas[0].takes_part()), (&group, true), "{other:?}");
    }
    assert!(trio.records[0].len() <= 2, "and is written down by none");
}

/// One that decides alone on the next group.
fn alone_with(next: &Configuration) -> Trio {
    let mut trio = Trio::of(1);
    trio.prepare(&[0], &blind(1, vec![configuration_write(next)]), at(5));
    trio
}

/// What has to be durable before each answer.
fn replies(trio: &mut Trio, ask: Ask) -> Vec<(PersistId, Answer)> {
    let asked = trio.message(0, ask);
    trio.replicas[0].handle(trio.now, ReplicaInput::FromCoordinator(asked));
    let outputs = std::iter::from_fn(|| trio.replicas[0].poll());
    let replies = outputs.filter_map(|output| match output {
        ReplicaOutput::Reply { after, message } => Some((after, message.answer)),
        ReplicaOutput::Persist { .. } | ReplicaOutput::ToPeer { .. } => None,
    });
    replies.collect()
}

/// Or a coordinator could tell others of a group that a crash has undone.
#[test]
fn who_decided_alone_on_a_group_tells_of_it_when_that_is_durable() {
    let next = next(Trio::of(1).replicas[0].group(), [1, 2, 3]);
    let mut trio = alone_with(&next);
    let configured = trio.replicas[0].persisted;
    assert_eq!(replies(&mut trio, Ask::Begin), [(configured, Answer::WrongEpoch(Some(next.group().clone())))]);
}

/// Or an operator could turn off what the group is still to begin from.
#[test]
fn an_operator_is_told_where_a_replica_stands_when_that_is_durable() {
    let next = next(Trio::of(1).replicas[0].group(), [0, 1, 2]);
    let mut trio = alone_with(&next);
    let configured = trio.replicas[0].persisted;
    let report = trio.replicas[0].report();
    assert_eq!((&report.group, report.takes_part), (next.group(), false));
    assert_eq!(replies(&mut trio, Ask::Report), [(configured, Answer::Reported(report))]);
}
