//! Everything that a coordinator says to a replica.

use iolite_store::ReadLimit;
use iolite_values::{Attempt, ClientId, CoordinatorId, Counter, Element, Id, Interest, Operation, Read};
use iolite_wire::node::{
    Ask, Ballot, Detail, Effect, Epoch, Life, MessageId, Outcome, ProposalId, ShardId, Term, ToReplica, View, Vote,
};

use super::nodes::{ballot, group, id, proposal, view};
use super::session::{client, store};
use super::values::{cell, every_operation, ranges, table, time, write};
use crate::decoders::Content;

pub fn coordinator() -> CoordinatorId {
    CoordinatorId::new(9).expect("small")
}

pub fn message_id() -> MessageId {
    MessageId { life: Life(0x0123_4567_89ab_cdef), number: 300 }
}

/// Of two clients, of which the first comes again.
pub fn names() -> Vec<ProposalId> {
    let (mut other, mut again) = (id(7), id(8));
    other.transaction.client = ClientId(Id::from_u128(7));
    other.attempt = Attempt(1);
    again.transaction.counter = Counter(43);
    vec![id(5), other, again]
}

fn asks(ask: Ask) -> ToReplica {
    let (from, term, shard) = (coordinator(), Term(2), ShardId(1));
    ToReplica { from, term, id: message_id(), store: Some(store()), shard, view: view(), ask }
}

fn sample(asked: impl IntoIterator<Item = Ask>) -> Content {
    Content::ToReplica(asked.into_iter().map(asks).collect())
}

type Samples = Vec<(&'static str, &'static str, Content)>;

fn about_a_proposal() -> Samples {
    let writes: Vec<_> = every_operation().into_iter().map(write).collect();
    let commit = proposal(Effect::Commit(writes.into()));
    let add = proposal(Effect::Commit([write(Operation::Add(1))].into()));
    let earlier = View { epoch: Epoch(3), number: 1 };
    let finalise = |view, ballot, vote, proposal| Ask::Finalise { id: id(5), view, ballot, vote, proposal };
    let outcome = |outcome, proposal| Ask::Outcome { id: id(5), outcome, proposal };
    vec![
        ("ask_prepare", "every operation, and an abort after an earlier proposal", {
            let again = Ask::Prepare { proposal: proposal(Effect::Abort), after: Some(id(4)) };
            sample([Ask::Prepare { proposal: commit, after: None }, again])
        }),
        ("ask_finalise", "a No by the proposer, and an Ok of an earlier view by another, with the proposal", {
            let first = finalise(view(), Ballot::FIRST, Vote::No, None);
            sample([first, finalise(earlier, ballot(), Vote::Ok, Some(add.clone()))])
        }),
        ("ask_poll", "at the first ballot and at another", {
            sample([Ballot::FIRST, ballot()].map(|ballot| Ask::Poll { id: id(5), ballot }))
        }),
        ("ask_outcome", "an abort, and a commit with the proposal", {
            sample([outcome(Outcome::Aborted, None), outcome(Outcome::Committed, Some(add))])
        }),
    ]
}

fn about_the_feed() -> Samples {
    let [through, cursor, settled] = [9000, 4000, 3000].map(time);
    let close = |detail| Ask::Close { through, cursor, settled, detail };
    vec![
        ("ask_close", "for names, for everything, and to be told of more", {
            sample([Detail::Names, Detail::Whole, Detail::Followed].map(close))
        }),
        ("ask_resolved", "a commit, and none", {
            let resolved = |commits: &[ProposalId]| Ask::Resolved { from: cursor, through, commits: commits.into() };
            sample([&[id(5)][..], &[]].map(resolved))
        }),
        ("listed_name", "commits of two clients, the first of which comes again", {
            sample([Ask::Resolved { from: time(0), through: time(9), commits: names().into() }])
        }),
    ]
}

fn about_data() -> Samples {
    let range = Interest::Range { table: table(), range: ranges()[2].clone() };
    let chair = Interest::Cell(cell("chair"));
    let limit = ReadLimit { rows: 100, bytes: 100_000, ..ReadLimit::NONE };
    vec![
        ("ask_read_at", "with limits and without", {
            let read = |(limit, looks)| Ask::ReadAt { interest: range.clone(), at: time(9), limit, looks };
            sample([(limit, 2048), (ReadLimit::NONE, usize::MAX)].map(read))
        }),
        ("ask_changes", "of a cell, twice, and of a range", {
            let interests = vec![chair.clone(), chair.clone(), range.clone()];
            sample([Ask::Changes { interests, after: time(1), through: time(9) }])
        }),
        ("node_interest", "in a cell", {
            sample([Ask::ReadAt { interest: chair, at: time(9), limit: ReadLimit::NONE, looks: usize::MAX }])
        }),
        ("ask_validate", "two reads of one cell", {
            let read = |element| Read::Cell { cell: cell("chair"), element };
            let reads = [Element::Whole, Element::Index(2)].map(read).into();
            sample([Ask::Validate { snapshot: time(3), reads }])
        }),
    ]
}

pub fn all() -> Samples {
    let opens = ToReplica { store: None, term: Term(0), ..asks(Ask::Open) };
    let acknowledges = asks(Ask::Acknowledge { client: client(), through: Counter(42) });
    let configured = asks(Ask::Configured { group: group() });
    let frames = vec![opens, asks(Ask::Begin), acknowledges, asks(Ask::Report), configured];
    let frames = ("to_replica_frame", "what has no message of its own", Content::ToReplica(frames));
    [about_a_proposal(), about_the_feed(), about_data(), vec![frames]].concat()
}
