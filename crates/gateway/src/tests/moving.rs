//! Clients that come from another data centre.

use std::time::Duration;

use iolite_values::{Id, Schema, StoreIncarnation, Timestamp};
use iolite_wire::centres::{Ceiling, CentreName, CentreNews, CentreToken, Place};
use iolite_wire::message::{FromClient, FromGateway, GoodbyeReason, Hello, Resume};

use super::world::*;
use crate::Input;
use crate::sessions::group::Group;

fn name(name: &str) -> CentreName {
    CentreName::new(name).expect("a name")
}

/// A gateway of the data centre us.
fn us() -> World {
    let mut world = World::new();
    world.gateway.group = Some(Group::new(name("us")));
    world
}

/// Somebody whom eu has served, and who has seen its outbox through a place.
fn from_eu(place: u64) -> FromClient {
    let schema = Schema::from_json(MERGING).expect("good").hash();
    let store = StoreIncarnation(Id::from_u128(77));
    let resume = Some(Resume { store, at: Timestamp::from_u64(1 << 60), rights: None });
    let ceiling = Ceiling { through: Place(place), here: Place(place) };
    let centre_token = Some(CentreToken { at: name("eu"), clock: [(name("eu"), ceiling)].into() });
    FromClient::Hello(Hello { schema, resume, centre_token, ..hello(1) })
}

fn news(world: &mut World, at: Timestamp, eu: u64) {
    let here = [(name("eu"), Place(eu))].into();
    world.input(Input::Centre(CentreNews { clock: Default::default(), at, here }));
}

#[test]
fn a_client_that_moved_is_let_in_once_all_that_it_has_seen_is_here_and_in_the_feed() {
    let mut world = us();
    let position = world.position();
    let later = Timestamp::from_u64(position.as_u64() + 1);
    world.open(1);
    world.say(1, from_eu(5));
    news(&mut world, position, 4);
    news(&mut world, later, 5);
    assert_eq!(world.take(), vec![], "it is held");
    world.commit(vec![]);
    // It brings its schema, which is let in then as anybody's.
    assert_eq!(world.take(), vec![Said::To(1, FromGateway::SchemaWanted)]);
    world.say(1, FromClient::Schema(MERGING.into()));
    world.answer_all();
    world.publish();
    let told = world.take();
    let FromGateway::Welcome(welcome) = welcome(false) else { unreachable!("it is one") };
    let welcome = iolite_wire::message::Welcome { centre: Some(name("us")), moved: true, ..welcome };
    assert_eq!(told.first(), Some(&Said::To(1, FromGateway::Welcome(welcome))));
}

#[test]
fn a_client_whose_past_does_not_come_is_sent_away_with_the_reason() {
    let mut world = us();
    world.open(1);
    world.say(1, from_eu(5));
    world.wait(Duration::from_secs(9));
    world.take();
    world.wait(Duration::from_secs(1));
    let (reason, message) = world.goodbye(1);
    assert_eq!(reason, GoodbyeReason::Unavailable);
    assert!(message.contains("does not have yet"), "{message}");
}

#[test]
fn a_token_of_the_future_is_sent_away_and_nobody_else_is_disturbed() {
    let mut world = World::new();
    world.join_and_watch(2);
    world.gateway.group = Some(Group::new(name("us")));
    world.open(1);
    world.say(1, from_eu(u64::MAX));
    let position = world.position();
    news(&mut world, position, u64::MAX - 1);
    let to = world.commit(vec![add(1, 1)]);
    let others = world.take();
    assert!(matches!(&others[..], [Said::To(2, FromGateway::Advance(told))] if told.to == to), "{others:?}");
    world.wait(Duration::from_secs(10));
    let away = world.take();
    let goodbye = |said: &&Said| matches!(said, Said::To(1, FromGateway::Goodbye(told)) if told.reason == GoodbyeReason::Unavailable);
    assert!(away.iter().find(goodbye).is_some(), "{away:?}");
}
