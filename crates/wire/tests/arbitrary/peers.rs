//! Anything that replicas say to each other, and the hello of any node.

use iolite_values::StoreIncarnation;
use iolite_wire::node::{BetweenReplicas, Boot, Epoch, NodesHello, NodesVersion, Peer, ReplicaId, ShardId, StateChunk};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::nodes::{configuration, drained, record_part, view};
use super::records::completed;
use super::values::{id, timestamp};

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..20)
}

fn state_chunk() -> impl Strategy<Value = StateChunk> {
    (any::<u64>(), bytes(), option::of(bytes()), timestamp(), bytes())
        .prop_map(|(boot, place, next, complete, chunk)| StateChunk { boot: Boot(boot), place, next, complete, chunk })
}

pub fn between_replicas() -> BoxedStrategy<BetweenReplicas> {
    let peer = prop_oneof![
        timestamp().prop_map(|after| Peer::Fetch { after }),
        (timestamp(), timestamp(), vec(completed(), 0..4)).prop_map(|(after, through, commits)| Peer::Segment {
            after,
            through,
            commits
        }),
        Just(Peer::FetchedTooOld),
        bytes().prop_map(|place| Peer::FetchState { place }),
        state_chunk().prop_map(Peer::StateChunk),
        view().prop_map(|view| Peer::StartViewChange { view }),
        (view(), record_part()).prop_map(|(last_normal, part)| Peer::DoViewChange { last_normal, part }),
        record_part().prop_map(|part| Peer::StartView { part }),
        configuration().prop_map(|configuration| Peer::Configured { configuration }),
        view().prop_map(|view| Peer::Begun { view }),
        drained().prop_map(Peer::Drained),
    ];
    let ends = (any::<u64>().prop_map(ReplicaId), any::<u64>().prop_map(ReplicaId));
    (ends, id().prop_map(StoreIncarnation), any::<u32>().prop_map(ShardId), any::<u32>().prop_map(Epoch), peer)
        .prop_map(|((from, to), store, shard, epoch, peer)| BetweenReplicas { from, to, store, shard, epoch, peer })
        .boxed()
}

pub fn nodes_hello() -> BoxedStrategy<NodesHello> {
    let version = |from: u32| (from..=u32::MAX).prop_map(NodesVersion);
    (version(1), version(0)).prop_map(|(oldest, newest)| NodesHello { oldest, newest }).boxed()
}
