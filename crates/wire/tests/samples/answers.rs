//! Everything that a replica answers.

use std::sync::Arc;

use iolite_store::{Commit, Completion, CompletionDecision, ConfigurationFault, ReadReply, Refusal, RowAt, TooOld};
use iolite_values::{Attempt, Operation, Timestamp, TypeMismatch};
use iolite_wire::node::{
    Answer, Ballot, Boot, Changed, Closed, Effect, Epoch, FromReplica, Group, Invalid, Objection, Opened, Outcome,
    Piece, ReplicaId, Report, ShardId, Term, Undecided, View, Vote, Voted,
};

use super::asks::{coordinator, message_id, names};
use super::nodes::{ballot, id, proposal, view};
use super::session::store;
use super::values::{cell, every_state, key, table, time, write};
use crate::decoders::Content;

fn answers(answer: Answer) -> FromReplica {
    FromReplica {
        to: coordinator(),
        from: ReplicaId(2),
        shard: ShardId(1),
        id: message_id(),
        boot: Boot(0xfedc_ba98_7654_3210),
        store: store(),
        view: view(),
        highest: time(9_000),
        limit: time(10_000_000),
        answer,
    }
}

fn sample(answered: impl IntoIterator<Item = Answer>) -> Content {
    Content::FromReplica(answered.into_iter().map(answers).collect())
}

fn voted(vote: Vote, objection: Option<Objection>) -> Voted {
    let (finalised, promised, outcome, proposal) = (None, Ballot::FIRST, None, None);
    Voted { view: view(), vote, finalised, promised, outcome, objection, proposal }
}

fn objects(objection: Objection) -> Answer {
    Answer::Voted(voted(Vote::No, Some(objection)))
}

type Samples = Vec<(&'static str, &'static str, Content)>;

fn votes() -> Samples {
    let taken_over = Voted {
        view: View::default(),
        finalised: Some(ballot()),
        promised: ballot(),
        outcome: Some(Outcome::Committed),
        proposal: Some(proposal(Effect::Abort)),
        ..voted(Vote::Ok, None)
    };
    let completed = |decision| Objection::Completed(Completion { attempt: Attempt(2), at: time(5), decision });
    let objections = [
        Objection::Retry { above: time(6) },
        Objection::Busy { with: id(4) },
        Objection::Conflict { at_least: time(4) },
        Objection::Forgotten,
        Objection::Refused(Refusal::TransactionTooLarge { bytes_max: 8 << 20 }),
    ];
    vec![
        ("answer_voted", "an Ok, and everything about one that was taken over", {
            sample([voted(Vote::Ok, None), taken_over].map(Answer::Voted))
        }),
        ("objection", "every kind but one", sample(objections.map(objects))),
        ("objection_completed", "a commit and an abort", {
            let decisions = [CompletionDecision::Committed, CompletionDecision::Aborted];
            sample(decisions.map(completed).map(objects))
        }),
    ]
}

fn refusals() -> Samples {
    let [asked, resolved, limit] = [9, 8, 7].map(time);
    let moments = [Refusal::NotResolved { asked, resolved }, Refusal::TooFarAhead { asked, limit }];
    let names = ["row", "scalar", "register", "counter", "set", "list", "map"];
    let types = names.into_iter().zip(names.into_iter().rev()).map(|(is, wants)| TypeMismatch { is, wants });
    let types = types.map(|mismatch| Refusal::Type { cell: cell("chair"), mismatch });
    let row = Refusal::RowTooLarge { table: table(), key: key("chair"), bytes_max: 1 << 20 };
    vec![
        ("refusal", "of a transaction, of configurations, and of another shard's rows", {
            let faults = [ConfigurationFault::Unfit, ConfigurationFault::Outside].map(Refusal::Configuration);
            let transaction = Refusal::TransactionTooLarge { bytes_max: 300 };
            let other = Refusal::OtherShard { table: table() };
            sample([transaction].into_iter().chain(faults).chain([other]).map(Answer::Refused))
        }),
        ("refused_moment", "not resolved, and too far ahead", sample(moments.map(Answer::Refused))),
        ("refused_type", "every type of a cell", sample(types.map(Answer::Refused))),
        ("refused_row", "a row", sample([Answer::Refused(row)])),
    ]
}

fn stretch() -> Closed {
    Closed {
        through: time(9_000),
        barrier: time(9_500),
        latest: time(8_000),
        complete: time(4_000),
        undecided: Vec::new(),
        aborted: Vec::new(),
        committed: Vec::new(),
        given_up: Vec::new(),
        commits: Vec::new(),
    }
}

fn commit(at: Timestamp) -> Commit {
    Commit { at, transaction: id(5).transaction, writes: [write(Operation::Add(1))].into() }
}

fn feed() -> Samples {
    let undecided = |participants: &[u32]| Undecided {
        id: id(3),
        participants: participants.iter().copied().map(ShardId).collect(),
    };
    let named = Closed { aborted: vec![id(4)], committed: names(), given_up: vec![id(9)], ..stretch() };
    let whole =
        Closed { committed: vec![id(5), id(6)], commits: vec![commit(id(5).at), commit(id(6).at)], ..stretch() };
    let open = Closed { undecided: vec![undecided(&[1, 300]), undecided(&[])], ..stretch() };
    let closed = |closed: Closed| Answer::Closed(Ok(closed));
    vec![
        ("answer_closed", "nothing, and names of every kind", sample([stretch(), named].map(closed))),
        ("feed_commit", "two that are named before", sample([closed(whole)])),
        ("undecided_name", "one of two shards, and one of none that is known", sample([closed(open)])),
        ("answer_changes", "two of one client", {
            let commits = [6, 7].map(time).map(commit).into();
            sample([Answer::Changes(Ok(Changed { through: time(9), commits }))])
        }),
    ]
}

pub fn all() -> Samples {
    let too_old = TooOld { low_watermark: time(2) };
    let plain = [
        Answer::Begun,
        Answer::Unknown,
        Answer::TooOld { low_watermark: time(2) },
        Answer::Closed(Err(too_old)),
        Answer::Stirred { at: time(8) },
        Answer::Read(Err(too_old)),
        Answer::Changes(Err(too_old)),
        Answer::Behind { complete: time(3) },
        Answer::Valid(Ok(())),
        Answer::Valid(Err(Invalid::Changed(time(4)))),
        Answer::Valid(Err(Invalid::UnderWay(time(5)))),
        Answer::Acknowledged,
        Answer::WrongStore,
        Answer::WrongEpoch(None),
        Answer::Superseded { term: Term(8) },
    ];
    let row = RowAt { table: table(), key: key("chair"), row: every_state() };
    let group = Group::new(ShardId(1), Epoch(4), &[2, 3, 500].map(ReplicaId)).expect("three");
    let frames = vec![
        ("from_replica_frame", "what has no message of its own", sample(plain)),
        (
            "answer_opened",
            "at term 3",
            sample([Answer::Opened(Opened { term: Term(3), complete: time(3), latest: time(4) })]),
        ),
        ("answer_read", "a row of every state with more behind it; none; none as far as was looked", {
            let looked_through: Option<Arc<[u8]>> = Some(row.key.as_bytes().into());
            let parts = [(vec![row], true, None), (Vec::new(), false, None), (Vec::new(), false, looked_through)];
            sample(parts.map(|(rows, is_cut, looked_through)| {
                Answer::Read(Ok(Piece { reply: ReadReply { at: time(9), rows, is_cut }, looked_through }))
            }))
        }),
        ("answer_reported", "of a shard that ends, whose parts begin", {
            let (group, split) = (group.clone(), Some(super::nodes::split()));
            let begun = [7, 8].map(ReplicaId).to_vec();
            let report = Report { group, takes_part: true, is_fetching: true, complete: time(3), split, begun };
            sample([Answer::Reported(report)])
        }),
        ("shard_group", "three replicas, and a shard that has ended", {
            sample([Answer::WrongEpoch(Some(group)), Answer::Ended(super::nodes::split())])
        }),
    ];
    [votes(), refusals(), feed(), frames].concat()
}
