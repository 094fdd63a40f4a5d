//! What a follower sees.

use std::cell::RefCell;
use std::rc::Rc;

use iolite_client::{Client, Config, Limits, ReactionId, RunOf};
use iolite_values::{ColumnId, KeyRange, RowKey};
use iolite_wire::message::{Declination, Declined, FromClient, SubscriptionId};

use super::harness::{config, titled};
use super::*;

#[test]
fn a_follower_sees_each_view_as_its_leader_does() {
    let (mut leader, mut tabs) = followed(1);
    let seen = VIEWS.map(|view| tabs[0].watch(view, count));
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[]);
    exchange(&mut leader, &mut tabs);
    let last = || seen.clone().map(|seen| *seen.borrow().last().expect("it ran"));
    assert_eq!(last(), [0, 0, 0]);
    leader.stores = false;
    let counter = leader.mutate("hit");
    exchange(&mut leader, &mut tabs);
    assert_eq!(last(), [1, 0, 0], "it is not on disk yet");
    leader.store();
    exchange(&mut leader, &mut tabs);
    assert_eq!(last(), [1, 1, 0]);
    leader.decide(counter, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    exchange(&mut leader, &mut tabs);
    assert_eq!(last(), [1, 1, 1]);
    assert_eq!(tabs[0].follower.pending().count(), 0);
    assert_eq!(tabs[0].follower.at(), at(20));
    let told = FollowerOutput::Mutation { counter, status: MutationStatus::Confirmed { at: at(20) } };
    assert!(tabs[0].other.contains(&told));
}

#[test]
fn offline_a_follower_says_at_once_that_data_is_missing() {
    let (mut leader, mut tabs) = followed(1);
    leader.client.go_offline();
    exchange(&mut leader, &mut tabs);
    let id = tabs[0].react(View::Optimistic, |tx| count(tx).map(drop));
    exchange(&mut leader, &mut tabs);
    assert_eq!(tabs[0].other.last(), Some(&FollowerOutput::Unavailable(id)));
}

#[test]
fn offline_a_follower_shows_a_row_that_it_waited_for_once_a_pending_mutation_makes_it() {
    let (mut leader, mut tabs) = followed(1);
    leader.client.go_offline();
    exchange(&mut leader, &mut tabs);
    let seen = tabs[0].watch(View::Optimistic, first_note);
    exchange(&mut leader, &mut tabs);
    assert!(seen.borrow().is_empty(), "nothing is known of it");
    leader.mutator("add", |tx| Ok(tx.insert(notes(), &key(1), titled("mine"))?));
    leader.mutate("add");
    exchange(&mut leader, &mut tabs);
    assert!(seen.borrow().last().is_some_and(Option::is_some), "{:?}", seen.borrow());
}

#[test]
fn offline_a_follower_says_it_again_to_whoever_asks_next() {
    let (mut leader, mut tabs) = followed(1);
    leader.client.go_offline();
    exchange(&mut leader, &mut tabs);
    let first = tabs[0].react(View::Optimistic, |tx| count(tx).map(drop));
    exchange(&mut leader, &mut tabs);
    let second = tabs[0].react(View::Optimistic, |tx| count(tx).map(drop));
    exchange(&mut leader, &mut tabs);
    assert_eq!(tabs[0].other.last(), Some(&FollowerOutput::Unavailable(second)));
    tabs[0].follower.stop(first);
    tabs[0].follower.stop(second);
    let third = tabs[0].react(View::Optimistic, |tx| count(tx).map(drop));
    exchange(&mut leader, &mut tabs);
    assert_eq!(tabs[0].other.last(), Some(&FollowerOutput::Unavailable(third)));
    let now = leader.now.instant;
    leader.client.go_online(now);
    leader.pass(Duration::ZERO);
    exchange(&mut leader, &mut tabs);
    tabs[0].react(View::Optimistic, |tx| count(tx).map(drop));
    exchange(&mut leader, &mut tabs);
    assert_eq!(tabs[0].other.last(), Some(&FollowerOutput::Connection(Connection::Connecting)), "it may come now");
}

#[test]
fn a_follower_asks_for_nothing_that_the_leader_holds() {
    let (mut leader, mut tabs) = followed(1);
    leader.react(View::Confirmed, |tx| first_note(tx).map(drop));
    leader.load(10, &[(notes(), key(1), note_row("a", 2))]);
    let seen = tabs[0].watch(View::Confirmed, first_note);
    exchange(&mut leader, &mut tabs);
    assert_eq!(seen.borrow().as_slice(), [Some(note_row("a", 2))]);
    assert!(leader.take_subscribed(false).is_empty());
}

#[test]
fn what_only_a_follower_reads_stays_subscribed() {
    let (mut leader, mut tabs) = followed(1);
    let seen = tabs[0].watch(View::Confirmed, count);
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[]);
    exchange(&mut leader, &mut tabs);
    for id in 2..400 {
        let reaction = leader.react(View::Confirmed, move |tx| tx.cell(&hits(id)).map(drop).map_err(Stop::from));
        leader.load(10 + id as u64, &[]);
        leader.client.stop(reaction);
    }
    leader.advance(Advance { to: at(1000), changes: vec![hit(1, 5)], ..Advance::default() });
    exchange(&mut leader, &mut tabs);
    assert_eq!(seen.borrow().last(), Some(&5));
}

#[test]
fn an_update_in_many_parts_is_seen_at_once() {
    let (mut leader, mut tabs) = followed(1);
    let all = |tx: &mut Transaction<'_>| Ok(tx.range(notes(), &iolite_values::KeyRange::all(), None, false)?.len());
    let seen = tabs[0].watch(View::Confirmed, all);
    exchange(&mut leader, &mut tabs);
    let title = "x".repeat(10_000);
    let rows: Vec<_> = (0..100).map(|id| (notes(), key(id), note_row(&title, 0))).collect();
    leader.load(10, &rows);
    leader.settle();
    take_down(&mut leader, &mut tabs);
    assert!(tabs[0].down.len() > 5, "{} messages", tabs[0].down.len());
    exchange(&mut leader, &mut tabs);
    assert_eq!(*seen.borrow(), [100]);
}

#[test]
fn what_a_tab_was_given_out_of_a_wider_interest_stays_while_the_tab_looks_at_it() {
    let mut leader = Harness::new();
    let limits = Limits { idle_interests_max: 0, ..Limits::default() };
    leader.client = Client::open(Config { limits, ..config("ann") }, Vec::new(), leader.now).expect("it is empty");
    leader.connect();
    let mut tabs = vec![Tab::new(1, leader.now)];
    exchange(&mut leader, &mut tabs);
    // The tab asks first, for one cell; the leader's own screen looks at the whole table, and that is there first.
    let seen = tabs[0].watch(View::Confirmed, count);
    exchange(&mut leader, &mut tabs);
    let cell = leader.take_subscribed(false);
    assert_eq!(cell.len(), 1);
    let screen = leader.react(View::Confirmed, |tx| {
        tx.range(TableId::of("hits"), &KeyRange::all(), None, false).map(drop).map_err(Stop::from)
    });
    let row = Row::from_parts(false, [(ColumnId::of("value"), CellState::Counter(5))]);
    leader.load(10, &[(TableId::of("hits"), key(1), row)]);
    exchange(&mut leader, &mut tabs);
    assert_eq!(*seen.borrow(), [5]);
    leader.client.stop(screen);
    leader.advance(Advance { to: at(20), ..Advance::default() });
    exchange(&mut leader, &mut tabs);
    assert_eq!(*seen.borrow(), [5], "nobody set it to zero");
}

#[test]
fn a_tab_that_needs_more_than_its_leader_has_room_for_is_told_so_once_and_for_good() {
    let limits = Limits { cache_bytes_max: 5_000, ..Limits::default() };
    let mut leader = Harness::with(limits);
    leader.connect();
    let mut tabs = vec![Tab::new(1, leader.now)];
    exchange(&mut leader, &mut tabs);
    let id = tabs[0]
        .react(View::Confirmed, |tx| tx.range(notes(), &KeyRange::all(), None, false).map(drop).map_err(Stop::from));
    exchange(&mut leader, &mut tabs);
    let rows: Vec<_> = (0..10).map(|id| (notes(), key(id), note_row("a title", 0))).collect();
    leader.load(10, &rows);
    exchange(&mut leader, &mut tabs);
    let failed = tabs[0].other.iter().filter_map(|output| match output {
        FollowerOutput::ReactionFailed { reaction, message } if *reaction == id => Some(message.as_str()),
        _ => None,
    });
    let failed: Vec<&str> = failed.collect();
    assert!(matches!(failed[..], [why] if why.contains("read less at a time")), "{failed:?}");
    assert_eq!(leader.take_subscribed(false), [], "nobody asks again");
}

/// A leader with room for one large note, and a tab that has looked at the first one.
fn after_a_look() -> (Harness, Vec<Tab>, ReactionId) {
    let mut leader = Harness::with(Limits { cache_bytes_max: 5_000, ..Limits::default() });
    leader.connect();
    let mut tabs = vec![Tab::new(1, leader.now)];
    exchange(&mut leader, &mut tabs);
    let look = tabs[0].react(View::Confirmed, |tx| first_note(tx).map(drop));
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[large_note(1)]);
    exchange(&mut leader, &mut tabs);
    leader.take_sent();
    (leader, tabs, look)
}

fn large_note(id: i64) -> (TableId, RowKey, Row) {
    (notes(), key(id), note_row(&"x".repeat(3_000), 0))
}

/// The leader's own screen looks at the second note, and there is room for it.
fn has_room(leader: &mut Harness, tabs: &mut [Tab]) {
    leader.react(View::Confirmed, |tx| tx.row(notes(), &key(2)).map(drop).map_err(Stop::from));
    leader.load(20, &[large_note(2)]);
    exchange(leader, tabs);
    let failed = leader.other.iter().find(|output| matches!(output, Output::ReactionFailed { .. }));
    assert_eq!(failed, None);
    let is_end = |message: &&FromClient| matches!(message, FromClient::Unsubscribe(ids) if ids.len() == 1);
    assert_eq!(leader.sent.iter().filter(is_end).count(), 1, "the first goes: {:?}", leader.sent);
}

#[test]
fn what_a_follower_looks_at_no_more_makes_room_for_what_its_leader_looks_at() {
    let (mut leader, mut tabs, look) = after_a_look();
    tabs[0].follower.stop(look);
    exchange(&mut leader, &mut tabs);
    has_room(&mut leader, &mut tabs);
}

#[test]
fn what_a_follower_looks_at_no_more_when_it_has_joined_makes_room_too() {
    let (mut leader, mut tabs, look) = after_a_look();
    tabs[0].input(leader.now, FollowerInput::LeaderChanged);
    tabs[0].follower.stop(look);
    exchange(&mut leader, &mut tabs);
    has_room(&mut leader, &mut tabs);
}

#[test]
fn what_a_follower_looks_at_no_more_when_its_leader_loses_it_makes_room_too() {
    let (mut leader, mut tabs, look) = after_a_look();
    let declined = vec![Declined { subscription: SubscriptionId(1), why: Declination::Later }];
    leader.advance(Advance { to: at(11), declined, ..Advance::default() });
    // The tab hears of it before it has said that it needs it no more.
    take_down(&mut leader, &mut tabs);
    tabs[0].follower.stop(look);
    for message in std::mem::take(&mut tabs[0].down) {
        tabs[0].input(leader.now, FollowerInput::FromLeader(message));
    }
    exchange(&mut leader, &mut tabs);
    leader.load(12, &[large_note(1)]);
    has_room(&mut leader, &mut tabs);
}

#[test]
fn a_screen_of_a_follower_that_comes_back_finds_its_data_with_the_leader() {
    let (mut leader, mut tabs, look) = after_a_look();
    tabs[0].follower.stop(look);
    exchange(&mut leader, &mut tabs);
    let seen = tabs[0].watch(View::Confirmed, first_note);
    exchange(&mut leader, &mut tabs);
    assert_eq!(seen.borrow().len(), 1);
    assert_eq!(leader.take_sent(), [], "no gateway was asked");
}

/// What a tab sees of the first note, for which there is no room beside the second.
fn look_beside(leader: &mut Harness, tabs: &mut [Tab]) -> Rc<RefCell<Vec<Option<Row>>>> {
    let seen = tabs[0].watch(View::Confirmed, first_note);
    exchange(leader, tabs);
    leader.load(20, &[large_note(1)]);
    exchange(leader, tabs);
    assert_eq!((failures(&tabs[0]), seen.borrow().len()), (1, 0), "there is no room for it");
    assert_eq!(leader.take_subscribed(false), [], "nobody asks again");
    seen
}

fn failures(tab: &Tab) -> usize {
    tab.other.iter().filter(|output| matches!(output, FollowerOutput::ReactionFailed { .. })).count()
}

/// It is asked for again, and comes.
fn is_had_at_last(leader: &mut Harness, tabs: &mut [Tab], seen: &Rc<RefCell<Vec<Option<Row>>>>) {
    exchange(leader, tabs);
    leader.load(30, &[large_note(1)]);
    exchange(leader, tabs);
    assert_eq!((failures(&tabs[0]), seen.borrow().len()), (1, 1), "now there is room");
}

fn second_note(tx: &mut Transaction<'_>) -> Result<(), Stop> {
    Ok(tx.row(notes(), &key(2)).map(drop)?)
}

fn with_room_for_one_note(tabs: u64) -> (Harness, Vec<Tab>) {
    let mut leader = Harness::with(Limits { cache_bytes_max: 5_000, ..Limits::default() });
    leader.connect();
    let mut tabs: Vec<Tab> = (1..=tabs).map(|id| Tab::new(id, leader.now)).collect();
    exchange(&mut leader, &mut tabs);
    (leader, tabs)
}

#[test]
fn what_a_leader_looks_at_no_more_makes_room_for_what_a_follower_failed_for() {
    let (mut leader, mut tabs) = with_room_for_one_note(1);
    let own = leader.react(View::Confirmed, second_note);
    leader.load(10, &[large_note(2)]);
    let seen = look_beside(&mut leader, &mut tabs);
    assert!(leader.client.stop(own));
    leader.settle();
    is_had_at_last(&mut leader, &mut tabs, &seen);
}

#[test]
fn what_another_follower_looks_at_no_more_makes_room_too() {
    for is_closed in [false, true] {
        let (mut leader, mut tabs) = with_room_for_one_note(2);
        let other = tabs[1].react(View::Confirmed, second_note);
        exchange(&mut leader, &mut tabs);
        leader.load(10, &[large_note(2)]);
        exchange(&mut leader, &mut tabs);
        let seen = look_beside(&mut leader, &mut tabs);
        if is_closed {
            leader.input(Input::TabGone(TabId(2)));
        } else {
            tabs[1].follower.stop(other);
        }
        is_had_at_last(&mut leader, &mut tabs, &seen);
    }
}

#[test]
fn what_a_follower_looks_at_no_more_makes_room_for_what_its_leader_failed_for() {
    let (mut leader, mut tabs, look) = after_a_look();
    let own = leader.react(View::Confirmed, second_note);
    leader.load(20, &[large_note(2)]);
    let failed = |leader: &Harness| {
        let is_failure = |output: &&Output| matches!(output, Output::ReactionFailed { .. });
        leader.other.iter().filter(is_failure).count()
    };
    assert_eq!(failed(&leader), 1, "there is no room for it");
    tabs[0].follower.stop(look);
    exchange(&mut leader, &mut tabs);
    leader.runs.clear();
    leader.load(30, &[large_note(2)]);
    assert!(failed(&leader) == 1 && leader.runs_of(RunOf::Reaction(own)) > 0, "now there is room");
}

/// Another leader has a cache of its own.
#[test]
fn what_a_follower_failed_for_is_tried_again_with_the_next_leader() {
    let (mut leader, mut tabs) = with_room_for_one_note(1);
    leader.react(View::Confirmed, second_note);
    leader.load(10, &[large_note(2)]);
    let seen = look_beside(&mut leader, &mut tabs);
    let mut next = taken_over(leader, &mut tabs);
    next.connect();
    exchange(&mut next, &mut tabs);
    is_had_at_last(&mut next, &mut tabs, &seen);
}
