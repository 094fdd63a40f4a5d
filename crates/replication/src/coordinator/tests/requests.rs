//! Requests: asked until answered, answered once.

use std::time::Duration;

use iolite_machine::Machine;
use iolite_store::{CommitReply, Event, ReadLimit, ReadReply, Refusal, Reply, Request, RequestId, TooOld};
use iolite_values::{CoordinatorId, Interest, KeyRange, TableId, Timestamp};

use super::bench::{
    Bench, Prepared, START_MICROS, Said, at, close, commit, completed, completion, own_id, prepare, prepare_again,
    prepared, transaction,
};
use crate::completions::completions_table;
use crate::coordinator::{CoordinatorInput, READ_LOOKS_MAX};
use crate::node::{Answer, Ask, Boot, Life, MessageId};

fn replied(id: u64, reply: Reply) -> Said {
    Said::Event(Event::Reply(RequestId(id), reply))
}

fn read() -> Interest {
    Interest::Range { table: TableId(1), range: KeyRange::all() }
}

#[test]
fn a_commit_is_proposed_at_the_time_and_answered_with_its_outcome() {
    let mut bench = Bench::open();
    assert_eq!(bench.request(7, commit(1)), [Said::Asks(2, prepare(1, at(0)))]);
    bench.highest = at(0);
    let reply = Reply::Commit(CommitReply::Completed(completion(at(0))));
    let close = close(at(0), Timestamp::ZERO);
    let accepted = prepared(Prepared::Accepted);
    assert_eq!(bench.answer(2, accepted), [replied(7, reply), Said::Asks(3, close)]);
    assert_eq!(bench.answer(2, completed(at(0))), [], "a repeated answer answers nothing");
    assert_eq!(bench.coordinator.open_requests(), 0);
}

#[test]
fn a_copy_of_the_store_is_told_to_every_replica_and_waits_for_nobody() {
    let mut bench = Bench::open();
    bench.coordinator.handle(bench.now, CoordinatorInput::Hold(at(5)));
    let range = KeyRange { lower: [].into(), upper: Some([].into()) };
    let interest = Interest::Range { table: completions_table(), range };
    let ask = Ask::ReadAt {
        interest,
        at: at(5),
        limit: ReadLimit { rows: 0, bytes: 0, ..ReadLimit::NONE },
        looks: READ_LOOKS_MAX,
    };
    assert_eq!(bench.said(), [Said::Asks(2, ask)]);
    assert_eq!((bench.coordinator.open_requests(), bench.answer(2, Answer::Behind { complete: at(1) })), (0, vec![]));
}

#[test]
fn no_timestamp_is_proposed_twice() {
    let mut bench = Bench::open();
    bench.request(1, commit(1));
    let next = at(0).next_for(own_id());
    assert_eq!(bench.request(2, commit(2)), [Said::Asks(3, prepare(2, next))]);
}

#[test]
fn a_retry_is_proposed_above_what_it_was_told() {
    let mut bench = Bench::open();
    bench.request(1, commit(1));
    let above = Timestamp::new(at(500).micros(), CoordinatorId::new(10).unwrap());
    let again = Said::Asks(3, prepare_again(1, at(0), above.next_for(own_id())));
    assert_eq!(bench.answer(2, prepared(Prepared::Retry { above })), [again]);
    assert_eq!(bench.coordinator.lead(), Duration::from_micros(500_001));
    assert_eq!(bench.answer(2, prepared(Prepared::Forgotten)), [], "that question is closed");
}

/// It may have committed, and a replica that is behind would take it for aborted.
#[test]
fn a_proposal_that_is_too_old_is_not_called_dead_by_the_next() {
    let mut bench = Bench::open();
    bench.request(1, commit(1));
    let said = bench.answer(2, Answer::TooOld { low_watermark: at(1) });
    assert!(matches!(&said[..], [Said::Asks(3, Ask::Prepare { after: None, .. })]), "{said:?}");
}

#[test]
fn a_proposal_is_above_what_the_client_has_seen() {
    let mut bench = Bench::open();
    let request = Request::Commit { transaction: transaction(1), floor: at(300), within: None };
    assert_eq!(bench.request(1, request), [Said::Asks(2, prepare(1, at(300).next_for(own_id())))]);
}

#[test]
fn a_question_is_asked_again_after_longer_and_longer() {
    let mut bench = Bench::open();
    bench.request(1, commit(1));
    let (mut millis, mut asked) = (0, Vec::new());
    while millis < 7_000 {
        let (waited, said) = bench.wait();
        millis += waited;
        asked.extend(said.iter().filter(|said| matches!(said, Said::Asks(2, _))).map(|_| millis));
    }
    assert_eq!(asked, [100, 300, 700, 1_500, 3_100, 5_100, 7_100]);
}

#[test]
fn answers_to_others_and_to_an_earlier_life_are_ignored() {
    let mut bench = Bench::open();
    bench.request(1, commit(1));
    bench.boot = Boot(2);
    let id = MessageId { life: Life(2), number: 2 };
    assert_eq!(bench.message(own_id(), id, completed(at(0))), []);
    let id = MessageId { life: Life(3), number: 2 };
    assert_eq!(bench.message(CoordinatorId::default(), id, completed(at(0))), []);
    let id = MessageId { life: Life(3), number: 99 };
    assert_eq!(bench.message(own_id(), id, completed(at(0))), []);
    assert_eq!(bench.coordinator.open_requests(), 1);
}

#[test]
fn an_answer_of_another_kind_leaves_the_question_open() {
    let mut bench = Bench::open();
    bench.request(1, commit(1));
    assert_eq!(bench.answer(2, Answer::Acknowledged), []);
    assert_eq!(bench.coordinator.open_requests(), 1);
}

#[test]
fn reads_changes_and_acknowledgements_are_passed_on() {
    let mut bench = Bench::open();
    let (interest, client, resolved) = (read(), transaction(1).id.client, Timestamp::ZERO);
    let limit = ReadLimit { rows: 10, bytes: 1_000, ..ReadLimit::NONE };
    let asks = [
        (
            Request::ReadAt { interest: interest.clone(), at: resolved, limit },
            Ask::ReadAt { interest: interest.clone(), at: resolved, limit, looks: READ_LOOKS_MAX },
        ),
        (
            Request::Changes {
                interests: vec![interest.clone()],
                after: resolved,
                through: resolved,
                bytes_max: 1_000,
            },
            Ask::Changes { interests: vec![interest], after: resolved, through: resolved },
        ),
        (
            Request::Acknowledge { client, through: transaction(4).id.counter },
            Ask::Acknowledge { client, through: transaction(4).id.counter },
        ),
    ];
    for (number, (request, ask)) in (2..).zip(asks) {
        assert_eq!(bench.request(number, request), [Said::Asks(number, ask)]);
    }
    let reply = ReadReply { at: resolved, rows: Vec::new(), is_cut: false };
    let too_old = TooOld { low_watermark: at(9) };
    assert_eq!(bench.answer(2, Answer::Read(Ok(reply.clone().into()))), [replied(2, Reply::ReadAt(Ok(reply)))]);
    assert_eq!(bench.answer(3, Answer::Changes(Err(too_old))), [replied(3, Reply::Changes(Err(too_old.into())))]);
    assert_eq!(bench.answer(4, Answer::Acknowledged), [replied(4, Reply::Acknowledged)]);
}

#[test]
fn a_refusal_is_passed_on() {
    let mut bench = Bench::open();
    bench.request(1, Request::ReadAt { interest: read(), at: Timestamp::ZERO, limit: ReadLimit::NONE });
    let refusal = Refusal::NotResolved { asked: Timestamp::ZERO, resolved: at(1) };
    assert_eq!(bench.answer(2, Answer::Refused(refusal.clone())), [replied(1, Reply::Refused(refusal))]);
}

#[test]
fn what_the_feed_has_not_reached_is_not_read() {
    let mut bench = Bench::open();
    let refusal = Refusal::NotResolved { asked: at(5), resolved: Timestamp::ZERO };
    let said = bench.request(1, Request::ReadAt { interest: read(), at: at(5), limit: ReadLimit::NONE });
    assert_eq!(said, [replied(1, Reply::Refused(refusal))]);
}

#[test]
fn a_conflict_makes_the_feed_go_where_the_client_needs_it() {
    let mut bench = Bench::open();
    bench.request(1, commit(1));
    let close = close(at(4), Timestamp::ZERO);
    assert_eq!(
        bench.answer(2, prepared(Prepared::Conflict { at_least: at(4) })),
        [replied(1, Reply::Commit(CommitReply::Conflict { at_least: at(4) })), Said::Asks(3, close)]
    );
}

#[test]
fn a_clock_ten_years_ahead_is_followed_to_the_window_only() {
    let mut bench = Bench::open();
    let years = Duration::from_secs(10 * 365 * 24 * 3_600);
    bench.now.wall = iolite_machine::WallTime::from_micros(START_MICROS + years.as_micros() as u64);
    assert_eq!(bench.request(1, commit(1)), [Said::Asks(2, prepare(1, at(50_500)))]);
    bench.limit = at(40_000);
    let refusal = Refusal::TooFarAhead { asked: at(50_500), limit: at(41_000) };
    let again = Said::Asks(3, prepare_again(1, at(50_500), at(50_500).next_for(own_id())));
    assert_eq!(
        bench.answer(2, prepared(Prepared::Refused(refusal))),
        [again],
        "no timestamp is given up, although the replica's clock went back"
    );
}

#[test]
fn a_clock_behind_others_goes_ahead_with_them_until_they_fall_silent() {
    let mut bench = Bench::open();
    let other = CoordinatorId::new(10).unwrap();
    bench.highest = Timestamp::new(at(400).micros(), other);
    bench.request(1, commit(1));
    bench.answer(2, completed(at(1)));
    bench.now.instant = bench.now.instant + Duration::from_millis(100);
    bench.now.wall = iolite_machine::WallTime::from_micros(at(100).micros());
    let proposed = |said: Vec<Said>| match &said[..] {
        [Said::Asks(_, Ask::Prepare { proposal, .. })] => proposal.id.at,
        other => panic!("{other:?}"),
    };
    assert_eq!(proposed(bench.request(2, commit(2))), at(500), "as far ahead as the other one was");
    bench.now.instant = bench.now.instant + Duration::from_secs(20);
    bench.now.wall = iolite_machine::WallTime::from_micros(at(20_100).micros());
    assert_eq!(proposed(bench.request(3, commit(3))), at(20_100));
}

#[test]
fn a_client_from_the_far_future_is_refused() {
    let mut bench = Bench::open();
    let far = at(1_000_000);
    bench.request(1, Request::Commit { transaction: transaction(1), floor: far, within: None });
    let refusal = Refusal::TooFarAhead { asked: far.next_for(own_id()), limit: at(61_000) };
    let said = bench.answer(2, prepared(Prepared::Refused(refusal.clone())));
    assert_eq!(said, [replied(1, Reply::Refused(refusal))]);
    let next = bench.request(2, commit(2));
    assert!(
        matches!(&next[..], [Said::Asks(3, Ask::Prepare { proposal, .. })] if proposal.id.at < at(61_000)),
        "{next:?}"
    );
}
