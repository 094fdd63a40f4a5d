//! The state that a world begins in: every coordinator has opened the store, one after the other, and the first one has committed the plan's opening, if there
//! is one. Nothing else has happened.

use std::collections::VecDeque;
use std::time::Duration;

use iolite_machine::{Instant, Now, WallTime};
use iolite_replication::node::{Boot, Epoch, Group, Life, ReplicaId, ShardId};
use iolite_replication::{Coordinator, CoordinatorSettings, Place as Start, ReplicaSettings, Retention, ShardMap};
use iolite_store::RequestId;
use iolite_values::{ClientId, CoordinatorId, Id, StoreIncarnation, Timestamp};

use crate::node::{Address, CoordinatorNode, Message, Node, ReplicaNode};
use crate::plan::{Closes, Plan};
use crate::transactions::{LAST_CLIENTS, Place, transaction};

/// What the replicas' clocks show.
const START: WallTime = WallTime::from_micros(1_000_000_000);

/// What the network keeps for ever need not be said again.
const NEVER: Duration = Duration::from_secs(1_000);

fn groups(plan: &Plan) -> Vec<Group> {
    let members = |shard: u64| (0..plan.replicas).map(|own| ReplicaId(shard * plan.replicas + own)).collect::<Vec<_>>();
    let group = |shard: u32| Group::new(ShardId(shard), Epoch(0), &members(shard.into()));
    (0..plan.shards).map(|shard| group(shard).expect("an odd number of replicas")).collect()
}

fn shard_map(plan: &Plan) -> ShardMap {
    let starts = [Start::first(), Start::of_client(ClientId(Id::from_u128(LAST_CLIENTS)))];
    ShardMap::new(starts.into_iter().zip(groups(plan))).expect("one or two shards")
}

pub fn coordinator_id(which: usize) -> CoordinatorId {
    CoordinatorId::new(u16::try_from(which + 1).expect("there are few")).expect("there are few")
}

/// Replicas first, then coordinators.
pub fn index(plan: &Plan, to: Address) -> usize {
    match to {
        Address::Replica(replica) => usize::try_from(replica.0).expect("there are few"),
        Address::Coordinator(coordinator) => replicas(plan) + usize::from(coordinator.number()) - 1,
    }
}

pub fn replicas(plan: &Plan) -> usize {
    plan.shards as usize * usize::try_from(plan.replicas).expect("there are few")
}

pub fn nodes(plan: &Plan) -> Vec<Node> {
    let mut nodes = opened(plan);
    if !plan.opening.is_empty() {
        commit_opening(plan, &mut nodes);
    }
    nodes
}

fn opened(plan: &Plan) -> Vec<Node> {
    let store = StoreIncarnation(Id::from_u128(5));
    let mut nodes = Vec::new();
    let map = shard_map(plan);
    for group in groups(plan) {
        for id in group.members() {
            let (broken, boot) = (plan.broken, Boot(1));
            let extent = map.extent(group.shard).expect("it is a shard of the map");
            let (id, group) = (*id, group.clone());
            let settings = ReplicaSettings {
                id,
                group,
                extent,
                origin: None,
                store,
                boot,
                retention: Retention::default(),
                broken,
            };
            let journal = (plan.bounds.restarts > 0).then(Vec::new);
            let now = Now { instant: Instant::from_nanos(0), wall: START };
            nodes.push(Node::Replica(Box::new(ReplicaNode::new(settings, now, journal))));
        }
    }
    for (which, ahead) in plan.clocks.iter().enumerate() {
        let now = Now { instant: Instant::from_nanos(0), wall: WallTime::from_micros(START.as_micros() + ahead) };
        let id = coordinator_id(which);
        let idle_close_after = match plan.closes {
            Closes::Lost | Closes::OnDemand => NEVER,
            Closes::Idle => Duration::from_millis(1),
        };
        let settings = CoordinatorSettings {
            resend_after: NEVER,
            resend_after_max: NEVER,
            idle_close_after,
            idle_close_after_max: idle_close_after,
            backup_after: Duration::ZERO,
            broken: plan.broken,
            ..CoordinatorSettings::new(id, Life(u64::from(id.number())), shard_map(plan))
        };
        let mut node = CoordinatorNode::new(Coordinator::new(now, settings), now, plan.bounds.proposals);
        let said = node.drain();
        nodes.push(Node::Coordinator(Box::new(node)));
        carry_all(plan, &mut nodes, said);
    }
    nodes
}

/// No judge hears of it.
fn commit_opening(plan: &Plan, nodes: &mut [Node]) {
    assert_eq!(plan.closes, Closes::Lost, "a feed would tell it");
    let transaction = transaction(u8::MAX, Place::First, &[], &plan.opening);
    let opener = index(plan, Address::Coordinator(coordinator_id(0)));
    let said = nodes[opener].submit(RequestId(u64::MAX), &transaction).expect("it is a coordinator");
    carry_all(plan, nodes, said);
    let Node::Coordinator(opener) = &mut nodes[opener] else { panic!("it has failed") };
    opener.events.clear();
}

/// As far as the opening.
pub fn snapshot(nodes: &[Node]) -> Timestamp {
    let last = |node: &Node| match node {
        Node::Replica(node) => {
            let logged = node.machine.versions().logged(Timestamp::ZERO, Timestamp::MAX).ok()?;
            logged.last().map(|logged| logged.commit.at)
        }
        Node::Coordinator(_) | Node::Panicked(_) => None,
    };
    nodes.iter().filter_map(last).max().unwrap_or_default()
}

/// Carries messages in the order in which they are sent, until there are none.
fn carry_all(plan: &Plan, nodes: &mut [Node], said: Vec<Message>) {
    let mut open: VecDeque<Message> = said.into();
    while let Some(message) = open.pop_front() {
        let node = &mut nodes[index(plan, message.to)];
        open.extend(node.take(&message.payload).expect("it is addressed to such a node"));
    }
}
