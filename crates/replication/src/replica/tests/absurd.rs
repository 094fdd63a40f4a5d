//! What no node that works says does nothing, and what comes after it is served.

use iolite_machine::Machine;
use iolite_values::{CoordinatorId, Timestamp};

use super::bench::{STORE, add, at, close};
use super::group::{Trio, id_of};
use crate::node::{
    Ask, Ballot, BetweenReplicas, Epoch, Life, MessageId, Outcome, Peer, RecordPart, ReplicaId, ShardId, Term,
    ToReplica, View, Vote,
};
use crate::replica::{DECIDED_LEAD_MAX, ReplicaInput, ReplicaOutput, TERMS_AHEAD_MAX, VIEWS_AHEAD_MAX};

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
        Ask::CloseList { view, through: far, may_commit: [id].into() },
        Ask::Resolved { from: Timestamp::ZERO, through: far, commits: [].into() },
    ];
    let count = asks.len() as u64;
    for ask in asks {
        assert!(!is_answered(&mut trio, 1, 0, ask.clone()), "{ask:?}");
    }
    assert_eq!(trio.replicas[0].figures().absurd, count);
    assert_eq!((trio.replicas[0].complete(), trio.replicas[0].record_len()), (Timestamp::ZERO, 0));
    let held = Ask::CloseList { view, through: at(7), may_commit: [].into() };
    assert!(is_answered(&mut trio, 1, 0, held), "what is not far is taken");
    trio.commit(&[0, 1, 2], &transaction, at(9));
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
    let part = RecordPart {
        view,
        complete: Timestamp::ZERO,
        barrier: Timestamp::ZERO,
        number: 0,
        parts: 1,
        entries: Vec::new(),
        closed_lists: Vec::new(),
        terms: Vec::new(),
        split: None,
    };
    let peers = [
        Peer::StartViewChange { view },
        Peer::DoViewChange { last_normal: view, part: part.clone() },
        Peer::StartView { part },
    ];
    for (from, peer) in [1, 9, 2].into_iter().zip(peers) {
        let (from, to) = (ReplicaId(from), ReplicaId(0));
        let message = BetweenReplicas { from, to, store: STORE, shard: ShardId(0), epoch: Epoch(0), peer };
        trio.replicas[0].handle(trio.now, ReplicaInput::FromPeer(message));
    }
    assert_eq!(trio.replicas[0].figures().absurd, 7);
    assert_eq!(trio.replicas[0].view(), View::default());
    assert!(is_answered(&mut trio, TERMS_AHEAD_MAX, 0, Ask::Begin), "what is not far is taken");
    assert!(!is_answered(&mut trio, TERMS_AHEAD_MAX, VIEWS_AHEAD_MAX, ask()), "it is on the way to that view");
    assert_eq!(trio.replicas[0].view().number, VIEWS_AHEAD_MAX);
}
