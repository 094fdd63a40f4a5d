//! What the store need not read any more, because nobody waits for it.

use iolite_machine::Machine;
use iolite_store::{Request, RequestId};
use iolite_values::Counter;
use iolite_wire::message::{FromClient, Hello};

use super::world::*;
use crate::{Input, Output, SessionId, limits};

/// All that comes of an input.
fn outputs(world: &mut World, input: Input) -> Vec<Output> {
    world.gateway.handle(world.now, input);
    world.gateway.validate();
    std::iter::from_fn(|| world.gateway.poll()).collect()
}

fn asked(world: &World) -> Vec<RequestId> {
    world.asked.iter().map(|(id, _)| *id).collect()
}

/// Session 1, for which its own outcomes and two interests of one `Subscribe` are read, in this order. Another session is read for as well.
fn reading() -> World {
    let mut world = World::new();
    world.knows_outcomes = false;
    world.join(1);
    world.subscribe(1, vec![(1, one_row(1)), (2, one_row(2))]);
    world.join(2);
    world
}

#[test]
fn a_session_that_ends_gives_up_what_is_read_for_it_and_nothing_else() {
    let mut world = reading();
    let reads = asked(&world);
    let closed = Input::SessionClosed(SessionId(1));
    let given_up = [reads[1], reads[2], reads[0]].map(Output::GiveUp);
    assert_eq!((reads.len(), outputs(&mut world, closed)), (4, given_up.into()));
    world.answer_all();
    assert_eq!(world.take(), [], "replies that were on their way say nothing");
}

#[test]
fn what_is_left_counts_among_the_reads_of_its_session_until_the_store_is_done_with_it() {
    let mut world = World::new();
    world.join(1);
    let most = limits::READS_OPEN_MAX as u32;
    let subscribe_to = |from: u32| (from..from + most).map(|name| (name, one_row(name.into()))).collect();
    world.subscribe(1, subscribe_to(0));
    let reads = asked(&world);
    assert_eq!(reads.len(), limits::READS_OPEN_MAX);
    let leave = Input::Message(SessionId(1), unsubscribe(&(0..most).collect::<Vec<_>>()));
    assert_eq!(outputs(&mut world, leave), []);
    world.subscribe(1, subscribe_to(most));
    assert_eq!(asked(&world), reads, "nothing more is read");
    world.answer(0);
    assert_eq!(asked(&world).len(), limits::READS_OPEN_MAX, "one was, and is not told");
    assert_eq!(world.take(), []);
    world.answer_all();
    assert_eq!(world.take().len(), 1, "what it asked for afterwards is told");
}

#[test]
fn a_session_that_ends_gives_up_what_it_had_left() {
    let mut world = World::new();
    let at = world.position();
    world.commit(vec![add(1, 1)]);
    world.rejoin(1, 1, at);
    world.say(1, subscribe(true, vec![(1, one_row(1)), (2, one_row(2))]));
    let changes = asked(&world)[0];
    let leave = |name| Input::Message(SessionId(1), unsubscribe(&[name]));
    assert_eq!(outputs(&mut world, leave(1)), [], "they are of the other one as well");
    assert_eq!(outputs(&mut world, leave(2)), []);
    assert_eq!(outputs(&mut world, Input::SessionClosed(SessionId(1))), [Output::GiveUp(changes)]);
}

#[test]
fn a_session_that_falls_behind_gives_up_what_is_read_for_it() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.sockets_take = false;
    world.subscribe(1, vec![(2, one_row(2)), (3, one_cell(3))]);
    let reads = asked(&world);
    let large = put(1, "x".repeat(1 << 20));
    for _ in 1..limits::UNDRAINED_BYTES_MAX >> 20 {
        world.commit(vec![large.clone()]);
    }
    world.store.write(vec![large]);
    let segment = Input::Store(world.store.publish());
    let said = outputs(&mut world, segment);
    let [Output::Message(..), given_up @ ..] = &said[..] else { panic!("it is told first") };
    assert_eq!((reads.len(), given_up), (2, &reads.into_iter().map(Output::GiveUp).collect::<Vec<_>>()[..]));
}

#[test]
fn a_mutation_is_not_given_up() {
    let mut world = World::new();
    world.join(1);
    world.say(1, submit(1, vec![add(1, 1)]));
    assert_eq!(outputs(&mut world, Input::SessionClosed(SessionId(1))), []);
}

#[test]
fn a_client_that_comes_back_again_and_again_has_one_acknowledgement_open() {
    let mut world = World::new();
    world.store.complete(client(1), 5);
    for session in 1..=10 {
        world.open(session);
        world.say(session, FromClient::Hello(Hello { acknowledged: Counter(3 + session / 5), ..hello(1) }));
        world.input(Input::SessionClosed(SessionId(session)));
    }
    for through in [3, 5] {
        let open: Vec<&Request> = world.asked.iter().map(|(_, request)| request).collect();
        assert_eq!(open, [&Request::Acknowledge { client: client(1), through: Counter(through) }]);
        world.answer(0);
    }
    assert_eq!(asked(&world), []);
}
