//! The gateway over the store of one replica, with its own validation, feed and history.

use std::sync::Arc;

use iolite_values::{ColumnId, Direction, Element, Interest, Operation, Query, Read, Row, Timestamp, Write};
use iolite_wire::message::{
    First, FromClient, FromGateway, Hello, Rejection, Resume, Submit, Subscribe, SubscriptionId, Verdict,
};

use super::client_view::ClientView;
use super::fake_store::STORE;
use super::queries::{create_task, delete, in_state, state, vote};
use super::real_world::{RealWorld, verdicts};
use super::world::*;
use crate::{Input, SessionId};

fn increment(counter: u64, snapshot: Timestamp) -> FromClient {
    let reads = vec![Read::Cell { cell: cell(7, "n"), element: Element::Whole }];
    FromClient::Submit(Submit { snapshot, reads, ..blind(counter, vec![add(7, 1)]) })
}

#[test]
fn a_mutation_reaches_everybody_with_its_outcome() {
    let mut world = RealWorld::new();
    world.join(2, hello(2));
    world.say(2, subscribe(false, vec![(1, all_rows())]));
    world.take();
    world.say(1, submit(1, vec![add(7, 3)]));
    let heard = world.take();
    let to = |number: u64| {
        let own = heard.iter().filter_map(move |said| match said {
            Said::To(session, FromGateway::Advance(advance)) if *session == number => Some(advance.clone()),
            Said::To(..) | Said::Closed(_) => None,
        });
        own.collect::<Vec<_>>()
    };
    let (mine, theirs) = (to(1), to(2));
    assert!(matches!(&verdicts(&mine)[..], [(1, Verdict::Committed(at))] if *at <= mine[0].to), "{mine:?}");
    let changes: Vec<_> = theirs.iter().flat_map(|advance| advance.changes.clone()).collect();
    assert_eq!((changes, theirs.len()), (vec![add(7, 3)], 1));
}

#[test]
fn of_two_that_read_and_write_the_same_one_runs_again() {
    let mut world = RealWorld::new();
    let snapshot = world.gateway.position();
    world.say(1, increment(1, snapshot));
    world.say(1, increment(2, snapshot));
    let advances = world.advances(1);
    let verdicts = verdicts(&advances);
    let [(1, Verdict::Committed(_)), (2, Verdict::Conflict(at_least))] = verdicts[..] else { panic!("{verdicts:?}") };
    assert!(at_least <= world.gateway.position(), "the client can run again at once");
    let again = world.gateway.position();
    let FromClient::Submit(second) = increment(2, again) else { unreachable!() };
    world.say(1, FromClient::Submit(Submit { attempt: second.attempt.next(), ..second }));
    assert!(matches!(verdicts_of(&mut world)[..], [(2, Verdict::Committed(_))]));
}

fn verdicts_of(world: &mut RealWorld) -> Vec<(u64, Verdict)> {
    let advances = world.advances(1);
    verdicts(&advances)
}

#[test]
fn whoever_comes_back_gets_what_it_missed() {
    let mut world = RealWorld::new();
    world.join(2, hello(2));
    world.say(2, subscribe(false, vec![(1, all_rows())]));
    let at = world.advances(2).last().expect("an answer").to;
    world.input(Input::SessionClosed(SessionId(2)));
    world.say(1, submit(1, vec![add(7, 3), add(8, 1)]));
    world.say(1, submit(2, vec![add(7, 4)]));
    world.take();
    world.join(3, Hello { resume: Some(Resume { store: STORE, at, rights: None }), ..hello(2) });
    world.say(3, subscribe(true, vec![(1, all_rows())]));
    let advances = world.advances(3);
    let mut rows = [Row::default(), Row::default()];
    for write in advances.iter().flat_map(|advance| &advance.changes) {
        let place = usize::from(write.cell.row == key(8));
        rows[place].apply(write.cell.column, &write.operation).expect("a counter");
    }
    let held = |amount: i64| {
        let mut row = Row::default();
        row.apply(ColumnId::of("n"), &Operation::Add(amount)).expect("a counter");
        row
    };
    assert_eq!((advances.len(), rows), (1, [held(7), held(1)]));
}

#[test]
fn a_mutation_sent_twice_takes_effect_once() {
    let mut world = RealWorld::new();
    world.say(1, submit(1, vec![add(7, 3)]));
    let first = verdicts_of(&mut world);
    world.join(2, hello(1));
    world.say(2, submit(1, vec![add(7, 3)]));
    let second = world.advances(2);
    assert_eq!(verdicts(&second), [&first[..], &first].concat(), "as read, and as the answer");
    world.say(2, subscribe(false, vec![(1, one_cell(7))]));
    assert_eq!(world.advances(2)[0].snapshots, vec![snapshot(1, &[(7, 3)])]);
}

#[test]
fn who_comes_and_goes_in_a_query_is_told() {
    let mut world = RealWorld::new();
    world.say(1, submit(1, [create_task(1, "open", 3), create_task(2, "done", 1), create_task(3, "open", 1)].concat()));
    world.join(2, hello(2));
    let open = in_state("open");
    let interests = vec![(SubscriptionId(1), Interest::Query(Arc::new(open.clone())))];
    let first = [(SubscriptionId(1), First { rows: 1, direction: Direction::Descending })].into();
    world.say(2, FromClient::Subscribe(Subscribe { held: false, interests, first }));
    let mut view = ClientView::default();
    view.subscribe(1, Interest::Query(Arc::new(open)));
    let mut held = |world: &mut RealWorld| {
        for advance in world.advances(2) {
            view.take(advance);
        }
        let interest = view.interests[&SubscriptionId(1)].clone().expect("answered");
        view.answers(SubscriptionId(1), &interest).into_keys().collect::<Vec<_>>()
    };
    assert_eq!(held(&mut world), [key(1)]);
    world.say(1, submit(2, vec![state(2, "open"), vote(3, 1)]));
    assert_eq!(held(&mut world), [key(1)], "2 and 3 have too few votes");
    world.say(1, submit(3, vec![vote(2, 3)]));
    assert_eq!(held(&mut world), [key(1), key(2)]);
    world.say(1, submit(4, [vec![state(1, "done")], create_task(4, "open", 9)].concat()));
    assert_eq!(held(&mut world), [key(2), key(4)]);
    world.say(1, submit(5, vec![delete(4), vote(2, -2)]));
    assert_eq!(held(&mut world), []);
}

/// What becomes of a mutation that read who is open, after another one.
fn after_reading_who_is_open(meanwhile: Vec<Write>) -> Verdict {
    let mut world = RealWorld::new();
    world.say(1, submit(1, [create_task(1, "open", 3), create_task(2, "done", 1)].concat()));
    let snapshot = world.gateway.position();
    world.say(1, submit(2, meanwhile));
    world.take();
    let reads = vec![Read::Query(Arc::new(in_state("open")))];
    world.say(1, FromClient::Submit(Submit { snapshot, reads, ..blind(3, vec![add(1, 1)]) }));
    verdicts_of(&mut world)[0].1.clone()
}

#[test]
fn a_mutation_that_read_a_query_runs_again_if_a_row_came_in() {
    for comes_in in [create_task(3, "open", 1), vec![state(2, "open")]] {
        assert!(matches!(after_reading_who_is_open(comes_in), Verdict::Conflict(_)));
    }
    for stays_out in [create_task(3, "done", 1), vec![state(2, "later")]] {
        assert!(matches!(after_reading_who_is_open(stays_out), Verdict::Committed(_)));
    }
}

#[test]
fn a_mutation_whose_query_does_not_fit_the_schema_is_rejected() {
    let mut world = RealWorld::new();
    let reads = vec![Read::Query(Arc::new(Query { live: true, ..in_state("open") }))];
    world.say(1, FromClient::Submit(Submit { reads, ..blind(1, vec![add(1, 1)]) }));
    assert!(matches!(&verdicts_of(&mut world)[..], [(1, Verdict::Rejected(Rejection::Invalid(_)))]));
}
