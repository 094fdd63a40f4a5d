//! Interests that cannot be had, or not all at once: whoever needs them hears of it, and everything else goes on.

mod harness;

use std::cell::RefCell;
use std::rc::Rc;

use harness::tab::{Tab, exchange};
use harness::{Harness, Stop, at, hits, key, note_row, notes};
use iolite_client::{Connection, FollowerOutput, MutationStatus, Output, ReactionId, Transaction, View};
use iolite_values::{CellState, ColumnId, KeyRange, Operation, Row, TableId};
use iolite_wire::message::{Advance, Declination, Declined, FromClient, Snapshot, SubscriptionId, Verdict};

const REASON: &str = "more rows than a session gets";

fn all_notes(tx: &mut Transaction<'_>) -> Result<(), Stop> {
    tx.range(notes(), &KeyRange::all(), None, false).map(drop).map_err(Stop::from)
}

/// Answers what was asked for: the table of notes is declined, anything else is empty.
fn decline_notes(harness: &mut Harness, to: u64, why: &Declination) -> usize {
    let (large, small): (Vec<_>, Vec<_>) =
        harness.take_subscribed(false).into_iter().partition(|(_, interest)| interest.table() == notes());
    let count = large.len();
    let declined = large.into_iter().map(|(subscription, _)| Declined { subscription, why: why.clone() });
    let snapshots =
        small.into_iter().map(|(subscription, _)| Snapshot { subscription, rows: Vec::new(), reaches: None });
    harness.advance(Advance {
        to: at(to),
        declined: declined.collect(),
        snapshots: snapshots.collect(),
        ..Advance::default()
    });
    count
}

fn too_large() -> Declination {
    Declination::TooLarge(REASON.into())
}

fn failed(reaction: ReactionId) -> Output {
    Output::ReactionFailed { reaction, message: REASON.into() }
}

#[test]
fn a_reaction_on_too_much_fails_and_the_rest_goes_on() {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    let large = harness.react(View::Confirmed, all_notes);
    let seen = Rc::new(RefCell::new(0));
    let count = seen.clone();
    harness.react(View::Confirmed, move |tx| {
        tx.cell(&hits(1))?;
        *count.borrow_mut() += 1;
        Ok(())
    });
    decline_notes(&mut harness, 10, &too_large());
    assert!(harness.other.contains(&failed(large)), "{:?}", harness.other);
    assert_eq!(*seen.borrow(), 1, "the other one has its data");
    let counter = harness.mutate("hit");
    harness.decide(counter, 1, 20, vec![harness::hit(1, 1)], Verdict::Committed(at(20)));
    assert!(matches!(harness.last_status(counter), MutationStatus::Confirmed { .. }));
    assert!(harness.take_subscribed(false).is_empty(), "it is left alone");
    harness.client.renew(large);
    harness.settle();
    assert_eq!(harness.take_subscribed(false).len(), 1, "it is asked for again when the app says so");
}

#[test]
fn a_mutation_that_needs_too_much_is_given_up_and_those_behind_it_go_on() {
    let mut harness = Harness::new();
    harness.mutator("all", all_notes).mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    let (large, small) = (harness.mutate("all"), harness.mutate("hit"));
    decline_notes(&mut harness, 10, &too_large());
    assert_eq!(*harness.last_status(large), MutationStatus::Quarantined { reason: REASON.into() });
    assert_eq!(harness.take_submits()[0].counter, small);
}

#[test]
fn what_fits_later_is_asked_for_again() {
    let mut harness = Harness::new();
    harness.connect();
    let seen = Rc::new(RefCell::new(0));
    let count = seen.clone();
    harness.react(View::Confirmed, move |tx| {
        all_notes(tx)?;
        *count.borrow_mut() += 1;
        Ok(())
    });
    assert_eq!(decline_notes(&mut harness, 10, &Declination::Later), 1);
    harness.load(20, &[]);
    assert_eq!(*seen.borrow(), 1);
}

#[test]
fn what_was_held_and_is_declined_at_a_resumption_is_asked_for_again() {
    let mut harness = Harness::new();
    harness.connect();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    let reaction = harness.react(View::Confirmed, move |tx| {
        log.borrow_mut().push(tx.range(notes(), &KeyRange::all(), None, false)?.len());
        Ok(())
    });
    harness.load(10, &[(notes(), key(1), note_row("a", 0))]);
    harness.disconnect();
    harness.link();
    harness.welcome(1);
    let held = harness.take_subscribed(true);
    let declined = vec![Declined { subscription: held[0].0, why: too_large() }];
    harness.advance(Advance { to: at(20), declined, ..Advance::default() });
    assert_eq!(*seen.borrow(), [1], "what is not current is not shown as current");
    // Beside others it was too much. Alone it may fit, or not.
    decline_notes(&mut harness, 30, &too_large());
    assert!(harness.other.contains(&failed(reaction)));
}

#[test]
fn interests_past_the_most_fail_who_asks_and_not_the_session() {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    let mut asked = 0;
    for thousand in 0..5i64 {
        harness.react(View::Confirmed, move |tx| {
            // It goes on after what it misses, so that all is asked for at once.
            (0..1000).for_each(|id| drop(tx.row(notes(), &key(thousand * 1000 + id))));
            Ok(())
        });
        asked += harness.sent.iter().map(subscribed).sum::<usize>();
        harness.load(10 + thousand as u64, &[]);
    }
    assert_eq!(asked, 4000);
    let told = harness.other.iter().filter_map(|output| match output {
        Output::ReactionFailed { message, .. } => Some(message.clone()),
        _ => None,
    });
    let told: Vec<String> = told.collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("at most 4096"), "{told:?}");
    assert_eq!(harness.connection(), Connection::Online);
    harness.mutate("hit");
    assert_eq!(harness.take_submits().len(), 1);
}

fn subscribed(message: &FromClient) -> usize {
    match message {
        FromClient::Subscribe(subscribe) => subscribe.interests.len(),
        _ => 0,
    }
}

#[test]
fn what_does_not_fit_the_message_that_resumes_is_asked_for_anew() {
    let mut harness = Harness::new();
    harness.connect();
    let long = |number: u32| -> KeyRange {
        let bound = |number: u32| [&[7; 1000], number.to_be_bytes().as_slice()].concat();
        KeyRange { lower: bound(number).into(), upper: Some(bound(number + 1).into()) }
    };
    for reaction in 0..3u32 {
        harness.react(View::Confirmed, move |tx| {
            (0..200).for_each(|number| drop(tx.range(notes(), &long(reaction * 200 + number), None, false)));
            Ok(())
        });
        harness.load(10, &[]);
    }
    harness.disconnect();
    harness.link();
    harness.welcome(1);
    let held = harness.take_subscribed(true).len();
    assert!((200..400).contains(&held), "{held} of 600, of 2 KB each, fit");
    assert_eq!(harness.connection(), Connection::Connecting);
    harness.advance(Advance { to: at(20), ..Advance::default() });
    assert_eq!(harness.take_subscribed(false).len(), 600 - held);
    assert_eq!(harness.connection(), Connection::Online);
}

#[test]
fn a_tab_that_follows_hears_that_it_asks_for_too_much() {
    let mut leader = Harness::new();
    leader.connect();
    let mut tabs = vec![Tab::new(1, leader.now)];
    exchange(&mut leader, &mut tabs);
    let reaction = tabs[0].react(View::Confirmed, all_notes);
    exchange(&mut leader, &mut tabs);
    decline_notes(&mut leader, 10, &too_large());
    exchange(&mut leader, &mut tabs);
    let failed = FollowerOutput::ReactionFailed { reaction, message: REASON.into() };
    assert!(tabs[0].other.contains(&failed), "{:?}", tabs[0].other);
}

/// A leader that holds counter 1, and a tab that shows it. Returns also the subscription, and what the tab showed.
fn shown_in_a_tab() -> (Harness, Vec<Tab>, SubscriptionId, Rc<RefCell<Vec<i64>>>) {
    let mut leader = Harness::new();
    leader.connect();
    let mut tabs = vec![Tab::new(1, leader.now)];
    exchange(&mut leader, &mut tabs);
    let seen = tabs[0].watch(View::Confirmed, |tx| match tx.cell(&hits(1))? {
        Some(CellState::Counter(count)) => Ok(count),
        _ => Ok(0),
    });
    exchange(&mut leader, &mut tabs);
    let subscription = leader.sent.iter().find_map(first_subscription).expect("it is asked for");
    let row = Row::from_parts(false, [(ColumnId::of("value"), CellState::Counter(5))]);
    leader.load(10, &[(TableId::of("hits"), key(1), row)]);
    exchange(&mut leader, &mut tabs);
    assert_eq!(*seen.borrow(), [5]);
    (leader, tabs, subscription, seen)
}

fn first_subscription(message: &FromClient) -> Option<SubscriptionId> {
    match message {
        FromClient::Subscribe(subscribe) => subscribe.interests.first().map(|(id, _)| *id),
        _ => None,
    }
}

#[test]
fn a_tab_does_not_show_as_gone_what_its_leader_holds_no_more() {
    for why in [Declination::Later, too_large()] {
        let (mut leader, mut tabs, subscription, seen) = shown_in_a_tab();
        let declined = vec![Declined { subscription, why }];
        leader.advance(Advance { to: at(20), declined, ..Advance::default() });
        exchange(&mut leader, &mut tabs);
        assert_eq!(*seen.borrow(), [5], "nobody set it to zero");
        assert_eq!(leader.take_subscribed(false).len(), 1, "the tab asked again");
    }
}

#[test]
fn screens_that_came_and_went_offline_leave_nothing_to_give_up() {
    let mut harness = Harness::new();
    for id in 0..5000 {
        let reaction =
            harness.react(View::Optimistic, move |tx| tx.row(notes(), &key(id)).map(drop).map_err(Stop::from));
        harness.client.stop(reaction);
    }
    harness.connect();
    assert_eq!(harness.connection(), Connection::Online);
    let given_up = |message: &FromClient| matches!(message, FromClient::Unsubscribe(_));
    assert!(!harness.take_sent().iter().any(given_up), "nothing was ever asked for");
}
