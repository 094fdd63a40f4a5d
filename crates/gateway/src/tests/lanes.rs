//! Lanes of one client: each in order, all side by side, and together below what a session may have open.

use std::collections::BTreeSet;

use iolite_store::{Event, Refusal, Reply, Request};
use iolite_values::{Counter, Decision, LaneNumber, Timestamp, TransactionId};
use iolite_wire::limits as wire;
use iolite_wire::message::{Advance, FromClient, FromGateway, GoodbyeReason, Submit, Verdict};

use super::world::*;
use crate::{Input, SessionId, limits};

/// The counters of the mutations that the store was given and has not answered.
fn at_the_store(world: &World) -> Vec<u64> {
    let commits = world.asked.iter().map(|(_, request)| match request {
        Request::Commit { transaction, .. } => transaction.id.counter.0,
        other => panic!("{other:?}"),
    });
    commits.collect()
}

fn mutation(counter: u64) -> Submit {
    blind(counter, vec![add(counter as i64, 1)])
}

fn committed(world: &World, counters: &[u64]) -> Advance {
    let outcomes = counters.iter().map(|counter| {
        let own = TransactionId { client: client(1), counter: Counter(*counter) };
        let commit = world.store.log.iter().find(|commit| commit.transaction == own);
        let at = commit.map_or(Timestamp::ZERO, |commit| commit.at);
        outcome(*counter, Verdict::Committed(at))
    });
    Advance { to: world.position(), outcomes: outcomes.collect(), ..Advance::default() }
}

#[test]
fn two_lanes_of_a_client_are_at_the_store_side_by_side_and_each_in_order() {
    let mut world = World::new();
    world.join(1);
    for (lane, counter) in [(0, 1), (0, 2), (1, 3), (1, 4)] {
        world.submit_in(1, LaneNumber(lane), mutation(counter));
    }
    assert_eq!(at_the_store(&world), [1, 3]);
    world.answer(1);
    assert_eq!(at_the_store(&world), [1, 4], "the first lane still waits");
    world.answer(1);
    assert_eq!(at_the_store(&world), [1]);
    world.publish();
    assert_eq!(world.take(), vec![told(1, committed(&world, &[3, 4]))], "what waits is not told");
    world.answer(0);
    assert_eq!(at_the_store(&world), [2]);
    world.answer(0);
    world.publish();
    assert_eq!(world.take(), vec![told(1, committed(&world, &[1, 2]))]);
    assert_eq!(world.gateway.lanes.load(client(1)).mutations, 0);
}

#[test]
fn what_the_store_refuses_is_aborted_in_its_own_lane_before_what_waits_there() {
    let mut world = World::new();
    world.join(1);
    for (lane, counter) in [(0, 1), (1, 2), (1, 3)] {
        world.submit_in(1, LaneNumber(lane), mutation(counter));
    }
    let (id, _) = world.asked.remove(1).expect("two are asked for");
    let refusal = Refusal::TransactionTooLarge { bytes_max: 10 };
    world.input(Input::Store(Event::Reply(id, Reply::Refused(refusal))));
    assert_eq!(at_the_store(&world), [1, 2]);
    match &world.asked[1].1 {
        Request::Commit { transaction, .. } => assert_eq!(transaction.decision, Decision::Abort(String::new())),
        other => panic!("{other:?}"),
    }
    world.answer(1);
    assert_eq!(at_the_store(&world), [1, 3]);
}

#[test]
fn a_session_that_takes_over_waits_in_each_lane_for_what_the_store_has_of_it() {
    let mut world = World::new();
    world.join(1);
    for (lane, counter) in [(0, 1), (0, 2), (1, 3)] {
        world.submit_in(1, LaneNumber(lane), mutation(counter));
    }
    world.open(2);
    world.say(2, FromClient::Hello(hello(1)));
    world.take();
    for (lane, counter) in [(0, 1), (0, 2), (1, 3)] {
        world.submit_in(2, LaneNumber(lane), mutation(counter));
    }
    assert_eq!(at_the_store(&world), [1, 3], "the second of the lost session waits no more");
    world.answer(1);
    assert_eq!(at_the_store(&world), [1, 3], "once more, and the record answers");
    world.answer_all();
    world.publish();
    assert_eq!(counters_told(2, &world.take()), [3, 1, 3, 1, 2]);
}

#[test]
fn all_lanes_of_a_client_have_the_same_room() {
    let mut world = World::new();
    world.join(1);
    for counter in 1..=limits::SUBMITS_OPEN_MAX as u64 {
        world.submit_in(1, LaneNumber((counter % 2) as u32), mutation(counter));
    }
    assert_eq!(world.take(), vec![]);
    world.submit_in(1, LaneNumber(7), mutation(1000));
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Limit);
}

#[test]
fn all_lanes_of_a_client_have_room_for_the_same_bytes() {
    let mut world = World::new();
    world.join(1);
    let large = |counter| blind(counter, vec![put(7, "x".repeat(1_000_000))]);
    for counter in 1..=6 {
        world.submit_in(1, LaneNumber((counter % 2) as u32), large(counter));
    }
    assert_eq!(world.take(), vec![], "two are with the store, four wait");
    world.submit_in(1, LaneNumber(1), large(7));
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Limit);
}

/// A client with two lanes that keeps to the room that a session has, as `crates/client/src/queue/lane.rs` does.
struct TwoLanes {
    session: u64,
    /// Called, and not sent in this session.
    unsent: BTreeSet<u64>,
    /// Sent in this session, and not answered.
    sent: BTreeSet<u64>,
}

impl TwoLanes {
    fn send(&mut self, world: &mut World) {
        while self.sent.len() + 1 + 2 <= wire::SUBMITS_OPEN.most
            && let Some(counter) = self.unsent.pop_first()
        {
            world.submit_in(self.session, LaneNumber((counter % 2) as u32), mutation(counter));
            self.sent.insert(counter);
        }
    }

    fn hear(&mut self, world: &mut World) {
        let said = world.take();
        let goodbye = said.iter().find(|said| matches!(said, Said::To(_, FromGateway::Goodbye(_))));
        assert_eq!(goodbye, None);
        for counter in counters_told(self.session, &said) {
            self.sent.remove(&counter);
        }
    }

    fn come_back(&mut self, world: &mut World) {
        world.input(Input::SessionClosed(SessionId(self.session)));
        self.session += 1;
        world.open(self.session);
        world.say(self.session, FromClient::Hello(hello(1)));
        self.unsent.append(&mut self.sent);
    }
}

#[test]
fn three_hundred_open_calls_over_two_lanes_are_sent_without_a_goodbye() {
    let mut world = World::new();
    world.join(1);
    let mut own = TwoLanes { session: 1, unsent: (1..=300).collect(), sent: BTreeSet::new() };
    for round in 0.. {
        own.send(&mut world);
        if round == 0 || round == 40 {
            assert_eq!(own.sent.len(), wire::SUBMITS_OPEN.most - 2);
            own.come_back(&mut world);
            own.hear(&mut world);
            own.send(&mut world);
        }
        if own.sent.is_empty() {
            break;
        }
        let is_answered = world.asked.is_empty();
        if !is_answered {
            world.answer(0);
        }
        // The feed does not come with every commit.
        if is_answered || round % 3 == 0 {
            world.publish();
        }
        own.hear(&mut world);
    }
    assert!(own.unsent.is_empty());
    let commits = world.store.log.iter().filter(|commit| commit.transaction.client == client(1));
    let mut committed: Vec<u64> = commits.map(|commit| commit.transaction.counter.0).collect();
    committed.sort_unstable();
    assert_eq!(committed, (1..=300).collect::<Vec<_>>(), "each once");
}
