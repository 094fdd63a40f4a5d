//! The feed: on demand, and now and then.

use std::sync::Arc;

use iolite_store::{Commit, Completion, CompletionDecision, Event, Segment};
use iolite_values::Timestamp;

use super::bench::{
    Bench, Prepared, Said, at, close, closed, commit, completed, completion, prepared, stretch, transaction,
};
use crate::node::{Answer, Ask, Closed};

fn segment(from: Timestamp, to: Timestamp, commits: Vec<Commit>) -> Said {
    Said::Event(Event::Feed(Segment { from, to, commits }))
}

#[test]
fn one_close_is_open_at_a_time_and_the_next_follows_at_once() {
    let mut bench = Bench::open();
    for counter in 1..=3 {
        bench.request(counter, commit(counter));
    }
    let first = at(0);
    let said = bench.answer(2, completed(first));
    assert_eq!(said[1..], [Said::Asks(5, close(first, Timestamp::ZERO))]);
    let second = at(5);
    assert_eq!(bench.answer(3, completed(second)).len(), 1, "no second Close");
    let done = Commit { at: first, transaction: transaction(1).id, writes: Arc::from([]) };
    let answer = stretch(first, vec![done.clone()]);
    assert_eq!(
        bench.answer(5, Answer::Closed(Ok(answer))),
        [segment(Timestamp::ZERO, first, vec![done]), Said::Asks(6, close(second, first)),]
    );
}

#[test]
fn an_abort_is_fetched_like_a_commit_because_its_outcome_waits_for_the_feed() {
    let mut bench = Bench::open();
    bench.request(1, commit(1));
    let aborted = Completion { decision: CompletionDecision::Aborted, ..completion(at(0)) };
    let said = bench.answer(2, prepared(Prepared::Completed(aborted)));
    assert_eq!(said[1..], [Said::Asks(3, close(at(0), Timestamp::ZERO))]);
}

#[test]
fn an_idle_store_is_closed_less_and_less_often() {
    let mut bench = Bench::open();
    let mut waits = Vec::new();
    for number in 2..=5 {
        let (millis, said) = bench.wait();
        let [Said::Asks(_, Ask::Close { through, .. })] = said[..] else { panic!("{said:?}") };
        waits.push(millis);
        bench.answer(number, closed(through));
    }
    assert_eq!(waits, [250, 500, 1_000, 1_000]);
}

#[test]
fn an_idle_close_leaves_the_last_moment_open() {
    let mut bench = Bench::open();
    let (_, said) = bench.wait();
    assert_eq!(said, [Said::Asks(2, close(at(150), Timestamp::ZERO))]);
}

#[test]
fn what_others_commit_is_fetched_when_it_is_heard_of() {
    let mut bench = Bench::open();
    bench.wait();
    let told = Closed { latest: at(900), ..stretch(at(150), Vec::new()) };
    assert_eq!(
        bench.answer(2, Answer::Closed(Ok(told))),
        [segment(Timestamp::ZERO, at(150), Vec::new()), Said::Asks(3, close(at(900), at(150))),]
    );
}

#[test]
fn what_others_commit_while_nothing_happens_here_is_fetched_as_soon_as_a_replica_tells_of_it() {
    let mut bench = Bench::open();
    bench.wait();
    bench.answer(2, closed(at(150)));
    let stirred = Answer::Stirred { at: at(300) };
    assert_eq!(bench.answer(2, stirred.clone()), [Said::Asks(3, close(at(300), at(150)))]);
    assert_eq!(bench.answer(2, stirred.clone()), [], "that is being asked");
    bench.answer(3, closed(at(300)));
    assert_eq!(bench.answer(3, stirred), [], "that is known");
}

#[test]
fn a_stretch_that_comes_in_parts_is_fetched_to_its_end() {
    let mut bench = Bench::open();
    bench.wait();
    let part = Closed { barrier: at(150), ..stretch(at(50), Vec::new()) };
    assert_eq!(
        bench.answer(2, Answer::Closed(Ok(part))),
        [segment(Timestamp::ZERO, at(50), Vec::new()), Said::Asks(3, close(at(150), at(50))),]
    );
}

#[test]
fn a_close_that_did_not_get_further_makes_no_segment() {
    let mut bench = Bench::open();
    bench.wait();
    assert_eq!(bench.answer(2, closed(Timestamp::ZERO)), []);
}
