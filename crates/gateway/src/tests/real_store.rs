//! The gateway over the store of one replica, with its own validation, feed and history.

use iolite_values::{ColumnId, Element, Operation, Read, Row, Timestamp};
use iolite_wire::message::{FromClient, FromGateway, Hello, Resume, Submit, Verdict};

use super::fake_store::STORE;
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
    world.join(3, Hello { resume: Some(Resume { store: STORE, at }), ..hello(2) });
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
