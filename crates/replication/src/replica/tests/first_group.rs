//! The journal says which group the replica was made in.

use iolite_machine::Machine;

use super::bench::{Bench, Said, add, at, blind, prepare, settings};
use super::group::Trio;
use crate::configuration_write;
use crate::journal::JournalRecord;
use crate::node::{Ask, Configuration, Epoch, Group, Peer, ReplicaId, ShardId};
use crate::replica::{RecoverError, Replica, ReplicaInput, ReplicaOutput, ReplicaSettings};

const NOTHING: [[u8; 0]; 0] = [];

fn group(epoch: u32, members: &[u64]) -> Group {
    let members: Vec<ReplicaId> = members.iter().copied().map(ReplicaId).collect();
    Group::new(ShardId::default(), Epoch(epoch), &members).unwrap()
}

fn in_group(group: Group) -> ReplicaSettings {
    ReplicaSettings { group, ..settings(2) }
}

fn is_refused(recovered: Result<Replica, RecoverError>) -> bool {
    matches!(recovered, Err(RecoverError::OtherGroup { .. }))
}

#[test]
fn a_start_with_another_group_is_refused() {
    let mut bench = Bench::new();
    bench.commit(&add(1, 1), at(1));
    let others = [group(0, &[0, 1, 2]), group(1, &[0]), group(0, &[1])];
    for other in others.clone() {
        assert!(is_refused(Replica::recover(in_group(other), NOTHING, &bench.records)));
    }
    bench.replica.begin_checkpoint();
    let chunks: Vec<_> = std::iter::from_fn(|| bench.replica.next_chunk(1)).collect();
    for other in others {
        assert!(is_refused(Replica::recover(in_group(other), &chunks, NOTHING)));
    }
    bench.restart(&chunks, &[]);
    assert!(bench.replica.versions().has_commit_at(at(1)), "its own group is taken");
}

#[test]
fn the_first_group_is_in_the_journal_before_anything_else() {
    let mut trio = Trio::new();
    trio.prepare(&[0], &add(1, 1), at(5));
    let first = JournalRecord::decode(&trio.records[0][0]).unwrap();
    assert_eq!(first, JournalRecord::Configured(Configuration::first(group(0, &[0, 1, 2]))));
}

#[test]
fn a_journal_of_an_earlier_release_says_its_group_with_its_next_record() {
    let mut bench = Bench::new();
    bench.commit(&add(1, 1), at(1));
    let released = bench.records[1..].to_vec();
    bench.restart(&[], &released);
    let said = bench.ask(prepare(&add(2, 1), at(5_000)));
    let first = JournalRecord::Configured(Configuration::first(settings(1).group));
    assert!(matches!(&said[0], Said::Record(_, record) if *record == first));
    let said = bench.ask(prepare(&add(3, 1), at(5_001)));
    assert!(!said.iter().any(|said| matches!(said, Said::Record(_, JournalRecord::Configured(_)))), "it says it once");
}

#[test]
fn once_a_later_configuration_is_in_the_journal_it_does_not_matter_what_the_host_gives() {
    let mut trio = Trio::new();
    let first = trio.replicas[1].group().clone();
    let next = Configuration::after(&first, &[1, 2, 3].map(ReplicaId)).unwrap();
    trio.commit(&[0, 1, 2], &blind(1, vec![configuration_write(&next)]), at(5));
    for given in [first, next.group().clone(), group(0, &[1])] {
        let settings = ReplicaSettings { id: ReplicaId(1), ..in_group(given) };
        let recovered = Replica::recover(settings, NOTHING, &trio.records[1]).unwrap();
        assert_eq!(recovered.group(), next.group());
    }
}

#[test]
fn the_group_that_a_host_gave_to_another_replica_is_not_gone_over_to() {
    let mut trio = Trio::new();
    let later = group(1, &[1, 2, 3]);
    let mut made = Replica::new(ReplicaSettings { id: ReplicaId(4), ..in_group(later) });
    made.on_deadline(trio.now);
    let fetches: Vec<_> = std::iter::from_fn(|| made.poll()).collect();
    assert!(!fetches.is_empty());
    let ReplicaOutput::ToPeer { message, .. } = &fetches[0] else { panic!("it has nothing to write") };
    let configuration = Configuration::first(group(1, &[1, 2, 3]));
    let peer = Peer::Configured { configuration };
    let told = crate::node::BetweenReplicas { to: ReplicaId(1), peer, ..message.clone() };
    trio.replicas[1].handle(trio.now, ReplicaInput::FromPeer(told));
    assert_eq!(trio.replicas[1].group().epoch, Epoch(0));
    assert!(trio.replicas[1].takes_part());
    assert!(trio.ask(1, Ask::Begin).is_some());
}
