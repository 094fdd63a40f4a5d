//! Tokens of an app that is asked for them: when it is asked, and what becomes of the queue meanwhile.

mod harness;

use std::time::Duration;

use harness::{Harness, config, hits};
use iolite_client::{Client, Config, Connection, Output, TokenSource};
use iolite_machine::Machine;
use iolite_values::Operation;
use iolite_wire::message::{Advance, FromClient, FromGateway, Goodbye, GoodbyeReason};

const HOUR: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);

fn asked() -> Harness {
    let mut harness = Harness::new();
    let config = Config { token: TokenSource::Asked, ..config("ann") };
    harness.client = Client::open(config, Vec::new(), harness.now).expect("nothing is there");
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.pass(Duration::ZERO);
    harness
}

/// A client with an open session, whose token is good for so long.
fn open(left: Duration) -> Harness {
    let mut harness = asked();
    assert_eq!(questions(&mut harness), 1);
    harness.token_left = Some(left);
    give(&mut harness, "first");
    harness.link_is_there();
    harness.welcome(1);
    assert_eq!(said(&mut harness), ["first"]);
    harness
}

fn questions(harness: &mut Harness) -> usize {
    harness.other.extract_if(.., |output| *output == Output::TokenWanted).count()
}

fn give(harness: &mut Harness, token: &str) {
    harness.client.set_token(harness.now.instant, token.into());
    harness.pass(Duration::ZERO);
}

fn fail(harness: &mut Harness, message: &str) {
    harness.client.token_failed(harness.now.instant, message);
    harness.settle();
}

/// Tokens that were said, in hellos and after them.
fn said(harness: &mut Harness) -> Vec<String> {
    let said = harness.take_sent().into_iter().filter_map(|message| match message {
        FromClient::Hello(hello) => Some(hello.token),
        FromClient::Token(token) => Some(token),
        _ => None,
    });
    said.collect()
}

/// Time passes, and the gateway answers what it is asked.
fn pass(harness: &mut Harness, time: Duration) {
    let end = harness.now.instant + time;
    while harness.now.instant < end {
        let left = end.since(harness.now.instant);
        let due = harness.client.deadline().map_or(left, |due| due.since(harness.now.instant));
        harness.pass(due.min(left));
        harness.answer_pings();
    }
}

fn refuse(harness: &mut Harness, reason: GoodbyeReason) {
    harness.tell(FromGateway::Goodbye(Goodbye { reason, message: "no".into(), retry_after: None }));
}

fn refused(harness: &Harness) -> Option<(GoodbyeReason, String)> {
    match harness.connection() {
        Connection::Refused { reason, message } => Some((reason, message)),
        Connection::Offline | Connection::Connecting | Connection::Online => None,
    }
}

#[test]
fn there_is_no_link_before_the_first_token_and_one_question() {
    let mut harness = asked();
    harness.pass(HOUR);
    assert_eq!((questions(&mut harness), harness.take_tried().len()), (1, 0));
    assert_eq!(harness.connection(), Connection::Connecting);
    let call = harness.mutate("hit");
    give(&mut harness, "first");
    assert_eq!(harness.take_tried().len(), 1);
    harness.link_is_there();
    harness.welcome(1);
    assert_eq!(said(&mut harness), ["first"]);
    assert!(harness.client.mutation(call).is_some());
}

#[test]
fn an_app_without_a_token_is_asked_again_and_again_and_says_why() {
    let mut harness = asked();
    let mut pauses = Vec::new();
    for _ in 0..9 {
        assert_eq!(questions(&mut harness), 1);
        fail(&mut harness, "nobody is signed in");
        assert_eq!(refused(&harness), Some((GoodbyeReason::Unauthorized, "nobody is signed in".into())));
        let due = harness.client.deadline().expect("it asks again");
        pauses.push(due.since(harness.now.instant));
        harness.pass(due.since(harness.now.instant));
    }
    assert!((SECOND..=SECOND * 2).contains(&pauses[0]), "{pauses:?}");
    assert!((SECOND * 30..=SECOND * 60).contains(&pauses[8]), "{pauses:?}");
    give(&mut harness, "first");
    assert_eq!((harness.take_tried().len(), refused(&harness)), (1, None));
}

#[test]
fn at_four_fifths_of_its_time_another_token_takes_its_place_and_the_session_goes_on() {
    let mut harness = open(HOUR);
    pass(&mut harness, HOUR * 4 / 5 - SECOND);
    assert_eq!(questions(&mut harness), 0);
    pass(&mut harness, SECOND);
    assert_eq!(questions(&mut harness), 1);
    give(&mut harness, "second");
    assert_eq!(said(&mut harness), ["second"]);
    harness.tell(FromGateway::Renewed(HOUR));
    pass(&mut harness, HOUR * 4 / 5 - SECOND);
    assert_eq!((questions(&mut harness), harness.connection()), (0, Connection::Online));
    pass(&mut harness, SECOND);
    assert_eq!(questions(&mut harness), 1);
    assert!(!harness.other.contains(&Output::Disconnect));
}

#[test]
fn a_session_goes_on_while_the_old_token_holds() {
    let mut harness = open(HOUR);
    pass(&mut harness, HOUR * 4 / 5);
    for _ in 0..3 {
        assert_eq!(questions(&mut harness), 1);
        fail(&mut harness, "the network is bad");
        assert_eq!(harness.connection(), Connection::Online);
        pass(&mut harness, SECOND * 10);
    }
    assert_eq!(questions(&mut harness), 1);
    give(&mut harness, "first");
    assert_eq!(said(&mut harness), Vec::<String>::new(), "it is the old one, which is no answer");
    pass(&mut harness, SECOND * 60);
    assert_eq!(questions(&mut harness), 1);
}

#[test]
fn a_token_that_no_gateway_takes_is_not_said_and_the_session_goes_on_with_the_old_one() {
    let mut harness = open(HOUR);
    give(&mut harness, &"a".repeat(9000));
    assert_eq!((said(&mut harness), harness.connection()), (vec![], Connection::Online));
    pass(&mut harness, 2 * SECOND);
    assert_eq!(questions(&mut harness), 1, "the app is asked again");
}

#[test]
fn a_token_that_has_run_out_is_not_said_in_a_hello() {
    let mut harness = open(HOUR);
    harness.disconnect();
    harness.client.go_offline();
    harness.pass(HOUR);
    assert_eq!(questions(&mut harness), 0, "nobody needs one");
    harness.take_tried();
    harness.client.go_online(harness.now.instant);
    harness.pass(Duration::ZERO);
    assert_eq!((questions(&mut harness), harness.take_tried().len()), (1, 0));
    give(&mut harness, "first");
    assert_eq!(
        (refused(&harness).map(|(reason, _)| reason), harness.take_tried().len()),
        (Some(GoodbyeReason::Unauthorized), 0)
    );
    harness.pass(SECOND * 2);
    assert_eq!(questions(&mut harness), 1);
    give(&mut harness, "second");
    harness.link_is_there();
    assert_eq!(said(&mut harness), ["second"]);
}

#[test]
fn a_token_that_is_refused_at_once_is_no_circle() {
    let mut harness = asked();
    let mut asked_after = Vec::new();
    for round in 0..9 {
        assert_eq!(questions(&mut harness), 1);
        give(&mut harness, "wrong");
        harness.link_is_there();
        // Some are let in first, for no time at all.
        if round % 2 == 0 {
            harness.token_left = Some(Duration::ZERO);
            harness.welcome(1);
        }
        refuse(&mut harness, GoodbyeReason::Unauthorized);
        assert_eq!(refused(&harness), Some((GoodbyeReason::Unauthorized, "no".into())));
        let due = harness.client.deadline().expect("it asks again");
        asked_after.push(due.since(harness.now.instant));
        harness.pass(due.since(harness.now.instant));
    }
    assert!(asked_after[0] >= SECOND && asked_after[8] >= SECOND * 30, "{asked_after:?}");
}

#[test]
fn a_good_token_that_is_refused_is_asked_for_at_once() {
    let mut harness = open(HOUR);
    let call = harness.mutate("hit");
    pass(&mut harness, SECOND);
    refuse(&mut harness, GoodbyeReason::Unauthorized);
    assert_eq!((questions(&mut harness), harness.connection()), (1, Connection::Connecting));
    give(&mut harness, "second");
    harness.link_is_there();
    assert_eq!(said(&mut harness), ["second"]);
    assert!(harness.client.mutation(call).is_some(), "the queue is as it was");
}

#[test]
fn a_goodbye_that_crosses_a_new_token_leads_to_a_hello_with_it() {
    let mut harness = open(HOUR);
    give(&mut harness, "second");
    assert_eq!(said(&mut harness), ["second"]);
    refuse(&mut harness, GoodbyeReason::Unauthorized);
    harness.pass(Duration::ZERO);
    harness.link_is_there();
    assert_eq!((said(&mut harness), questions(&mut harness)), (vec!["second".to_owned()], 0));
}

#[test]
fn a_token_for_no_time_or_for_ever_is_taken() {
    let mut harness = open(Duration::ZERO);
    pass(&mut harness, SECOND * 3);
    assert_eq!(questions(&mut harness), 1);
    let mut harness = open(Duration::from_millis(u64::MAX));
    pass(&mut harness, HOUR * 10);
    assert_eq!(questions(&mut harness), 0);
}

#[test]
fn a_fixed_token_that_is_exchanged_is_said_in_the_session_that_is_open() {
    let mut harness = Harness::new();
    harness.token_left = Some(SECOND);
    harness.link();
    give(&mut harness, "second");
    assert_eq!(said(&mut harness), ["token"], "not before the session is open");
    harness.welcome(1);
    harness.advance(Advance::default());
    assert_eq!(said(&mut harness), ["second"]);
    harness.tell(FromGateway::Renewed(SECOND));
    pass(&mut harness, HOUR);
    harness.disconnect();
    harness.link();
    assert_eq!((said(&mut harness), questions(&mut harness)), (vec!["second".to_owned()], 0));
}
