//! A client of two data centres: what it shows while it moves, what it says of itself, and what it does again.

mod harness;

use std::cell::RefCell;
use std::num::NonZeroU16;
use std::rc::Rc;
use std::time::Duration;

use harness::{Harness, at, config, hit, hits};
use iolite_client::{Centre, Client, Config, Gateway, Output, View};
use iolite_values::{CellState, Id, Operation, Row, StoreIncarnation};
use iolite_wire::centres::{Ceiling, CentreName, CentreToken, Clock, Place};
use iolite_wire::message::{
    Advance, FromClient, FromGateway, Goodbye, GoodbyeReason, Hello, ProtocolVersion, RowSnapshot, Snapshot,
    SubscriptionId, Verdict, Welcome,
};

/// The hits of two rows, as a reaction has read them together.
type Seen = Rc<RefCell<Vec<(Option<CellState>, Option<CellState>)>>>;

fn name(name: &str) -> CentreName {
    CentreName::new(name).expect("a name")
}

fn welcome(store: u128, centre: &str, moved: bool) -> FromGateway {
    FromGateway::Welcome(Welcome {
        version: ProtocolVersion::CURRENT,
        store: StoreIncarnation(Id::from_u128(store)),
        resumed: false,
        clock_micros: None,
        centre: Some(name(centre)),
        moved,
        client: config("ann").fresh_client,
        subject: None,
        token_left: None,
    })
}

fn clock(places: &[(&str, u64)]) -> Clock {
    let ceiling = |place| Ceiling { through: Place(place), here: Place(place) };
    places.iter().map(|(own, place)| (name(own), ceiling(*place))).collect()
}

fn answer(subscription: SubscriptionId, row: i64, count: i64) -> Snapshot {
    let cell = hits(row);
    let row = Row::from_parts(true, [(cell.column, CellState::Counter(count))]);
    let rows = vec![RowSnapshot { table: cell.table, key: cell.row, row }];
    Snapshot { subscription, rows, reaches: None }
}

/// A client that eu serves, which shows two counters, 1 and 2.
fn in_eu() -> (Harness, Seen) {
    let mut harness = Harness::new();
    let gateways = vec![NonZeroU16::MIN; 2];
    harness.client = Client::open(Config { gateways, ..config("ann") }, Vec::new(), harness.now).expect("new");
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.pass(Duration::ZERO);
    harness.link_is_there();
    harness.tell(welcome(1, "eu", false));
    let seen = Seen::default();
    let own = seen.clone();
    harness.react(View::Confirmed, move |tx| {
        let both = (tx.cell(&hits(1))?, tx.cell(&hits(2))?);
        own.borrow_mut().push(both);
        Ok(())
    });
    let mut asked = harness.take_subscribed(false);
    while asked.len() < 2 {
        let snapshots = asked.iter().map(|(id, _)| answer(*id, 1, 1)).collect();
        harness.advance(Advance { to: at(5), snapshots, ..Advance::default() });
        let more = harness.take_subscribed(false);
        let snapshots = more.iter().map(|(id, _)| answer(*id, 2, 2)).collect();
        harness.advance(Advance { to: at(10), snapshots, clock: clock(&[("eu", 4)]), ..Advance::default() });
        asked.extend(more);
    }
    harness.advance(Advance { to: at(11), clock: clock(&[("us", 9)]), ..Advance::default() });
    (harness, seen)
}

fn hello(harness: &mut Harness) -> Hello {
    match harness.take_sent().into_iter().next() {
        Some(FromClient::Hello(hello)) => hello,
        other => panic!("a session begins with a hello, not {other:?}"),
    }
}

fn counts(one: i64, other: i64) -> (Option<CellState>, Option<CellState>) {
    (Some(CellState::Counter(one)), Some(CellState::Counter(other)))
}

/// The data centre eu is lost, and us lets the client in. Returns what it asks there.
fn moved(harness: &mut Harness) -> Vec<SubscriptionId> {
    harness.disconnect();
    harness.take_sent();
    harness.pass(Duration::ZERO);
    assert_eq!(harness.take_tried().last(), Some(&Gateway(1)));
    harness.link_is_there();
    let token = CentreToken { at: name("eu"), clock: clock(&[("eu", 4), ("us", 9)]) };
    assert_eq!(hello(harness).centre_token, Some(token), "it says all that it has seen");
    harness.tell(welcome(2, "us", true));
    harness.take_subscribed(false).into_iter().map(|(id, _)| id).collect()
}

#[test]
fn the_old_state_is_shown_until_all_of_the_new_one_is_there() {
    let (mut harness, seen) = in_eu();
    assert_eq!(seen.borrow().last(), Some(&counts(1, 2)));
    let asked = moved(&mut harness);
    assert_eq!(asked.len(), 2);
    let runs = seen.borrow().len();
    harness.advance(Advance { to: at(3), snapshots: vec![answer(asked[0], 1, 7)], ..Advance::default() });
    assert_eq!((seen.borrow().len(), harness.client.at()), (runs, at(11)), "one answer of two shows nothing");
    let (snapshots, clock) = (vec![answer(asked[1], 2, 8)], clock(&[("eu", 5), ("us", 9)]));
    harness.advance(Advance { to: at(4), snapshots, clock, ..Advance::default() });
    assert_eq!(seen.borrow()[runs..], [counts(7, 8)], "both together");
    assert_eq!(harness.client.at(), at(4), "a timestamp of the new store");
    let told = harness.other.iter().filter_map(|output| match output {
        Output::Centre(centre) => Some(centre.clone()),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [Centre::At(name("eu")), Centre::Moving, Centre::At(name("us"))]);
}

#[test]
fn a_call_that_was_sent_is_sent_again_as_it_was() {
    let (mut harness, _) = in_eu();
    let counter = harness.mutate("hit");
    let sent = harness.take_submits();
    let asked = moved(&mut harness);
    assert_eq!(harness.take_submits(), [], "not before the new state is there");
    let snapshots = vec![answer(asked[0], 1, 7), answer(asked[1], 2, 8)];
    harness.advance(Advance { to: at(4), snapshots, ..Advance::default() });
    let again = harness.take_submits();
    assert_eq!((again.len(), again[0].counter), (1, counter));
    assert_eq!(again[0].decision, sent[0].decision);
}

#[test]
fn a_link_that_is_lost_on_the_way_leaves_the_old_state_and_the_old_token() {
    let (mut harness, seen) = in_eu();
    let asked = moved(&mut harness);
    harness.advance(Advance { to: at(3), snapshots: vec![answer(asked[0], 1, 7)], ..Advance::default() });
    harness.disconnect();
    assert_eq!(seen.borrow().last(), Some(&counts(1, 2)));
    harness.take_sent();
    harness.pass(Duration::from_secs(11));
    harness.link_is_there();
    let hello = hello(&mut harness);
    assert_eq!(hello.centre_token.map(|token| token.at), Some(name("eu")));
    assert_eq!(hello.resume.map(|resume| resume.at), Some(at(11)));
    // It goes on where it was.
    harness.tell(welcome(1, "eu", false));
    assert_eq!(harness.take_subscribed(true).len(), 2);
    harness.advance(Advance { to: at(20), changes: vec![hit(1, 1)], ..Advance::default() });
    assert_eq!(seen.borrow().last(), Some(&counts(2, 2)));
}

#[test]
fn a_call_that_the_old_data_centre_has_and_did_not_show_is_sent_to_the_new_one() {
    let (mut harness, _) = in_eu();
    let counter = harness.mutate("hit");
    assert_eq!(harness.take_submits().len(), 1);
    harness.decide(counter, 1, 12, Vec::new(), Verdict::Committed(at(50)));
    let asked = moved(&mut harness);
    let snapshots = vec![answer(asked[0], 1, 7), answer(asked[1], 2, 8)];
    harness.advance(Advance { to: at(60), snapshots, ..Advance::default() });
    assert_eq!(harness.take_submits().iter().map(|submit| submit.counter).collect::<Vec<_>>(), [counter]);
}

#[test]
fn what_was_seen_is_known_after_a_restart() {
    let (mut harness, _) = in_eu();
    // It is stored with the rows.
    harness.advance(Advance { to: at(12), changes: vec![hit(1, 1)], ..Advance::default() });
    let mut harness = harness.reopened();
    harness.link();
    assert_eq!(hello(&mut harness).centre_token.map(|token| token.clock), Some(clock(&[("eu", 4), ("us", 9)])));
}

#[test]
fn a_lost_link_is_made_once_more_before_another_data_centre_is_tried() {
    let (mut harness, _) = in_eu();
    harness.pass(Duration::from_secs(2));
    harness.disconnect();
    harness.pass(Duration::ZERO);
    assert_eq!(harness.take_tried().last(), Some(&Gateway(0)), "a phone has changed its network");
    harness.disconnect();
    harness.pass(Duration::ZERO);
    assert_eq!(harness.take_tried().last(), Some(&Gateway(1)), "nobody is there");
}

#[test]
fn a_client_that_one_data_centre_refuses_for_its_schema_goes_to_the_next_one_and_is_refused_by_all() {
    let (mut harness, _) = in_eu();
    let refusal = || {
        let message = "this schema is none of ours".to_owned();
        FromGateway::Goodbye(Goodbye { reason: GoodbyeReason::Schema, message, retry_after: None })
    };
    harness.tell(refusal());
    harness.pass(Duration::from_secs(1));
    assert_eq!(harness.take_tried().last(), Some(&Gateway(1)));
    harness.link_is_there();
    harness.tell(refusal());
    harness.pass(Duration::from_secs(30));
    assert_eq!(harness.take_tried(), [], "both have said so");
    assert!(matches!(harness.client.connection(), iolite_client::Connection::Refused { .. }));
}
