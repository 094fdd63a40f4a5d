//! Anything that replicas write down of what they say to each other.

use std::sync::Arc;

use iolite_values::{CoordinatorId, Level, TableId};
use iolite_wire::journal::SnapshotPart;
use iolite_wire::node::{
    Ballot, Configuration, Drained, Effect, Epoch, Group, Life, Outcome, Proposal, ProposalId, RecordPart,
    RecordedEntry, Registered, ReplicaId, ShardId, Split, Term, View, Vote,
};
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;

use super::records::transaction;
use super::session::attempt;
use super::values::{read, timestamp, writes};

pub fn id() -> impl Strategy<Value = ProposalId> {
    (timestamp(), transaction(), attempt()).prop_map(|(at, transaction, attempt)| ProposalId {
        at,
        transaction,
        attempt,
    })
}

pub fn coordinator() -> impl Strategy<Value = CoordinatorId> {
    (0..=CoordinatorId::MAX).prop_map(|number| CoordinatorId::new(number).expect("at most the last one"))
}

pub fn ballot() -> impl Strategy<Value = Ballot> {
    (any::<u32>(), coordinator(), any::<u32>()).prop_map(|(number, by, term)| Ballot { number, by, term: Term(term) })
}

pub fn level() -> impl Strategy<Value = Level> {
    prop_oneof![Just(Level::Strict), Just(Level::Serializable), Just(Level::Snapshot), Just(Level::ReadCommitted)]
}

pub fn proposal() -> BoxedStrategy<Arc<Proposal>> {
    let effect = prop_oneof![writes().prop_map(|writes| Effect::Commit(writes.into())), Just(Effect::Abort)];
    let participants = btree_set(any::<u32>().prop_map(ShardId), 1..4);
    (id(), participants, timestamp(), vec(read(), 0..4), level(), effect, any::<bool>())
        .prop_map(|(id, participants, snapshot, reads, level, effect, is_home)| {
            let participants = participants.into_iter().collect();
            Arc::new(Proposal { id, participants, snapshot, reads, level, effect, is_home })
        })
        .boxed()
}

pub fn entry() -> BoxedStrategy<RecordedEntry> {
    let vote = prop_oneof![Just(Vote::Ok), Just(Vote::No)];
    let outcome = prop_oneof![Just(Outcome::Committed), Just(Outcome::Aborted)];
    (id(), option::of(proposal()), vote, option::of(ballot()), ballot(), option::of(outcome))
        .prop_map(|(id, proposal, vote, finalised, promised, outcome)| {
            let id = proposal.as_ref().map_or(id, |proposal| proposal.id);
            RecordedEntry { id, proposal, vote, finalised, promised, outcome }
        })
        .boxed()
}

pub fn view() -> impl Strategy<Value = View> {
    (any::<u32>(), any::<u32>()).prop_map(|(epoch, number)| View { epoch: Epoch(epoch), number })
}

pub fn record_part() -> BoxedStrategy<RecordPart> {
    let numbers = (any::<u32>(), any::<u32>());
    (view(), timestamp(), timestamp(), numbers, vec(entry(), 0..3), terms(), option::of(split()))
        .prop_map(|(view, complete, barrier, (number, parts), entries, terms, split)| RecordPart {
            view,
            complete,
            barrier,
            number,
            parts,
            entries,
            terms,
            split,
        })
        .boxed()
}

pub fn term() -> impl Strategy<Value = Registered> {
    (coordinator(), any::<u32>(), any::<u64>()).prop_map(|(coordinator, term, life)| Registered {
        coordinator,
        term: Term(term),
        life: Life(life),
    })
}

fn terms() -> impl Strategy<Value = Vec<Registered>> {
    vec(term(), 0..3).prop_map(|mut terms| {
        terms.sort_by_key(|own| own.coordinator);
        terms.dedup_by_key(|own| own.coordinator);
        terms
    })
}

/// As many replicas as are asked for, less one if that is an even number.
pub fn group() -> impl Strategy<Value = Group> {
    let members = btree_set(any::<u64>().prop_map(ReplicaId), 1..=3);
    (any::<u32>(), any::<u32>(), members).prop_map(|(shard, epoch, members)| {
        let mut members: Vec<ReplicaId> = members.into_iter().collect();
        members.truncate((members.len() - 1) / 2 * 2 + 1);
        Group::new(ShardId(shard), Epoch(epoch), &members).expect("an odd number of them")
    })
}

pub fn configuration() -> impl Strategy<Value = Configuration> {
    (group(), group()).prop_map(|(group, next)| {
        let later = Configuration::after(&group, next.members());
        later.unwrap_or_else(|_| Configuration::first(group))
    })
}

pub fn split() -> impl Strategy<Value = Split> {
    let at = (any::<u32>().prop_map(TableId), super::values::key());
    (group(), group(), group(), at).prop_map(|(parent, lower, upper, at)| {
        let part = |number, group: &Group| {
            let shard = ShardId(parent.shard.0.wrapping_add(number));
            Group::new(shard, Epoch(0), group.members()).expect("an odd number of them")
        };
        let (lower, upper) = (part(1, &lower), part(2, &upper));
        Split::new(parent, at, lower, upper).expect("three shards")
    })
}

pub fn drained() -> impl Strategy<Value = Drained> {
    (view(), timestamp(), timestamp(), terms()).prop_map(|(view, complete, barrier, terms)| Drained {
        view,
        complete,
        barrier,
        terms,
    })
}

pub fn snapshot_part() -> impl Strategy<Value = SnapshotPart> {
    (timestamp(), any::<u32>(), any::<bool>(), vec(any::<u8>(), 0..20))
        .prop_map(|(complete, number, is_last, chunk)| SnapshotPart { complete, number, is_last, chunk })
}
