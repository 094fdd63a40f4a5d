//! What nodes and messages tell a judge, taken out of them once.

use std::collections::BTreeSet;

use iolite_replication::node::{Ask, Outcome, Peer, ProposalId, ShardId, View, Vote};
use iolite_store::{Commit, CommitReply, CompletionDecision, Event, Reply};
use iolite_values::{CoordinatorId, Timestamp};

use crate::node::{Message, Node, Payload};

#[derive(Clone, Debug)]
pub enum NodeFacts {
    Replica(ReplicaFacts),
    Coordinator(CoordinatorFacts),
    Panicked,
}

#[derive(Clone, Debug)]
pub struct ReplicaFacts {
    pub view: u32,
    pub committed: BTreeSet<ProposalId>,
    pub aborted: BTreeSet<ProposalId>,
}

#[derive(Clone, Debug, Default)]
pub struct CoordinatorFacts {
    /// By the number of the request: where it committed.
    pub reported: Vec<(u8, Timestamp)>,
    /// The feed holds everything above the first of these, up to the second.
    pub feed: Option<(Timestamp, Timestamp)>,
    pub commits: Vec<Commit>,
    /// It has nothing to answer.
    pub is_idle: bool,
}

/// What a view begins with, of one proposal.
pub type MasterEntry = (ProposalId, Vote, Option<Outcome>);

#[derive(Clone, Debug)]
pub enum MessageFacts {
    Outcome {
        by: CoordinatorId,
        id: ProposalId,
        outcome: Outcome,
        shard: ShardId,
        view: View,
    },
    Finalise {
        id: ProposalId,
    },
    /// What a view begins with.
    Master {
        shard: ShardId,
        view: View,
        complete: Timestamp,
        entries: Vec<MasterEntry>,
    },
    Other,
}

impl NodeFacts {
    pub fn of(node: &Node) -> NodeFacts {
        match node {
            Node::Replica(node) => {
                let machine = &node.machine;
                let of = |wanted| {
                    let own = machine.recorded().filter(move |entry| entry.outcome == Some(wanted));
                    own.map(|entry| entry.id).collect::<BTreeSet<_>>()
                };
                let mut committed = of(Outcome::Committed);
                let versions = machine.versions();
                let logged =
                    versions.logged(versions.low_watermark(), Timestamp::MAX).expect("from the low watermark on");
                committed.extend(logged.map(|logged| ProposalId {
                    at: logged.commit.at,
                    transaction: logged.commit.transaction,
                    attempt: logged.attempt,
                }));
                let view = machine.view().number;
                NodeFacts::Replica(ReplicaFacts { view, committed, aborted: of(Outcome::Aborted) })
            }
            Node::Coordinator(node) => NodeFacts::Coordinator(CoordinatorFacts {
                is_idle: node.machine.open_requests() == 0,
                ..CoordinatorFacts::of(&node.events)
            }),
            Node::Panicked(_) => NodeFacts::Panicked,
        }
    }
}

impl CoordinatorFacts {
    fn of(events: &[Event]) -> CoordinatorFacts {
        let mut facts = CoordinatorFacts::default();
        for event in events {
            match event {
                Event::Ready { resolved, .. } => {
                    facts.feed = Some((*resolved, *resolved));
                    facts.commits.clear();
                }
                Event::Feed(segment) => {
                    let from = facts.feed.map_or(segment.from, |(from, _)| from);
                    facts.feed = Some((from, segment.to));
                    facts.commits.extend(segment.commits.iter().cloned());
                }
                Event::Reply(request, Reply::Commit(CommitReply::Completed(completion))) => {
                    if completion.decision == CompletionDecision::Committed {
                        let which = u8::try_from(request.0).expect("few are submitted");
                        facts.reported.push((which, completion.at));
                    }
                }
                Event::Reply(..) => {}
            }
        }
        facts
    }
}

impl MessageFacts {
    pub fn of(message: &Message) -> MessageFacts {
        match &message.payload {
            Payload::Asked(message) => match &message.ask {
                Ask::Outcome { id, outcome, .. } => MessageFacts::Outcome {
                    by: message.from,
                    id: *id,
                    outcome: *outcome,
                    shard: message.shard,
                    view: message.view,
                },
                Ask::Finalise { id, .. } => MessageFacts::Finalise { id: *id },
                _ => MessageFacts::Other,
            },
            Payload::Peer(message) => match &message.peer {
                Peer::StartView { part } => MessageFacts::Master {
                    shard: message.shard,
                    view: part.view,
                    complete: part.complete,
                    entries: part.entries.iter().map(|entry| (entry.id, entry.vote, entry.outcome)).collect(),
                },
                _ => MessageFacts::Other,
            },
            Payload::Answered(_) => MessageFacts::Other,
        }
    }
}
