//! Anything that a coordinator says to a replica.

use std::sync::Arc;

use iolite_store::ReadLimit;
use iolite_values::StoreIncarnation;
use iolite_wire::node::{Ask, Detail, Life, MessageId, Outcome, Proposal, ProposalId, ShardId, Term, ToReplica, Vote};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::nodes::{self, ballot, coordinator, proposal, view};
use super::records::client;
use super::session::counter;
use super::values::{direction, id, interest, read, timestamp};

pub fn message_id() -> impl Strategy<Value = MessageId> {
    (any::<u64>(), any::<u64>()).prop_map(|(life, number)| MessageId { life: Life(life), number })
}

/// Few clients, so that they come again.
pub fn names() -> impl Strategy<Value = Vec<ProposalId>> {
    (vec(client(), 1..3), vec((any::<prop::sample::Index>(), nodes::id()), 0..6)).prop_map(|(clients, ids)| {
        let mut ids = ids;
        ids.iter_mut().for_each(|(client, id)| id.transaction.client = *client.get(&clients));
        ids.into_iter().map(|(_, id)| id).collect()
    })
}

/// Nearly always the name of the proposal beside it.
fn named() -> BoxedStrategy<(ProposalId, Option<Arc<Proposal>>)> {
    prop_oneof![(nodes::id(), option::of(proposal())), proposal().prop_map(|proposal| (proposal.id, Some(proposal))),]
        .boxed()
}

fn about_a_proposal() -> BoxedStrategy<Ask> {
    let vote = prop_oneof![Just(Vote::Ok), Just(Vote::No)];
    let outcome = prop_oneof![Just(Outcome::Committed), Just(Outcome::Aborted)];
    prop_oneof![
        (proposal(), option::of(nodes::id())).prop_map(|(proposal, after)| Ask::Prepare { proposal, after }),
        (named(), view(), ballot(), vote).prop_map(|((id, proposal), view, ballot, vote)| Ask::Finalise {
            id,
            view,
            ballot,
            vote,
            proposal
        }),
        (nodes::id(), ballot()).prop_map(|(id, ballot)| Ask::Poll { id, ballot }),
        (named(), outcome).prop_map(|((id, proposal), outcome)| Ask::Outcome { id, outcome, proposal }),
    ]
    .boxed()
}

fn about_the_feed() -> BoxedStrategy<Ask> {
    let detail = prop_oneof![Just(Detail::Whole), Just(Detail::Followed), Just(Detail::Names)];
    prop_oneof![
        (timestamp(), timestamp(), timestamp(), detail).prop_map(|(through, cursor, settled, detail)| Ask::Close {
            through,
            cursor,
            settled,
            detail
        }),
        (timestamp(), timestamp(), names()).prop_map(|(from, through, commits)| Ask::Resolved {
            from,
            through,
            commits: commits.into()
        }),
    ]
    .boxed()
}

fn about_data() -> BoxedStrategy<Ask> {
    let most = || prop_oneof![any::<usize>(), Just(usize::MAX), Just(0)];
    let limit = (most(), most(), direction());
    let limit = limit.prop_map(|(rows, bytes, direction)| ReadLimit { rows, bytes, direction });
    let reading = (interest(), timestamp(), limit, most());
    prop_oneof![
        reading.prop_map(|(interest, at, limit, looks)| Ask::ReadAt { interest, at, limit, looks }),
        (vec(interest(), 0..4), timestamp(), timestamp()).prop_map(|(interests, after, through)| Ask::Changes {
            interests,
            after,
            through
        }),
        (timestamp(), vec(read(), 0..4)).prop_map(|(snapshot, reads)| Ask::Validate { snapshot, reads: reads.into() }),
        (client(), counter()).prop_map(|(client, through)| Ask::Acknowledge { client, through }),
    ]
    .boxed()
}

pub fn to_replica() -> BoxedStrategy<ToReplica> {
    let ask = prop_oneof![
        1 => Just(Ask::Open),
        1 => Just(Ask::Begin),
        1 => Just(Ask::Report),
        1 => nodes::group().prop_map(|group| Ask::Configured { group }),
        4 => about_a_proposal(),
        4 => about_the_feed(),
        4 => about_data(),
    ];
    let parts = (coordinator(), any::<u32>(), message_id(), option::of(id()), any::<u32>(), view(), ask, any::<bool>());
    parts
        .prop_map(|(from, term, id, store, shard, view, ask, is_of_view)| {
            // What is of a view is nearly always of that of the frame.
            let own = if let Ask::Finalise { view, .. } = &ask
                && is_of_view
            {
                *view
            } else {
                view
            };
            let (term, store, shard) = (Term(term), store.map(StoreIncarnation), ShardId(shard));
            ToReplica { from, term, id, store, shard, view: own, ask }
        })
        .boxed()
}
