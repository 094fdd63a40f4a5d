//! Rights are asked when they are used. Every answer is yes today, so the questions are looked at.

use iolite_store::{Event, Refusal, Reply};
use iolite_values::{Attempt, Counter, Element, Read};
use iolite_wire::message::{FromClient, Submit};

use super::world::*;
use crate::Input;
use crate::sessions::rights::Asked;

fn asked(world: &mut World) -> Vec<Asked> {
    std::mem::take(&mut world.gateway.rights_asked)
}

fn write(counter: u64, attempt: u32) -> Asked {
    Asked::Write(Counter(counter), Attempt(attempt))
}

#[test]
fn whether_a_mutation_may_be_written_is_asked_when_the_store_gets_it_and_not_while_it_waits() {
    let mut world = World::new();
    world.join(1);
    world.say(1, submit(1, vec![add(7, 1)]));
    world.say(1, submit(2, vec![add(7, 1)]));
    assert_eq!(asked(&mut world), [write(1, 1)]);
    world.answer(0);
    assert_eq!(asked(&mut world), [write(2, 1)]);
}

#[test]
fn whether_a_mutation_may_be_written_is_asked_for_each_attempt_anew() {
    let mut world = World::new();
    world.join(1);
    let snapshot = world.position();
    world.store.write(vec![add(7, 1)]);
    let reads = vec![Read::Cell { cell: cell(7, "n"), element: Element::Whole }];
    world.say(1, FromClient::Submit(Submit { snapshot, reads, ..blind(1, vec![add(7, 1)]) }));
    world.answer_all();
    world.publish();
    world.say(1, FromClient::Submit(Submit { attempt: Attempt(2), ..blind(1, vec![add(7, 1)]) }));
    assert_eq!(asked(&mut world), [write(1, 1), write(1, 2)], "a conflict is no answer of rights");
    // The abort that is recorded in its place is asked about as well.
    let (id, _) = world.asked.remove(0).expect("the second attempt");
    world.input(Input::Store(Event::Reply(id, Reply::Refused(Refusal::TransactionTooLarge { bytes_max: 10 }))));
    assert_eq!(asked(&mut world), [write(1, 2)]);
}

#[test]
fn whether_an_interest_may_be_read_is_asked_before_anything_is_read_for_it() {
    let mut world = World::new();
    world.join(1);
    world.subscribe(1, vec![(1, one_row(1)), (2, one_cell(2))]);
    assert_eq!(asked(&mut world), [Asked::Read(one_row(1)), Asked::Read(one_cell(2))]);
    world.answer_all();
    world.publish();
    assert_eq!(asked(&mut world), [], "no answer is asked again with the feed");
    world.subscribe(1, vec![(1, one_row(1))]);
    assert_eq!(asked(&mut world), [], "a subscription that is in use is refused before");
}
