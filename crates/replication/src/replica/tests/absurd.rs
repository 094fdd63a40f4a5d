//! What no node that works says does nothing, and what comes after it is served.

use iolite_machine::{Machine, WallTime};
use iolite_values::{CoordinatorId, Timestamp};

use super::bench::{STORE, add, at, close, settings};
use super::group::{Trio, id_of, prepare};
use crate::journal::Completed;
use crate::node::{
    Ask, Ballot, BetweenReplicas, Boot, Configuration, Drained, Epoch, Group, Life, MessageId, Outcome, Peer,
    RecordPart, RecordedEntry, ReplicaId, ShardId, StateChunk, Term, ToReplica, View, Vote,
};
use crate::replica::{
    DECIDED_LEAD_MAX, Replica, ReplicaInput, ReplicaOutput, ReplicaSettings, TERMS_AHEAD_MAX, VIEWS_AHEAD_MAX,
};

/// Says it to the first replica as a coordinator of its own, and returns whether it was answered.
fn is_answered(trio: &mut Trio, term: u32, view: u32, ask: Ask) -> bool {
    let message = ToReplica {
        from: CoordinatorId::new(9).unwrap(),
        term: Term(term),
        id: MessageId { life: Life(9), number: 1 },
        store: Some(STORE),
        shard: ShardId(0),
        view: View { epoch: Epoch(0), number: view },
        ask,
    };
    let replica = &mut trio.replicas[0];
    replica.handle(trio.now, ReplicaInput::FromCoordinator(message));
    replica.validate();
    let outputs: Vec<ReplicaOutput> = std::iter::from_fn(|| replica.poll()).collect();
    outputs.iter().any(|output| matches!(output, ReplicaOutput::Reply { .. }))
}

/// A moment beyond, as far as a replica takes it from its clock.
fn beyond(trio: &Trio) -> Timestamp {
    Timestamp::end_of(trio.now.wall.as_micros() + DECIDED_LEAD_MAX.as_micros() as u64 + 1)
}

#[test]
fn what_is_called_decided_in_a_far_future_does_nothing() {
    let mut trio = Trio::new();
    let (transaction, far) = (add(1, 1), beyond(&trio));
    let id = id_of(&transaction, far);
    let view = View::default();
    let asks = [
        Ask::Finalise { id, view, ballot: Ballot::FIRST, vote: Vote::Ok, proposal: None },
        Ask::Poll { id, ballot: Ballot { number: 1, ..Ballot::FIRST } },
        Ask::Outcome { id, outcome: Outcome::Committed, proposal: None },
        Ask::Resolved { from: Timestamp::ZERO, through: far, commits: [].into() },
    ];
    let count = asks.len() as u64;
    for ask in asks {
        assert!(!is_answered(&mut trio, 1, 0, ask.clone()), "{ask:?}");
    }
    assert_eq!(trio.replicas[0].figures().absurd, count);
    assert_eq!((trio.replicas[0].complete(), trio.replicas[0].record_len()), (Timestamp::ZERO, 0));
    let near = Ask::Poll { id: id_of(&transaction, at(7)), ballot: Ballot { number: 1, ..Ballot::FIRST } };
    assert!(is_answered(&mut trio, 1, 0, near), "what is not far is taken");
    trio.commit(&[0, 1, 2], &transaction, at(9));
}

/// Another replica says it to the first one.
fn hear(trio: &mut Trio, from: u64, peer: Peer) {
    let (from, to) = (ReplicaId(from), ReplicaId(0));
    let message = BetweenReplicas { from, to, store: STORE, shard: ShardId(0), epoch: Epoch(0), peer };
    trio.replicas[0].handle(trio.now, ReplicaInput::FromPeer(message));
    trio.replicas[0].validate();
}

#[test]
fn a_view_or_term_far_ahead_is_not_followed() {
    let mut trio = Trio::new();
    let ask = || close(at(5), Timestamp::ZERO);
    for view in [VIEWS_AHEAD_MAX + 1, u32::MAX] {
        assert!(!is_answered(&mut trio, 1, view, ask()));
    }
    for term in [TERMS_AHEAD_MAX + 1, u32::MAX] {
        assert!(!is_answered(&mut trio, term, 0, Ask::Begin));
    }
    let view = View { epoch: Epoch(0), number: u32::MAX };
    let part = RecordPart::empty(view);
    let peers = [
        Peer::StartViewChange { view },
        Peer::DoViewChange { last_normal: view, part: part.clone() },
        Peer::StartView { part },
    ];
    for (from, peer) in [1, 9, 2].into_iter().zip(peers) {
        hear(&mut trio, from, peer);
    }
    assert_eq!(trio.replicas[0].figures().absurd, 7);
    assert_eq!(trio.replicas[0].view(), View::default());
    assert!(is_answered(&mut trio, TERMS_AHEAD_MAX, 0, Ask::Begin), "what is not far is taken");
    assert!(!is_answered(&mut trio, TERMS_AHEAD_MAX, VIEWS_AHEAD_MAX, ask()), "it is on the way to that view");
    assert_eq!(trio.replicas[0].view().number, VIEWS_AHEAD_MAX);
}

/// Another replica says to the first one that everything through `far` is settled, and nothing committed.
fn hear_of(trio: &mut Trio, from: u64, far: Timestamp) {
    hear(trio, from, Peer::Segment { after: Timestamp::ZERO, through: far, commits: Vec::new() });
}

fn call_resolved(trio: &mut Trio, far: Timestamp) {
    is_answered(trio, 1, 0, Ask::Resolved { from: Timestamp::ZERO, through: far, commits: [].into() });
}

/// The clocks of the others may be years ahead, and the store with them: who was away has to be able to follow.
#[test]
fn a_far_future_is_believed_of_two_nodes_and_of_none_alone() {
    let mut trio = Trio::new();
    let far = beyond(&trio);
    for _ in 0..3 {
        hear_of(&mut trio, 1, far);
    }
    // It may have this from the same replica.
    let passed_on = Ask::Poll { id: id_of(&add(1, 1), far), ballot: Ballot { number: 1, ..Ballot::FIRST } };
    assert!(!is_answered(&mut trio, 1, 0, passed_on.clone()));
    // One that is not of the group.
    hear_of(&mut trio, 7, far);
    hear_of(&mut trio, 1, far);
    assert_eq!(trio.replicas[0].complete(), Timestamp::ZERO);
    hear_of(&mut trio, 2, far);
    assert_eq!(trio.replicas[0].complete(), far);
    assert!(is_answered(&mut trio, 1, 0, passed_on), "others are served there too");
}

#[test]
fn what_a_coordinator_calls_resolved_counts_as_the_word_of_one_node() {
    let mut trio = Trio::new();
    let far = beyond(&trio);
    call_resolved(&mut trio, far);
    call_resolved(&mut trio, far);
    assert_eq!(trio.replicas[0].complete(), Timestamp::ZERO);
    hear_of(&mut trio, 1, far);
    assert_eq!(trio.replicas[0].complete(), far);
}

/// Of the only gateway. It is told of nothing else that is settled, and is not asked anything.
#[test]
fn who_is_told_of_a_far_future_asks_the_others_whether_they_are_there() {
    let mut trio = Trio::new();
    let (far, wall) = (beyond(&trio), trio.now.wall);
    trio.now.wall = WallTime::from_micros(far.micros());
    let transaction = add(1, 1);
    trio.commit(&[0, 1], &transaction, far);
    trio.resolve(&[0, 1], Timestamp::ZERO, far, &[id_of(&transaction, far)]);
    trio.now.wall = wall;
    trio.resolve(&[2], Timestamp::ZERO, far, &[id_of(&transaction, far)]);
    assert_eq!(trio.complete()[2], Timestamp::ZERO);
    trio.settle();
    assert_eq!(trio.complete()[2], far);
    assert!(trio.replicas[2].versions().has_commit_at(far));
}

/// Whatever carries it.
#[test]
fn nothing_that_one_replica_says_holds_a_time_that_is_far_ahead() {
    let mut trio = Trio::new();
    let far = beyond(&trio);
    let (transaction, view) = (add(1, 1), View::default());
    let id = id_of(&transaction, far);
    let Ask::Prepare { proposal, .. } = prepare(&transaction, far) else { panic!("it is one") };
    let entry = RecordedEntry {
        id,
        proposal: Some(proposal),
        vote: Vote::Ok,
        finalised: Some(Ballot::FIRST),
        promised: Ballot::FIRST,
        outcome: None,
    };
    let committed = RecordedEntry { finalised: None, outcome: Some(Outcome::Committed), ..entry.clone() };
    let parts = [
        RecordPart { complete: far, ..RecordPart::empty(view) },
        RecordPart { barrier: far, ..RecordPart::empty(view) },
        RecordPart { entries: vec![entry], ..RecordPart::empty(view) },
        RecordPart { entries: vec![committed], ..RecordPart::empty(view) },
    ];
    let drained = |complete, barrier| Peer::Drained(Drained { view, complete, barrier, terms: Vec::new() });
    let commit = committed_at(far);
    let peers = [
        Peer::Segment { after: Timestamp::ZERO, through: at(1), commits: vec![commit] },
        Peer::StateChunk(StateChunk { boot: Boot(1), place: [].into(), next: None, complete: far, chunk: [].into() }),
        drained(far, at(1)),
        drained(at(1), far),
    ];
    let peers = parts.map(|part| Peer::StartView { part }).into_iter().chain(peers).collect::<Vec<_>>();
    let count = peers.len() as u64;
    for peer in peers {
        hear(&mut trio, 1, peer);
    }
    assert_eq!(trio.replicas[0].figures().absurd, count);
    assert_eq!((trio.replicas[0].complete(), trio.replicas[0].record_len()), (Timestamp::ZERO, 0));
    assert!(!trio.replicas[0].versions().has_commit_at(far));
}

/// Its chunks are opaque: it is looked at once all are there.
#[test]
fn a_state_in_which_something_committed_far_ahead_is_not_taken() {
    let mut trio = Trio::new();
    let (far, wall) = (beyond(&trio), trio.now.wall);
    trio.commit(&[0], &add(1, 1), at(1));
    trio.resolve(&[0], Timestamp::ZERO, at(2), &[id_of(&add(1, 1), at(1))]);
    trio.now.wall = WallTime::from_micros(far.micros());
    trio.commit(&[0], &add(2, 1), far);
    trio.now.wall = wall;
    let now = trio.now;
    trio.replicas[2].begin_taking(now, ReplicaId(0));
    trio.settle();
    assert!(trio.said.iter().any(|peer| matches!(peer, Peer::StateChunk(chunk) if chunk.next.is_none())));
    assert_eq!(trio.complete()[2], Timestamp::ZERO);
    assert!(!trio.replicas[2].versions().has_commit_at(far));
}

/// What a replica tells another one of a transaction that committed there.
fn committed_at(at: Timestamp) -> Completed {
    let mut trio = Trio::new();
    trio.now.wall = WallTime::from_micros(at.micros());
    trio.commit(&[0], &add(1, 1), at);
    trio.replicas[0].versions().logged_at(at).expect("it committed").clone().to_record()
}

/// What one of two says is no further believed than the other one is.
#[test]
fn of_two_nodes_the_nearer_future_is_believed() {
    let mut trio = Trio::new();
    let far = beyond(&trio);
    let farther = Timestamp::end_of(far.micros() + DECIDED_LEAD_MAX.as_micros() as u64 + 1);
    hear_of(&mut trio, 1, farther);
    hear_of(&mut trio, 2, far);
    assert_eq!(trio.replicas[0].complete(), far);
    hear_of(&mut trio, 1, Timestamp::MAX);
    assert_eq!(trio.replicas[0].complete(), far);
}

/// How many messages make no sense to a new replica of the next group, when one of the last group tells it of a record that is far ahead.
fn absurd_to_the_next(last: &[u64], next: &[u64]) -> u64 {
    let trio = Trio::new();
    let (own, far) = (ReplicaId(9), beyond(&trio));
    let ids = |of: &[u64]| of.iter().copied().map(ReplicaId).collect::<Vec<_>>();
    let group = Group::new(ShardId(0), Epoch(0), &ids(last)).unwrap();
    let configuration = Configuration::after(&group, &ids(next)).unwrap();
    let mut replica = Replica::new(ReplicaSettings { id: own, group, ..settings(1) });
    let view = View { epoch: Epoch(1), number: 0 };
    let part = RecordPart { complete: far, ..RecordPart::empty(view) };
    let configured = Peer::Configured { configuration };
    for peer in [configured, Peer::DoViewChange { last_normal: View::default(), part }] {
        let from = ReplicaId(last[0]);
        let message = BetweenReplicas { from, to: own, store: STORE, shard: ShardId(0), epoch: Epoch(1), peer };
        replica.handle(trio.now, ReplicaInput::FromPeer(message));
        replica.validate();
    }
    assert_eq!(replica.view(), view, "it has gone over");
    replica.figures().absurd
}

/// Perhaps only one is left that can tell it: of a group of one (seed 4002 of the simulation), or of three that had lost one (seed 2107).
#[test]
fn who_has_no_vote_yet_believes_one_replica() {
    assert_eq!(absurd_to_the_next(&[0], &[9]), 0);
    assert_eq!(absurd_to_the_next(&[0, 1, 2], &[0, 1, 9]), 0);
}
