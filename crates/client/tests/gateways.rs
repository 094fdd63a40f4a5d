//! A client that knows several gateways: which it tries, when it leaves one, and what it takes along.

mod harness;

use std::time::Duration;

use harness::{Harness, at, hit, hits};
use iolite_client::{Connection, Gateway, Input, Output, View};
use iolite_machine::Machine;
use iolite_values::{Attempt, Operation, Row};
use iolite_wire::message::{Advance, FromClient, FromGateway, Goodbye, GoodbyeReason, RowSnapshot};

const TICK: Duration = Duration::from_millis(100);

/// Lets the client try its next gateway, and makes the link.
fn link_now(harness: &mut Harness) -> Gateway {
    harness.pass(Duration::ZERO);
    let tried = harness.take_tried();
    assert_eq!(tried.len(), 1, "one gateway is tried, and at once");
    harness.link_is_there();
    tried[0]
}

/// Until the client drops its link, or so long.
fn until_dropped(harness: &mut Harness, most: Duration, mut each: impl FnMut(&mut Harness)) -> Option<Duration> {
    harness.other.clear();
    let mut passed = Duration::ZERO;
    while passed < most {
        harness.pass(TICK);
        passed += TICK;
        if harness.other.contains(&Output::Disconnect) {
            return Some(passed);
        }
        each(harness);
    }
    None
}

fn open(harness: &mut Harness) -> Gateway {
    let gateway = link_now(harness);
    harness.welcome(1);
    if harness.client.connection() != Connection::Online {
        harness.take_subscribed(true);
        harness.advance(Advance { to: harness.client.at(), ..Advance::default() });
    }
    assert_eq!(harness.connection(), Connection::Online);
    gateway
}

#[test]
fn a_lost_gateway_is_left_at_once_and_the_next_one_is_given_the_same_attempt() {
    let mut harness = Harness::among(2);
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    let first = open(&mut harness);
    harness.react(View::Confirmed, |tx| Ok(tx.cell(&hits(1)).map(drop)?));
    harness.load(10, &[]);
    let counter = harness.mutate("hit");
    let submits = harness.take_submits();
    harness.pass(Duration::from_secs(2));
    harness.disconnect();
    harness.take_sent();
    let second = link_now(&mut harness);
    assert_ne!(first, second);
    let sent = harness.take_sent();
    assert!(matches!(&sent[..], [FromClient::Hello(hello)] if hello.resume.is_some_and(|resume| resume.at == at(10))));
    harness.welcome(1);
    assert_eq!(harness.take_subscribed(true).len(), 1, "what is held is resumed, not asked for anew");
    harness.advance(Advance { to: at(20), changes: vec![hit(1, 1)], ..Advance::default() });
    let again = harness.take_submits();
    assert_eq!((again[0].counter, again[0].attempt), (counter, Attempt(1)));
    assert_eq!(again[0].decision, submits[0].decision);
}

#[test]
fn all_gateways_are_tried_before_the_first_pause_and_again_after_it() {
    let mut harness = Harness::among(3);
    for round in 0..3 {
        let mut tried = Vec::new();
        for _ in 0..3 {
            harness.pass(Duration::ZERO);
            tried.extend(harness.take_tried());
            harness.input(Input::LinkLost);
        }
        tried.sort();
        assert_eq!(tried, [Gateway(0), Gateway(1), Gateway(2)], "round {round}");
        harness.pass(Duration::ZERO);
        assert_eq!(harness.take_tried(), [], "now comes a pause");
        harness.now.instant = harness.client.deadline().expect("it tries again");
    }
}

#[test]
fn a_client_stays_with_a_gateway_that_works() {
    let mut harness = Harness::among(3);
    open(&mut harness);
    let lost = until_dropped(&mut harness, Duration::from_secs(100), |harness| {
        harness.answer_pings();
    });
    assert_eq!(lost, None);
    assert_eq!(harness.take_tried(), []);
}

#[test]
fn gateways_that_lose_their_sessions_at_once_are_tried_with_pauses() {
    let mut harness = Harness::among(2);
    open(&mut harness);
    harness.disconnect();
    open(&mut harness);
    harness.disconnect();
    harness.pass(Duration::ZERO);
    assert_eq!(harness.take_tried(), [], "both lost it");
}

#[test]
fn a_gateway_without_a_store_is_left_for_another_one() {
    let mut harness = Harness::among(2);
    let first = link_now(&mut harness);
    let retry_after = Some(Duration::from_secs(1));
    let away = Goodbye { reason: GoodbyeReason::Unavailable, message: String::new(), retry_after };
    harness.tell(FromGateway::Goodbye(away.clone()));
    assert_ne!(link_now(&mut harness), first);
    harness.tell(FromGateway::Goodbye(away));
    let due = harness.client.deadline().expect("it tries again");
    assert_eq!(due, harness.now.instant + Duration::from_secs(1), "neither has it: as they ask");
}

#[test]
fn what_every_gateway_would_refuse_is_not_asked_of_the_next_one() {
    let mut harness = Harness::among(2);
    let first = link_now(&mut harness);
    let limit = Goodbye { reason: GoodbyeReason::Limit, message: String::new(), retry_after: None };
    harness.tell(FromGateway::Goodbye(limit));
    harness.pass(Duration::from_secs(9));
    assert_eq!(harness.take_tried(), []);
    harness.pass(Duration::from_secs(2));
    assert_eq!(harness.take_tried(), [first]);
}

#[test]
fn a_client_that_knows_other_gateways_leaves_a_silent_one_soon() {
    let mut harness = Harness::among(2);
    let first = open(&mut harness);
    let lost = until_dropped(&mut harness, Duration::from_secs(100), |_| {}).expect("it is dead");
    assert!(lost <= Duration::from_millis(1600), "{lost:?}");
    assert_ne!(link_now(&mut harness), first);
}

#[test]
fn slow_gateways_are_given_more_time_each_time() {
    let mut harness = Harness::among(2);
    let mut times = Vec::new();
    for _ in 0..7 {
        harness.now.instant = harness.client.deadline().expect("it tries").max(harness.now.instant);
        open(&mut harness);
        times.push(until_dropped(&mut harness, Duration::from_secs(100), |_| {}).expect("it is dead").as_millis());
    }
    assert_eq!(times, [1500, 2500, 4500, 8500, 15500, 15500, 15500]);
    open(&mut harness);
    until_dropped(&mut harness, Duration::from_secs(1), |harness| {
        harness.answer_pings();
    });
    let lost = until_dropped(&mut harness, Duration::from_secs(100), |_| {}).expect("it is dead");
    assert!(lost <= Duration::from_millis(1600), "one that answers quickly is not slow: {lost:?}");
}

#[test]
fn a_gateway_that_does_not_answer_is_left_for_the_next_one_and_each_time_later() {
    let mut harness = Harness::among(2);
    let mut times = Vec::new();
    for _ in 0..4 {
        harness.now.instant = harness.client.deadline().expect("it tries").max(harness.now.instant);
        harness.pass(Duration::ZERO);
        times.push(until_dropped(&mut harness, Duration::from_secs(100), |_| {}).expect("it is dead").as_millis());
    }
    assert_eq!(times, [2000, 4000, 8000, 10000]);
}

#[test]
fn a_gateway_that_greets_nobody_is_left_for_the_next_one() {
    let mut harness = Harness::among(2);
    link_now(&mut harness);
    let lost = until_dropped(&mut harness, Duration::from_secs(100), |harness| {
        harness.answer_pings();
    });
    assert_eq!(lost, Some(Duration::from_secs(2)));
}

fn pings_of_each_second(harness: &mut Harness) -> Vec<usize> {
    let of_tick = |_| {
        harness.pass(TICK);
        harness.answer_pings()
    };
    let of_ticks: Vec<usize> = (0..2000).map(of_tick).collect();
    of_ticks.chunks(10).map(|second| second.iter().sum()).collect()
}

#[test]
fn a_client_with_nothing_to_do_pings_seldom() {
    let mut harness = Harness::among(2);
    open(&mut harness);
    let goes_on: [fn(&mut Harness); 2] = [
        |harness| _ = harness.react(View::Confirmed, |tx| Ok(tx.cell(&hits(1)).map(drop)?)),
        |harness| {
            let row = RowSnapshot { table: hits(1).table, key: hits(1).row.clone(), row: Row::default() };
            harness.advance(Advance { to: at(11), entered: vec![row], ..Advance::default() });
        },
    ];
    for go_on in goes_on {
        let pings = pings_of_each_second(&mut harness);
        assert!(pings[..50].iter().all(|of_second| *of_second == 2), "{pings:?}");
        assert!(pings[100..].iter().sum::<usize>() <= 10, "{pings:?}");
        go_on(&mut harness);
        harness.pass(Duration::from_millis(500));
        assert_eq!(harness.answer_pings(), 1, "something goes on");
    }
}

#[test]
fn answers_that_take_longer_than_the_time_between_pings_are_answers() {
    let mut harness = Harness::among(2);
    open(&mut harness);
    let (mut to, mut owed, mut ticks) = (10, Vec::new(), 0);
    let lost = until_dropped(&mut harness, Duration::from_secs(200), |harness| {
        ticks += 1;
        if ticks % 7 == 0 {
            to += 1;
            harness.advance(Advance { to: at(to), changes: vec![hit(1, 1)], ..Advance::default() });
        }
        for message in harness.take_sent() {
            if let FromClient::Ping(number) = message {
                owed.push((ticks + 20, number));
            }
        }
        while owed.first().is_some_and(|(due, _)| *due <= ticks) {
            harness.tell(FromGateway::Pong(owed.remove(0).1));
        }
    });
    assert_eq!(lost, None);
}

#[test]
fn a_client_whose_words_are_lost_does_not_wait_for_the_gateway_to_find_out() {
    for gateways in [1, 2] {
        let mut harness = Harness::among(gateways);
        open(&mut harness);
        let mut to = 10;
        let lost = until_dropped(&mut harness, Duration::from_secs(100), |harness| {
            to += 1;
            harness.advance(Advance { to: at(to), ..Advance::default() });
        });
        assert!(lost.is_some_and(|lost| lost <= Duration::from_secs(41)), "{gateways} gateways: {lost:?}");
    }
}

const SOON: Duration = Duration::from_millis(2600);

/// A client of one gateway, with a mutator and nothing under way for a minute.
fn at_rest() -> Harness {
    let mut harness = Harness::among(1);
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    open(&mut harness);
    until_dropped(&mut harness, Duration::from_secs(60), |harness| {
        harness.answer_pings();
    });
    harness
}

#[test]
fn a_dead_link_is_noticed_soon_while_a_mutation_waits() {
    let mut harness = at_rest();
    harness.mutate("hit");
    harness.take_submits();
    let lost = until_dropped(&mut harness, Duration::from_secs(100), |_| {}).expect("it is dead");
    assert!(lost <= SOON, "{lost:?}");
}

#[test]
fn a_dead_link_is_noticed_soon_while_a_read_waits() {
    let mut harness = at_rest();
    harness.react(View::Confirmed, |tx| Ok(tx.cell(&hits(1)).map(drop)?));
    let lost = until_dropped(&mut harness, Duration::from_secs(100), |_| {}).expect("it is dead");
    assert!(lost <= SOON, "{lost:?}");
}

#[test]
fn a_dead_link_is_noticed_soon_after_the_app_asked_to_be_online() {
    let mut harness = at_rest();
    let now = harness.now.instant;
    harness.client.go_online(now);
    harness.settle();
    assert_eq!(harness.take_sent().iter().filter(|sent| matches!(sent, FromClient::Ping(_))).count(), 1);
    let lost = until_dropped(&mut harness, Duration::from_secs(100), |harness| {
        // Somebody who presses the button again and again gets no other answer.
        let now = harness.now.instant;
        harness.client.go_online(now);
    });
    assert!(lost.is_some_and(|lost| lost <= SOON), "{lost:?}");
}

#[test]
fn a_link_that_is_being_made_is_made_anew_soon_after_the_app_asked_to_be_online() {
    let mut harness = Harness::among(1);
    harness.pass(Duration::ZERO);
    harness.take_tried();
    let now = harness.now.instant;
    harness.client.go_online(now);
    let lost = until_dropped(&mut harness, Duration::from_secs(100), |_| {}).expect("its network is gone");
    assert!(lost <= SOON, "{lost:?}");
}

#[test]
fn a_store_that_takes_long_is_no_dead_link() {
    let mut harness = at_rest();
    harness.mutate("hit");
    let mut pings = 0;
    let lost = until_dropped(&mut harness, Duration::from_secs(60), |harness| pings += harness.answer_pings());
    assert_eq!(lost, None);
    assert!(pings > 100, "it is asked as long as the answer is awaited: {pings}");
}

#[test]
fn a_client_of_one_gateway_pings_seldom_while_nothing_waits() {
    let mut harness = at_rest();
    let pings = pings_of_each_second(&mut harness);
    assert!(pings.iter().sum::<usize>() <= 20, "{pings:?}");
}

#[test]
fn a_timer_that_comes_late_asks_once_more_before_a_link_is_given_up() {
    let mut harness = at_rest();
    harness.mutate("hit");
    harness.pass(Duration::from_millis(500));
    harness.other.clear();
    harness.pass(Duration::from_secs(3600));
    assert!(!harness.other.contains(&Output::Disconnect), "what has arrived comes behind the timer");
    assert_eq!(harness.answer_pings(), 2);
    let lost = until_dropped(&mut harness, Duration::from_secs(100), |_| {}).expect("it is dead now");
    assert!(lost <= SOON, "{lost:?}");
    let mut harness = at_rest();
    harness.mutate("hit");
    harness.pass(Duration::from_millis(500));
    harness.pass(Duration::from_secs(3));
    harness.other.clear();
    harness.pass(Duration::from_secs(3));
    assert!(harness.other.contains(&Output::Disconnect), "timers that are always late give it up too");
}

#[test]
fn a_large_message_on_a_slow_line_is_no_dead_link() {
    let mut harness = at_rest();
    harness.mutate("hit");
    harness.pass(Duration::from_millis(500));
    harness.answer_pings();
    harness.tell(FromGateway::Advance(Advance { to: at(11), more: true, ..Advance::default() }));
    let lost = until_dropped(&mut harness, Duration::from_secs(100), |_| {}).expect("it is dead");
    assert!((Duration::from_secs(8)..Duration::from_secs(12)).contains(&lost), "the next part takes long: {lost:?}");
}
