//! Everything that replicas say to each other, and the hello of any node.

use iolite_values::{Attempt, Level, Operation};
use iolite_wire::journal::{CheckpointChunk, CheckpointMeta, Completed, CompletedDecision};
use iolite_wire::node::{
    BetweenReplicas, Boot, Effect, Epoch, NodesHello, NodesVersion, Peer, ReplicaId, ShardId, StateChunk, Vote,
};

use super::nodes::{configuration, drained, entry, part, proposal, view};
use super::records::transaction;
use super::session::store;
use super::values::{time, write};
use crate::decoders::Content;

fn sample(peers: impl IntoIterator<Item = Peer>) -> Content {
    let (from, to, shard, epoch) = (ReplicaId(2), ReplicaId(300), ShardId(1), Epoch(3));
    let said = |peer| BetweenReplicas { from, to, store: store(), shard, epoch, peer };
    Content::BetweenReplicas(peers.into_iter().map(said).collect())
}

fn state_chunk(next: Option<Vec<u8>>) -> Peer {
    let meta = CheckpointMeta { low_watermark: time(1), ceiling: time(2), reads_through: time(3) };
    let chunk = CheckpointChunk::Meta(meta).encode().expect("small");
    Peer::StateChunk(StateChunk { boot: Boot(5), place: b"place".to_vec(), next, complete: time(4), chunk })
}

fn completed(micros: u64, attempt: u32, decision: CompletedDecision, is_home: bool) -> Completed {
    Completed {
        transaction: transaction(),
        attempt: Attempt(attempt),
        at: time(micros),
        level: Level::Strict,
        decision,
        is_home,
    }
}

pub fn all() -> Vec<(&'static str, &'static str, Content)> {
    let own = part(vec![entry(Vote::Ok, Some(proposal(Effect::Abort))), entry(Vote::No, None)]);
    let plain = [
        Peer::Fetch { after: time(4) },
        Peer::FetchedTooOld,
        Peer::FetchState { place: b"place".to_vec() },
        Peer::StartViewChange { view: view() },
        Peer::StartView { part: own.clone() },
        Peer::Configured { configuration: configuration() },
        Peer::Begun { view: view() },
    ];
    let commit = completed(5, 1, CompletedDecision::Committed(vec![write(Operation::Add(1))]), true);
    let abort = completed(6, 2, CompletedDecision::Aborted, false);
    let segment = |commits| Peer::Segment { after: time(4), through: time(9), commits };
    vec![
        ("between_replicas_frame", "what has no message of its own", sample(plain)),
        ("peer_drained", "with a life of a coordinator", sample([Peer::Drained(drained())])),
        ("peer_segment", "nothing committed", sample([segment(Vec::new())])),
        ("segment_commit", "a commit and an abort of one client, and what is read committed", {
            let weaker = Completed { level: Level::ReadCommitted, ..abort.clone() };
            sample([segment(vec![commit, abort]), segment(vec![weaker])])
        }),
        ("peer_state_chunk", "one before others, and the last one", {
            sample([Some(b"next".to_vec()), None].map(state_chunk))
        }),
        ("peer_do_view_change", "a part of a record", {
            sample([Peer::DoViewChange { last_normal: view(), part: own }])
        }),
        ("nodes_hello", "this version, and a range of others", {
            let hello = |oldest, newest| NodesHello { oldest: NodesVersion(oldest), newest: NodesVersion(newest) };
            Content::NodesHello(vec![hello(1, 1), hello(3, 300)])
        }),
    ]
}
