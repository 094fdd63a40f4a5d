//! Anything that a replica answers.

use std::sync::Arc;

use iolite_store::{Commit, Completion, CompletionDecision, ConfigurationFault, ReadReply, Refusal, RowAt, TooOld};
use iolite_values::{CellState, StoreIncarnation, TypeMismatch, Value};
use iolite_wire::limits;
use iolite_wire::node::{
    Answer, Boot, Changed, Closed, FromReplica, Invalid, Objection, Opened, Outcome, Piece, ReplicaId, Report, ShardId,
    Term, Undecided, Vote, Voted,
};
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;

use super::asks::{message_id, names};
use super::nodes::{self, ballot, coordinator, group, proposal, view};
use super::records::transaction;
use super::session::attempt;
use super::values::{cell, id, key, row, table, timestamp, writes};

fn commits() -> BoxedStrategy<Vec<Commit>> {
    let commit = (timestamp(), transaction(), writes());
    let commit = commit.prop_map(|(at, transaction, writes)| Commit { at, transaction, writes: writes.into() });
    vec(commit, 0..4).boxed()
}

fn type_name() -> impl Strategy<Value = &'static str> {
    let states = [
        CellState::Row(true),
        CellState::Scalar(Value::Null),
        CellState::Register(Value::Null),
        CellState::Counter(0),
        CellState::Set(Default::default()),
        CellState::List(Vec::new()),
        CellState::Map(Default::default()),
    ];
    prop::sample::select(states.map(|state| state.name()).to_vec())
}

fn refusal() -> BoxedStrategy<Refusal> {
    let mismatch = (type_name(), type_name()).prop_map(|(is, wants)| TypeMismatch { is, wants });
    prop_oneof![
        (timestamp(), timestamp()).prop_map(|(asked, resolved)| Refusal::NotResolved { asked, resolved }),
        (timestamp(), timestamp()).prop_map(|(asked, limit)| Refusal::TooFarAhead { asked, limit }),
        (cell(), mismatch).prop_map(|(cell, mismatch)| Refusal::Type { cell, mismatch }),
        any::<usize>().prop_map(|bytes_max| Refusal::TransactionTooLarge { bytes_max }),
        Just(Refusal::Configuration(ConfigurationFault::Unfit)),
        Just(Refusal::Configuration(ConfigurationFault::Outside)),
        table().prop_map(|table| Refusal::OtherShard { table }),
        (table(), key(), any::<usize>()).prop_map(|(table, key, bytes_max)| Refusal::RowTooLarge {
            table,
            key,
            bytes_max
        }),
    ]
    .boxed()
}

fn objection() -> BoxedStrategy<Objection> {
    let decision = prop_oneof![Just(CompletionDecision::Committed), Just(CompletionDecision::Aborted)];
    prop_oneof![
        timestamp().prop_map(|above| Objection::Retry { above }),
        nodes::id().prop_map(|with| Objection::Busy { with }),
        timestamp().prop_map(|at_least| Objection::Conflict { at_least }),
        (attempt(), timestamp(), decision).prop_map(|(attempt, at, decision)| Objection::Completed(Completion {
            attempt,
            at,
            decision
        })),
        Just(Objection::Forgotten),
        refusal().prop_map(Objection::Refused),
    ]
    .boxed()
}

fn voted() -> BoxedStrategy<Voted> {
    let vote = prop_oneof![Just(Vote::Ok), Just(Vote::No)];
    let outcome = prop_oneof![Just(Outcome::Committed), Just(Outcome::Aborted)];
    let ballots = (option::of(ballot()), ballot());
    (view(), vote, ballots, option::of(outcome), option::of(objection()), option::of(proposal()))
        .prop_map(|(view, vote, (finalised, promised), outcome, objection, proposal)| Voted {
            view,
            vote,
            finalised,
            promised,
            outcome,
            objection,
            proposal,
        })
        .boxed()
}

fn closed() -> BoxedStrategy<Closed> {
    let undecided = (nodes::id(), btree_set(any::<u32>().prop_map(ShardId), 0..3));
    let undecided = undecided.prop_map(|(id, shards)| Undecided { id, participants: shards.into_iter().collect() });
    // The commits are those that are named, or as many of them, or others.
    let commits = prop_oneof![
        vec(writes(), 0..6).prop_map(|writes| (writes, Vec::new())),
        commits().prop_map(|others| (Vec::new(), others)),
    ];
    let times = [timestamp().boxed(), timestamp().boxed(), timestamp().boxed(), timestamp().boxed()];
    (times, vec(undecided, 0..3), names(), names(), names(), commits)
        .prop_map(
            |([through, barrier, latest, complete], undecided, aborted, committed, given_up, (writes, others))| {
                let own = committed.iter().zip(writes);
                let own =
                    own.map(|(id, writes)| Commit { at: id.at, transaction: id.transaction, writes: writes.into() });
                let commits = own.chain(others).collect();
                Closed { through, barrier, latest, complete, undecided, aborted, committed, given_up, commits }
            },
        )
        .boxed()
}

fn piece() -> BoxedStrategy<Piece> {
    let row = (table(), key(), row()).prop_map(|(table, key, row)| RowAt { table, key, row });
    // A key, or one of an index, which is the longer one.
    let length = prop_oneof![9 => 0..40_usize, 1 => Just(limits::INDEX_BOUND.most)];
    let place = option::of(length.prop_flat_map(|length| vec(any::<u8>(), length)).prop_map(Arc::from));
    (timestamp(), vec(row, 0..4), any::<bool>(), place)
        .prop_map(|(at, rows, is_cut, looked_through)| Piece { reply: ReadReply { at, rows, is_cut }, looked_through })
        .boxed()
}

fn report() -> BoxedStrategy<Report> {
    let begun = vec(any::<u64>().prop_map(ReplicaId), 0..4);
    (group(), any::<bool>(), any::<bool>(), timestamp(), option::of(super::nodes::split()), begun)
        .prop_map(|(group, takes_part, is_fetching, complete, split, begun)| Report {
            group,
            takes_part,
            is_fetching,
            complete,
            split,
            begun,
        })
        .boxed()
}

fn answer() -> BoxedStrategy<Answer> {
    let too_old = || timestamp().prop_map(|low_watermark| TooOld { low_watermark });
    let plain = [Answer::Begun, Answer::Unknown, Answer::Valid(Ok(())), Answer::Acknowledged, Answer::WrongStore];
    prop_oneof![
        2 => prop::sample::select(plain.to_vec()),
        1 => (any::<u32>(), timestamp(), timestamp())
            .prop_map(|(term, complete, latest)| Answer::Opened(Opened { term: Term(term), complete, latest })),
        4 => voted().prop_map(Answer::Voted),
        1 => timestamp().prop_map(|low_watermark| Answer::TooOld { low_watermark }),
        4 => closed().prop_map(|closed| Answer::Closed(Ok(closed))),
        1 => too_old().prop_map(|too_old| Answer::Closed(Err(too_old))),
        3 => piece().prop_map(|piece| Answer::Read(Ok(piece))),
        1 => too_old().prop_map(|too_old| Answer::Read(Err(too_old))),
        2 => (timestamp(), commits()).prop_map(|(through, commits)| Answer::Changes(Ok(Changed { through, commits }))),
        1 => too_old().prop_map(|too_old| Answer::Changes(Err(too_old))),
        1 => timestamp().prop_map(|complete| Answer::Behind { complete }),
        1 => timestamp().prop_map(|at| Answer::Stirred { at }),
        1 => timestamp().prop_map(|at| Answer::Valid(Err(Invalid::Changed(at)))),
        1 => timestamp().prop_map(|at| Answer::Valid(Err(Invalid::UnderWay(at)))),
        1 => refusal().prop_map(Answer::Refused),
        1 => option::of(group()).prop_map(Answer::WrongEpoch),
        1 => super::nodes::split().prop_map(Answer::Ended),
        1 => any::<u32>().prop_map(|term| Answer::Superseded { term: Term(term) }),
        1 => report().prop_map(Answer::Reported),
    ]
    .boxed()
}

pub fn from_replica() -> BoxedStrategy<FromReplica> {
    let ends = (coordinator(), any::<u64>().prop_map(ReplicaId), any::<u32>().prop_map(ShardId));
    let place = (message_id(), any::<u64>().prop_map(Boot), id().prop_map(StoreIncarnation));
    (ends, place, view(), timestamp(), timestamp(), answer(), any::<bool>())
        .prop_map(|((to, from, shard), (id, boot, store), view, highest, limit, answer, is_of_view)| {
            // A vote is nearly always of the view of the frame.
            let view = if let Answer::Voted(voted) = &answer
                && is_of_view
            {
                voted.view
            } else {
                view
            };
            FromReplica { to, from, shard, id, boot, store, view, highest, limit, answer }
        })
        .boxed()
}
