//! Submissions and their outcomes.

use iolite_store::{CommitReply, Event, Refusal, Reply, Request};
use iolite_values::{Attempt, Counter, Decision, Element, Operation, Read, TableId, Timestamp, Value, Write};
use iolite_wire::message::{Advance, FromClient, FromGateway, GoodbyeReason, Hello, Rejection, Submit, Verdict};

use super::world::*;
use crate::{Broken, Input, SessionId, limits};

fn with_outcomes(to: Timestamp, outcomes: Vec<iolite_wire::message::Outcome>) -> Advance {
    Advance { to, outcomes, ..Advance::default() }
}

fn invalid(said: &[Said]) -> String {
    match said {
        [Said::To(1, FromGateway::Advance(Advance { outcomes, .. }))] => match &outcomes[..] {
            [one] => match &one.verdict {
                Verdict::Rejected(Rejection::Invalid(text)) => text.clone(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// Lets the store record what it is asked to, and takes what the client is told: a rejection.
fn rejected(world: &mut World) -> String {
    assert!(
        matches!(&world.asked[0].1, Request::Commit { transaction, .. } if matches!(&transaction.decision, Decision::Abort(_))),
        "a refused mutation is recorded as aborted, or an earlier attempt could still take effect"
    );
    world.answer(0);
    world.commit(vec![add(1, 1)]);
    invalid(&world.take())
}

#[test]
fn a_commit_is_told_with_the_segment_that_holds_it() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.join_and_watch(2);
    let seen = world.position();
    world.say(1, submit(1, vec![add(7, 3)]));
    assert!(matches!(&world.asked[0].1, Request::Commit { floor, .. } if *floor == seen));
    world.answer_all();
    assert_eq!(world.take(), vec![], "the reply alone is not told");
    world.publish();
    let (at, to) = (world.store.log.last().expect("one").at, world.position());
    let mine = Advance { outcomes: vec![outcome(1, Verdict::Committed(at))], ..advance(to, vec![add(7, 3)]) };
    assert_eq!(world.take(), vec![told(1, mine), told(2, advance(to, vec![add(7, 3)]))]);
}

#[test]
fn an_outcome_does_not_wait_for_the_reply_when_the_feed_has_it_before() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.say(1, submit(1, vec![add(7, 3)]));
    let (id, request) = world.asked.pop_front().expect("asked");
    let reply = world.store.answer(request);
    world.publish();
    let (to, at) = (world.position(), world.store.log.last().expect("one").at);
    let committed = with_outcomes(to, vec![outcome(1, Verdict::Committed(at))]);
    assert_eq!(world.take(), vec![told(1, Advance { changes: vec![add(7, 3)], ..committed.clone() })]);
    world.input(Input::Store(iolite_store::Event::Reply(id, reply)));
    assert_eq!(world.take(), vec![told(1, committed)], "as the answer");
}

#[test]
fn a_gateway_that_publishes_early_tells_before_the_feed_does() {
    let mut world = World::broken(Broken::PublishPastResolved);
    world.join_and_watch(1);
    world.join_and_watch(2);
    world.say(1, submit(1, vec![add(7, 3)]));
    world.answer_all();
    let at = world.store.log.last().expect("one").at;
    assert!(world.position() < at);
    let said = world.take();
    assert!(said.contains(&told(2, advance(at, vec![add(7, 3)]))), "{said:?}");
    assert!(said.contains(&told(1, with_outcomes(at, vec![outcome(1, Verdict::Committed(at))]))), "{said:?}");
    world.publish();
    assert_eq!(world.take(), vec![], "and not again");
}

#[test]
fn a_conflict_is_told_when_the_client_can_run_again() {
    let mut world = World::new();
    world.join(1);
    let snapshot = world.position();
    let at = world.store.write(vec![add(7, 1)]);
    let reads = vec![Read::Cell { cell: cell(7, "n"), element: Element::Whole }];
    world.say(1, FromClient::Submit(Submit { snapshot, reads, ..blind(1, vec![add(7, 1)]) }));
    world.answer_all();
    assert_eq!(world.take(), vec![]);
    world.publish();
    let to = world.position();
    assert!(to >= at);
    assert_eq!(world.take(), vec![told(1, with_outcomes(to, vec![outcome(1, Verdict::Conflict(at))]))]);
}

#[test]
fn an_abort_of_the_app_is_an_outcome() {
    let mut world = World::new();
    world.join(1);
    world.say(1, FromClient::Submit(Submit { decision: Decision::Abort("poor".into()), ..blind(1, vec![]) }));
    world.answer_all();
    world.commit(vec![add(1, 1)]);
    let to = world.position();
    assert_eq!(world.take(), vec![told(1, with_outcomes(to, vec![outcome(1, Verdict::Aborted)]))]);
}

#[test]
fn a_mutation_in_doubt_is_named_and_has_its_one_outcome_when_it_is_sent_again() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.say(1, submit(1, vec![add(7, 3)]));
    world.say(1, submit(2, vec![add(8, 1)]));
    let (id, request) = world.asked.pop_front().expect("one");
    let Request::Commit { transaction, within, .. } = request.clone() else { panic!("a commit") };
    assert_eq!(within, Some(limits::OUTCOME_WITHIN), "the store is to say something by then");
    // It committed, and the store that was asked does not know.
    let reply = CommitReply::InDoubt { transaction: transaction.id, attempt: transaction.attempt };
    world.store.answer(request);
    world.input(Input::Store(iolite_store::Event::Reply(id, Reply::Commit(reply))));
    let (reason, message) = world.goodbye(1);
    assert_eq!(reason, GoodbyeReason::Unavailable);
    assert!(message.contains("mutation 1 ") && message.contains("in doubt"), "{message}");
    assert!(world.asked.is_empty(), "the second one waits until its client is back");
    world.publish();
    let at = world.store.log.last().expect("one").at;
    world.open(2);
    world.say(2, FromClient::Hello(hello(1)));
    world.say(2, submit(1, vec![add(7, 3)]));
    world.answer_all();
    let expected = with_outcomes(world.position(), vec![outcome(1, Verdict::Committed(at))]);
    let answers = [told(2, expected.clone()), told(2, expected)];
    assert_eq!(world.take(), [&[Said::To(2, welcome(false))], &answers[..]].concat(), "read, and as the answer");
    assert_eq!(world.store.log.iter().filter(|own| own.writes.contains(&add(7, 3))).count(), 1);
}

#[test]
fn a_mutation_sent_again_after_a_reconnection_has_its_first_outcome() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.say(1, submit(1, vec![add(7, 3)]));
    world.answer_all();
    world.input(Input::SessionClosed(SessionId(1)));
    world.publish();
    let at = world.store.log.last().expect("one").at;
    world.open(2);
    world.say(2, FromClient::Hello(hello(1)));
    world.say(2, submit(1, vec![add(7, 3)]));
    world.answer_all();
    let to = world.position();
    let expected = with_outcomes(to, vec![outcome(1, Verdict::Committed(at))]);
    let answers = [told(2, expected.clone()), told(2, expected)];
    assert_eq!(world.take(), [&[Said::To(2, welcome(false))], &answers[..]].concat(), "read, and as the answer");
    assert_eq!(world.store.log.iter().filter(|own| own.writes.contains(&add(7, 3))).count(), 1);
}

#[test]
fn a_session_that_takes_over_waits_for_what_the_store_is_still_doing() {
    let mut world = World::new();
    world.join(1);
    world.say(1, submit(1, vec![add(7, 1)]));
    world.say(1, submit(2, vec![add(7, 2)]));
    world.open(2);
    world.say(2, FromClient::Hello(hello(1)));
    world.say(2, submit(1, vec![add(7, 1)]));
    world.say(2, submit(2, vec![add(7, 2)]));
    assert_eq!(world.asked.len(), 1, "one at a time, whoever asked");
    world.answer_all();
    world.publish();
    let amounts: Vec<_> = world.store.log.iter().skip(1).map(|own| own.writes.to_vec()).collect();
    assert_eq!(amounts, vec![vec![add(7, 1)], vec![add(7, 2)]], "each once, in order");
    assert_eq!(counters_told(2, &world.take()), [1, 1, 2], "the answer to the first session is told to the second one");
}

#[test]
fn a_clients_mutations_reach_the_store_in_order_and_one_at_a_time() {
    let mut world = World::new();
    world.join(1);
    for counter in 1..=3 {
        world.say(1, submit(counter, vec![add(7, 1)]));
    }
    for counter in 1..=3 {
        assert_eq!(world.asked.len(), 1);
        let Request::Commit { transaction, .. } = &world.asked[0].1 else { panic!("a commit") };
        assert_eq!(transaction.id.counter, Counter(counter));
        world.answer(0);
    }
}

#[test]
fn what_does_not_fit_the_schema_is_rejected_and_the_session_goes_on() {
    let mut world = World::new();
    world.join(1);
    let wrong = Write { cell: cell(7, "n"), operation: Operation::Put(Value::Int(1)) };
    world.say(1, submit(1, vec![wrong]));
    assert!(rejected(&mut world).contains(r#"column "n" of table "t" is a counter"#));
    let catalog = Write {
        cell: iolite_values::Cell::row(iolite_catalog::Catalog::table(), key(1)),
        operation: Operation::Delete,
    };
    world.say(1, submit(2, vec![catalog]));
    assert!(rejected(&mut world).contains("no table with the number"));
    world.say(1, submit(3, vec![add(7, 1)]));
    assert_eq!(world.asked.len(), 1);
}

#[test]
fn a_mutation_past_a_limit_is_rejected() {
    let mut world = World::new();
    world.join(1);
    let many = vec![add(7, 1); limits::TRANSACTION_WRITES_MAX + 1];
    let read = Read::Cell { cell: cell(7, "n"), element: Element::Whole };
    let reads = vec![read; limits::TRANSACTION_READS_MAX + 1];
    let large = vec![put(7, "x".repeat(limits::TRANSACTION_BYTES_MAX))];
    let submits =
        [(blind(1, many), "operations"), (Submit { reads, ..blind(2, vec![]) }, "reads"), (blind(3, large), "bytes")];
    for (submit, what) in submits {
        world.say(1, FromClient::Submit(submit));
        let text = rejected(&mut world);
        assert!(text.contains(what), "{text}");
    }
}

#[test]
fn what_is_numbered_zero_is_no_mutation() {
    for submit in [blind(0, vec![]), Submit { attempt: Attempt(0), ..blind(1, vec![]) }] {
        let mut world = World::new();
        world.join(1);
        world.say(1, FromClient::Submit(submit));
        assert_eq!(world.goodbye(1).0, GoodbyeReason::Protocol);
    }
}

#[test]
fn a_refused_mutation_whose_earlier_attempt_took_effect_is_told_so() {
    let mut world = World::new();
    world.join(1);
    world.say(1, submit(1, vec![add(7, 1)]));
    world.answer_all();
    world.publish();
    world.take();
    let wrong = Write { cell: cell(7, "n"), operation: Operation::Put(Value::Int(1)) };
    world.say(1, FromClient::Submit(Submit { attempt: Attempt(2), ..blind(1, vec![wrong]) }));
    world.answer_all();
    let at = world.store.log.last().expect("one").at;
    let to = world.position();
    assert_eq!(world.take(), vec![told(1, with_outcomes(to, vec![outcome(1, Verdict::Committed(at))]))]);
}

#[test]
fn more_open_mutations_than_allowed_end_the_session() {
    let mut world = World::new();
    world.join(1);
    for counter in 1..=limits::SUBMITS_OPEN_MAX {
        world.say(1, submit(counter as u64, vec![add(7, 1)]));
    }
    assert_eq!(world.take(), vec![]);
    world.say(1, submit(1000, vec![add(7, 1)]));
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Limit);
}

#[test]
fn more_bytes_of_open_mutations_than_allowed_end_the_session() {
    let mut world = World::new();
    world.join(1);
    let large = || vec![put(7, "x".repeat(1_000_000))];
    for counter in 1..=5 {
        world.say(1, submit(counter, large()));
    }
    assert_eq!(world.take(), vec![], "one is with the store, four wait");
    world.say(1, submit(6, large()));
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Limit);
}

#[test]
fn a_snapshot_of_the_future_conflicts_without_asking_the_store() {
    let mut world = World::new();
    world.join(1);
    world.say(1, FromClient::Submit(Submit { snapshot: Timestamp::MAX, ..blind(1, vec![add(7, 1)]) }));
    let to = world.position();
    assert!(world.asked.is_empty());
    assert_eq!(world.take(), vec![told(1, with_outcomes(to, vec![outcome(1, Verdict::Conflict(to))]))]);
}

#[test]
fn a_forgotten_mutation_is_rejected_as_such() {
    let mut world = World::new();
    world.store.complete(client(1), 3);
    world.open(1);
    world.say(1, FromClient::Hello(Hello { acknowledged: Counter(3), ..hello(1) }));
    world.answer_all();
    world.take();
    world.say(1, submit(2, vec![add(7, 1)]));
    world.answer_all();
    let forgotten = outcome(2, Verdict::Rejected(Rejection::Forgotten));
    let to = world.position();
    assert_eq!(world.take(), vec![told(1, with_outcomes(to, vec![forgotten]))]);
}

#[test]
fn an_acknowledgement_is_passed_on_once_alone_or_with_a_mutation() {
    let mut world = World::new();
    world.join(1);
    world.say(1, submit(3, vec![add(7, 1)]));
    world.answer_all();
    world.say(1, FromClient::Submit(Submit { acknowledged: Some(Counter(3)), ..blind(4, vec![add(7, 1)]) }));
    assert_eq!(world.asked[0].1, Request::Acknowledge { client: client(1), through: Counter(3) });
    world.answer_all();
    world.say(1, FromClient::Acknowledge(Counter(3)));
    assert!(world.asked.is_empty());
    // What it names above the last outcome counts once there is one.
    world.say(1, FromClient::Acknowledge(Counter(100)));
    world.answer_all();
    world.say(1, submit(7, vec![add(7, 1)]));
    world.answer(0);
    let asked = world.asked.pop_front().map(|(_, request)| request);
    assert_eq!(asked, Some(Request::Acknowledge { client: client(1), through: Counter(7) }));
}

fn refuse(world: &mut World, refusal: Refusal) {
    let (id, _) = world.asked.pop_front().expect("asked");
    world.input(Input::Store(Event::Reply(id, Reply::Refused(refusal))));
}

#[test]
fn what_does_not_fit_the_store_is_rejected_and_the_next_one_goes_on() {
    let mut world = World::new();
    world.join(1);
    world.say(1, submit(1, vec![add(7, 1)]));
    world.say(1, submit(2, vec![add(7, 1)]));
    refuse(&mut world, Refusal::TransactionTooLarge { bytes_max: 10 });
    assert!(rejected(&mut world).contains("more than 10 bytes"));
    world.answer_all();
    world.publish();
    let at = world.store.log.last().expect("one").at;
    let to = world.position();
    assert_eq!(world.take(), vec![told(1, with_outcomes(to, vec![outcome(2, Verdict::Committed(at))]))]);
}

#[test]
fn a_row_that_would_be_too_large_is_named_as_the_app_names_it() {
    let mut world = World::new();
    world.join(1);
    world.say(1, submit(1, vec![add(7, 1)]));
    refuse(&mut world, Refusal::RowTooLarge { table: TableId::of(TABLE), key: key(7), bytes_max: 10 });
    let reason = rejected(&mut world);
    assert!(reason.starts_with(&format!("row [7] of table {TABLE:?} would take more than 10 bytes")), "{reason}");
}

#[test]
fn what_the_store_refuses_after_its_session_is_gone_is_left_to_whoever_sends_it_again() {
    let mut world = World::new();
    world.join(1);
    world.say(1, submit(1, vec![add(7, 1)]));
    world.input(Input::SessionClosed(SessionId(1)));
    refuse(&mut world, Refusal::TransactionTooLarge { bytes_max: 10 });
    assert_eq!(world.gateway.lanes.load(client(1)).mutations, 0, "nothing is kept for a client that is not there");
    world.take();
    world.join(1);
    world.say(1, submit(1, vec![add(7, 1)]));
    refuse(&mut world, Refusal::TransactionTooLarge { bytes_max: 10 });
    assert!(rejected(&mut world).contains("more than 10 bytes"));
}

#[test]
fn a_refusal_that_is_not_the_mutations_fault_is_no_outcome() {
    let mut world = World::new();
    world.join(1);
    world.say(1, submit(1, vec![add(7, 1)]));
    refuse(&mut world, Refusal::TooFarAhead { asked: Timestamp::MAX, limit: Timestamp::ZERO });
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Unavailable);
}

#[test]
fn rows_that_the_store_refuses_end_the_session() {
    let mut world = World::new();
    world.join(1);
    world.subscribe(1, vec![(1, one_cell(1)), (2, one_cell(2))]);
    refuse(&mut world, Refusal::NotResolved { asked: Timestamp::MAX, resolved: Timestamp::ZERO });
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Unavailable);
    world.answer_all();
    assert_eq!(world.take(), vec![]);
}
