//! Clients that come back with a resume token.

use iolite_store::Request;
use iolite_values::{Counter, Id, Level, StoreIncarnation, Timestamp, Transaction, TransactionId};
use iolite_wire::message::{Advance, FromClient, FromGateway, Hello, Resume, Submit, Verdict};

use super::fake_store::STORE;
use super::world::*;
use crate::{Input, SessionId, limits};

/// A world in which client 1 was away since the returned timestamp.
fn away(store: StoreIncarnation) -> (World, Timestamp) {
    let mut world = World::new();
    let at = world.commit(vec![add(1, 1)]);
    world.commit(vec![add(1, 2), add(2, 2)]);
    world.commit(vec![add(1, 4), put(3, "c")]);
    world.open(1);
    world.say(1, FromClient::Hello(Hello { resume: Some(Resume { store, at, rights: None }), ..hello(1) }));
    assert_eq!(world.take(), vec![Said::To(1, welcome(store == STORE))]);
    (world, at)
}

#[test]
fn held_interests_get_what_they_missed_in_one_advance() {
    let (mut world, after) = away(STORE);
    world.say(1, subscribe(true, vec![(1, one_row(1)), (2, one_cell(2))]));
    let through = world.position();
    let interests = vec![one_row(1), one_cell(2)];
    assert_eq!(
        world.asked[0].1,
        Request::Changes { interests, after, through, bytes_max: limits::CATCH_UP_COMMITS_BYTES_MAX }
    );
    let to = world.commit(vec![add(1, 8), add(9, 9)]);
    assert_eq!(world.take(), vec![], "nothing overtakes it");
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(2, 2), add(1, 14)]))]);
    let to = world.commit(vec![add(1, 16)]);
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(1, 16)]))]);
}

#[test]
fn held_interests_of_another_history_get_snapshots() {
    let (mut world, _) = away(StoreIncarnation(Id::from_u128(1)));
    world.say(1, subscribe(true, vec![(1, one_cell(1))]));
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![snapshot(1, &[(1, 7)])]))]);
}

#[test]
fn held_interests_below_the_low_watermark_get_snapshots() {
    let (mut world, _) = away(STORE);
    world.store.low_watermark = world.position();
    world.say(1, subscribe(true, vec![(1, one_cell(1))]));
    let to = world.commit(vec![add(1, 8)]);
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, with_snapshots(to, vec![snapshot(1, &[(1, 15)])]))]);
}

#[test]
fn a_client_that_missed_nothing_is_answered_without_asking_the_store() {
    let mut world = World::new();
    let at = world.position();
    world.open(1);
    world.say(1, FromClient::Hello(Hello { resume: Some(Resume { store: STORE, at, rights: None }), ..hello(1) }));
    world.say(1, subscribe(true, vec![(1, all_rows())]));
    assert!(world.asked.is_empty());
    assert_eq!(world.take(), vec![Said::To(1, welcome(true)), told(1, advance(at, vec![]))]);
}

#[test]
fn new_interests_wait_for_the_held_ones_and_are_as_of_the_same_time() {
    let (mut world, _) = away(STORE);
    world.say(1, subscribe(true, vec![(1, one_cell(1))]));
    world.say(1, subscribe(false, vec![(2, one_cell(2))]));
    world.answer(1);
    let to = world.commit(vec![add(2, 8)]);
    assert_eq!(world.take(), vec![]);
    world.answer_all();
    let (held, new) = (advance(to, vec![add(1, 6)]), with_snapshots(to, vec![snapshot(2, &[(2, 10)])]));
    assert_eq!(world.take(), vec![told(1, held), told(1, new)]);
}

#[test]
fn interests_said_to_be_held_after_others_get_snapshots() {
    let (mut world, _) = away(STORE);
    world.say(1, subscribe(false, vec![(1, one_cell(2))]));
    world.answer_all();
    world.take();
    world.say(1, subscribe(true, vec![(2, one_row(2))]));
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![snapshot(2, &[(2, 2)])]))]);
}

#[test]
fn outcomes_wait_for_what_was_missed() {
    let (mut world, _) = away(STORE);
    world.say(1, subscribe(true, vec![(1, one_cell(2))]));
    let reply = world.asked.pop_front().expect("asked");
    world.say(1, submit(1, vec![add(2, 8)]));
    world.answer_all();
    world.publish();
    assert_eq!(world.take(), vec![]);
    world.asked.push_back(reply);
    world.answer_all();
    let at = world.store.log.last().expect("one").at;
    let mut expected = advance(world.position(), vec![add(2, 10)]);
    expected.outcomes = vec![outcome(1, Verdict::Committed(at))];
    assert_eq!(world.take(), vec![told(1, expected)]);
}

#[test]
fn nothing_is_told_between_the_welcome_and_what_the_client_says_to_it() {
    let (mut world, _) = away(STORE);
    let to = world.commit(vec![add(2, 8)]);
    world.wait(crate::limits::IDLE_ADVANCE_PERIOD * 3);
    world.say(1, FromClient::Ping(1));
    assert_eq!(world.take(), vec![Said::To(1, FromGateway::Pong(1))], "an advance would be taken for the answer");
    world.say(1, subscribe(true, vec![(1, one_cell(2))]));
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, advance(to, vec![add(2, 10)]))]);
}

#[test]
fn a_client_that_says_something_else_holds_nothing() {
    let (mut world, _) = away(STORE);
    world.say(1, submit(1, vec![add(2, 8)]));
    world.answer_all();
    world.publish();
    let at = world.store.log.last().expect("one").at;
    let outcomes = vec![outcome(1, Verdict::Committed(at))];
    assert_eq!(world.take(), vec![told(1, Advance { to: world.position(), outcomes, ..Advance::default() })]);
    world.say(1, subscribe(true, vec![(1, one_cell(2))]));
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![snapshot(1, &[(2, 10)])]))]);
}

#[test]
fn nothing_held_is_answered_too() {
    let (mut world, _) = away(STORE);
    world.say(1, subscribe(true, vec![]));
    assert_eq!(world.take(), vec![told(1, advance(world.position(), vec![]))]);
}

#[test]
fn held_interests_that_are_all_left_hold_up_nothing() {
    let (mut world, _) = away(STORE);
    world.say(1, subscribe(true, vec![(1, one_cell(1))]));
    world.say(1, subscribe(false, vec![(2, one_cell(2))]));
    world.answer(1);
    world.say(1, unsubscribe(&[1]));
    assert_eq!(world.take(), vec![told(1, with_snapshots(world.position(), vec![snapshot(2, &[(2, 2)])]))]);
    world.answer_all();
    assert_eq!(world.take(), vec![]);
}

#[test]
fn a_held_interest_that_is_left_after_its_changes_were_asked_for_gets_none() {
    let (mut world, _) = away(STORE);
    world.say(1, subscribe(true, vec![(1, one_cell(1)), (2, one_cell(2))]));
    world.say(1, unsubscribe(&[1]));
    world.answer_all();
    assert_eq!(world.take(), vec![told(1, advance(world.position(), vec![add(2, 2)]))]);
}

/// A client whose mutation 1 was committed in a session that it lost before it was told, and who is back. Gives the timestamp of the commit.
fn back_without_outcome(world: &mut World, resume: Option<Resume>) -> Timestamp {
    world.join_and_watch(1);
    world.say(1, submit(1, vec![add(1, 1)]));
    world.input(Input::SessionClosed(SessionId(1)));
    world.answer_all();
    world.publish();
    world.open(2);
    world.say(2, FromClient::Hello(Hello { resume, ..hello(1) }));
    world.last_commit()
}

#[test]
fn what_was_committed_before_is_told_with_the_state_that_contains_it() {
    let (change, row) = (vec![add(1, 1)], vec![snapshot(1, &[(1, 1)])]);
    for (resumes, low_watermark) in [(true, false), (true, true), (false, false)] {
        let mut world = World::new();
        let before = world.position();
        let resume = resumes.then_some(Resume { store: STORE, at: before, rights: None });
        let at = back_without_outcome(&mut world, resume);
        if low_watermark {
            world.store.low_watermark = world.position();
        }
        // Whoever holds nothing has nothing in which it could be contained, and is told at once.
        let at_once = (!resumes).then(|| told_committed(2, at, advance(world.position(), vec![])));
        assert_eq!(world.take().into_iter().nth(1), at_once);
        world.say(2, subscribe(true, vec![(1, all_rows())]));
        world.answer_all();
        let to = world.position();
        let snapshots = low_watermark || !resumes;
        let state = if snapshots { with_snapshots(to, row.clone()) } else { advance(to, change.clone()) };
        let answer = if resumes { told_committed(2, at, state) } else { told(2, state) };
        assert_eq!(world.take(), [answer]);
    }
}

#[test]
fn nothing_is_told_before_it_is_known_what_was_committed() {
    let mut world = World::new();
    world.knows_outcomes = false;
    let resume = Some(Resume { store: STORE, at: world.position(), rights: None });
    let at = back_without_outcome(&mut world, resume);
    world.say(2, subscribe(true, vec![(1, all_rows())]));
    world.take();
    let question = |(_, request): &(_, Request)| matches!(request, Request::Completions { .. });
    let place = world.asked.iter().position(question).expect("it is asked for");
    let question = world.asked.remove(place).expect("it is there");
    world.answer_all();
    world.commit(vec![add(2, 2)]);
    assert_eq!(world.take(), vec![]);
    world.asked.push_back(question);
    world.answer_all();
    let state = advance(world.position(), vec![add(1, 1), add(2, 2)]);
    assert_eq!(world.take(), [told_committed(2, at, state)]);
}

/// Client 1 has another gateway commit a mutation, and the feed tells of it. Gives its timestamp.
pub(super) fn commit_elsewhere(world: &mut World, counter: u64) -> Timestamp {
    let Submit { counter, attempt, snapshot, reads, decision, .. } = blind(counter, vec![add(1, 1)]);
    let id = TransactionId { client: client(1), counter };
    let transaction = Transaction { id, attempt, snapshot, reads, decision, level: Level::Strict };
    world.store.answer(Request::Commit { transaction, floor: Timestamp::ZERO, within: None });
    let at = world.last_commit();
    world.publish();
    at
}

#[test]
fn a_commit_in_the_feed_that_nobody_here_was_told_of_is_told_with_its_effect() {
    let mut world = World::new();
    world.join_and_watch(1);
    let at = commit_elsewhere(&mut world, 1);
    let own = told_committed(1, at, advance(world.position(), vec![add(1, 1)]));
    let later = world.commit(vec![add(2, 2)]);
    assert_eq!(world.take(), [own, told(1, advance(later, vec![add(2, 2)]))]);
}

#[test]
fn nothing_is_told_while_a_commit_that_nobody_here_was_told_of_is_asked_about() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.knows_outcomes = false;
    let at = commit_elsewhere(&mut world, 1);
    let later = world.commit(vec![add(2, 2)]);
    assert_eq!(world.take(), []);
    world.answer_all();
    assert_eq!(world.take(), [told_committed(1, at, advance(later, vec![add(1, 1), add(2, 2)]))]);
}

#[test]
fn an_outcome_that_came_before_the_feed_is_not_read_again() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.knows_outcomes = false;
    world.say(1, submit(1, vec![add(1, 1)]));
    world.answer_all();
    world.publish();
    assert!(world.asked.is_empty(), "{:?}", world.asked);
    let state = advance(world.position(), vec![add(1, 1)]);
    assert_eq!(world.take(), [told_committed(1, world.last_commit(), state)]);
}

#[test]
fn the_reply_to_a_session_that_is_gone_is_told_to_the_one_that_followed() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.say(1, submit(1, vec![add(1, 1)]));
    let resume = Some(Resume { store: STORE, at: world.position(), rights: None });
    world.open(2);
    world.say(2, FromClient::Hello(Hello { resume, ..hello(1) }));
    world.say(2, subscribe(true, vec![(1, all_rows())]));
    world.answer_all();
    world.take();
    world.knows_outcomes = false;
    world.publish();
    assert!(world.asked.is_empty(), "{:?}", world.asked);
    let state = advance(world.position(), vec![add(1, 1)]);
    assert_eq!(world.take(), [told_committed(2, world.last_commit(), state)]);
}

#[test]
fn only_so_many_outcomes_are_read_and_the_rest_told_when_asked() {
    let mut world = World::new();
    world.join(1);
    let last = limits::OWN_OUTCOMES_MAX as u64 + 1;
    for counter in 1..=last {
        world.say(1, submit(counter, vec![add(7, 1)]));
    }
    world.input(Input::SessionClosed(SessionId(1)));
    world.answer_all();
    for counter in 2..=last {
        world.open(counter);
        world.say(counter, FromClient::Hello(hello(1)));
        world.say(counter, submit(counter, vec![add(7, 1)]));
        world.answer_all();
    }
    world.publish();
    world.take();
    let session = last + 1;
    world.open(session);
    world.say(session, FromClient::Hello(hello(1)));
    assert_eq!(counters_told(session, &world.take()), (1..last).collect::<Vec<_>>());
    world.say(session, submit(last, vec![add(7, 1)]));
    world.answer_all();
    assert_eq!(counters_told(session, &world.take()), [last]);
}

#[test]
fn what_was_told_in_this_session_is_not_read_again_at_a_surprise() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.say(1, submit(1, vec![add(1, 1)]));
    world.answer_all();
    world.publish();
    world.take();
    world.knows_outcomes = false;
    commit_elsewhere(&mut world, 2);
    let asked: Vec<Request> = world.asked.iter().map(|(_, request)| request.clone()).collect();
    let (client, after, at) = (client(1), Counter(1), world.position());
    assert_eq!(asked, [Request::Completions { client, after, at, most: limits::OWN_OUTCOMES_MAX }]);
    world.commit(vec![add(2, 2)]);
    commit_elsewhere(&mut world, 3);
    let Some((_, Request::Completions { after, .. })) = world.asked.back() else { panic!("it is asked again") };
    assert_eq!(*after, Counter(1), "what was not answered yet is asked for again, too");
    world.answer_all();
    let said = world.take();
    assert_eq!(counters_told(1, &said), [2, 3]);
    let [Said::To(1, FromGateway::Advance(all))] = &said[..] else { panic!("one advance, not {said:?}") };
    assert_eq!(all.changes, [add(2, 2), add(1, 2)]);
}
