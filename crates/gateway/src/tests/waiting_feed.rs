//! The feed while rows are read for it: how much waits is bounded.

use iolite_store::{Request, RequestId};
use iolite_values::{Interest, Timestamp};
use iolite_wire::message::{Advance, FromGateway, GoodbyeReason};

use super::queries::*;
use super::world::*;
use crate::limits;

/// The rows that are read, as of when.
fn reads(world: &World) -> Vec<(Interest, Timestamp)> {
    let read = |request: &Request| match request {
        Request::ReadAt { interest, at, limit: _ } => Some((interest.clone(), *at)),
        _ => None,
    };
    world.asked.iter().filter_map(|(_, request)| read(request)).collect()
}

/// The advances that a session was sent.
fn advances(session: u64, said: Vec<Said>) -> Vec<Advance> {
    let own = said.into_iter().filter_map(|said| match said {
        Said::To(to, FromGateway::Advance(advance)) if to == session => Some(advance),
        Said::To(..) | Said::Closed(_) => None,
    });
    own.collect()
}

/// A world in which the feed waits for row 2, with a commit in it that session 2 watches as well.
fn held_up() -> World {
    let mut world = watched();
    world.join_and_watch(2);
    world.commit(vec![state(2, "open"), add(1, 1)]);
    assert_eq!((world.take(), reads(&world).len()), (vec![], 1));
    world
}

#[test]
fn segments_that_wait_are_judged_as_one() {
    let mut world = held_up();
    for row in [3, 4, 3, 4, 5] {
        world.commit(vec![state(row, "open"), add(row, 1)]);
    }
    let first = world.gateway.feed.judgements;
    world.answer(0);
    assert_eq!(advances(2, world.take()).len(), 1, "the first one is told");
    let all: Vec<_> = reads(&world).into_iter().map(|(_, at)| at).collect();
    assert_eq!(all, [world.store.resolved; 3], "each row once, as of the end of all that wait");
    assert_eq!(world.gateway.feed.judgements - first, 2 * 3, "each row twice");
    world.answer_all();
    let to = world.store.resolved;
    let changes = [3, 4, 3, 4, 5].map(|row| add(row, 1)).into();
    assert_eq!(advances(2, world.take()), [advance(to, changes)], "in the order in which they came");
}

#[test]
fn a_row_that_comes_and_goes_while_the_feed_waits_is_told_as_it_is_at_the_end() {
    let mut world = held_up();
    world.commit(vec![state(1, "done")]);
    world.commit(create_task(3, "open", 1));
    world.commit(vec![state(1, "open"), vote(1, 1)]);
    world.commit(vec![state(3, "done")]);
    world.answer_all();
    let said = advances(1, world.take());
    let [first, second] = &said[..] else { panic!("{said:?}") };
    assert_eq!(first.entered.len(), 1, "2 is open");
    let changes = vec![state(1, "done"), state(1, "open"), vote(1, 1)];
    assert_eq!(*second, advance(world.store.resolved, changes), "3 never was, for who sees only the end");
}

#[test]
fn who_needs_rows_that_are_not_read_while_too_much_waits_is_sent_away_and_the_feed_goes_on() {
    let mut world = held_up();
    let large = title(9, "x".repeat(1 << 20).as_str());
    for _ in 0..limits::FEED_WAITING_BYTES_MAX >> 20 {
        assert_eq!(world.take(), vec![], "so much waits");
        world.commit(vec![large.clone()]);
    }
    let said = world.take();
    let goodbyes: Vec<_> = said.iter().filter(|said| matches!(said, Said::To(_, FromGateway::Goodbye(_)))).collect();
    let [Said::To(1, FromGateway::Goodbye(goodbye))] = &goodbyes[..] else { panic!("{goodbyes:?}") };
    assert_eq!(goodbye.reason, GoodbyeReason::Unavailable);
    assert_eq!(world.position(), world.store.resolved, "everybody else is told");
    assert_eq!(advances(2, said)[0].changes, [add(1, 1)]);
    let late: Vec<RequestId> = world.asked.iter().map(|(id, _)| *id).collect();
    world.answer_all();
    assert_eq!((late.len(), world.take()), (1, vec![]), "what comes late says nothing");
    let to = world.commit(vec![add(1, 2)]);
    assert_eq!(world.take(), vec![told(2, advance(to, vec![add(1, 2)]))]);
}

#[test]
fn a_load_below_what_the_store_keeps_is_read_again_when_the_feed_is_there_and_not_before() {
    let mut world = held_up();
    world.join(3);
    world.subscribe(3, vec![(1, one_row(1))]);
    world.commit(vec![add(1, 2)]);
    world.store.low_watermark = world.store.resolved;
    world.answer(1);
    assert_eq!(reads(&world).len(), 1, "the row for the feed, and nothing that the store would refuse again");
    world.store.low_watermark = Timestamp::ZERO;
    world.answer(0);
    world.answer_all();
    let to = world.store.resolved;
    let whole = with_snapshots(to, vec![snapshot(1, &[(1, 3)])]);
    assert_eq!(advances(3, world.take()), [whole]);
    let to = world.commit(vec![add(1, 4)]);
    assert_eq!(advances(3, world.take()), [advance(to, vec![add(1, 4)])]);
}

#[test]
fn own_outcomes_below_what_the_store_keeps_are_read_again_when_the_feed_is_there_and_not_before() {
    let mut world = held_up();
    world.knows_outcomes = false;
    world.join(3);
    world.subscribe(3, vec![(1, one_row(1))]);
    world.commit(vec![add(1, 2)]);
    world.store.low_watermark = world.store.resolved;
    world.answer(1);
    let asked = |world: &World| {
        world.asked.iter().filter(|(_, request)| matches!(request, Request::Completions { .. })).count()
    };
    assert_eq!(asked(&world), 0, "it would be refused again");
    world.store.low_watermark = Timestamp::ZERO;
    world.answer_all();
    assert_eq!((asked(&world), advances(3, world.take()).len()), (0, 1), "it was asked again and answered");
}
