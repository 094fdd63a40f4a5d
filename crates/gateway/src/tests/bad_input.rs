//! Whatever a client sends, it gets a clear goodbye, and the others go on.

use iolite_values::{Cell, Interest, KeyRange, TableId};
use iolite_wire::message::{FromClient, GoodbyeReason, Hello};

use super::world::*;
use crate::{Input, SessionId, limits};

/// Session 1 misbehaves while session 2 goes on.
fn misbehave(inputs: Vec<Input>) -> (GoodbyeReason, String) {
    let mut world = World::new();
    world.join_and_watch(2);
    world.join(1);
    for input in inputs {
        world.input(input);
    }
    let goodbye = world.goodbye(1);
    let to = world.commit(vec![add(1, 1)]);
    assert_eq!(world.take(), vec![told(2, advance(to, vec![add(1, 1)]))], "the others go on");
    world.say(1, FromClient::Ping(1));
    world.input(Input::Drained { session: SessionId(1), messages: 3 });
    world.input(Input::SessionClosed(SessionId(1)));
    assert_eq!(world.take(), vec![], "nobody speaks with who was sent away");
    goodbye
}

fn message(message: FromClient) -> Input {
    Input::Message(SessionId(1), message)
}

fn range(table: &str, lower: usize) -> Interest {
    Interest::Range { table: TableId::of(table), range: KeyRange { lower: vec![2; lower].into(), upper: None } }
}

#[test]
fn what_is_out_of_place_or_unreadable_is_a_protocol_error() {
    let subscribed = message(subscribe(false, vec![(1, one_cell(1))]));
    let cases = [
        (vec![Input::Garbled(SessionId(1), "byte 3 is no tag".into())], "byte 3 is no tag"),
        (vec![message(FromClient::Hello(hello(1)))], "hello once"),
        (vec![message(FromClient::Schema(SCHEMA.into()))], "when it is asked for"),
        (vec![subscribed.clone(), subscribed], "subscription 1 is in use"),
        (vec![message(subscribe(false, vec![(4, one_cell(1)), (4, one_cell(2))]))], "subscription 4 is in use"),
    ];
    for (inputs, expected) in cases {
        let (reason, message) = misbehave(inputs);
        assert_eq!(reason, GoodbyeReason::Protocol);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn interests_that_do_not_fit_the_schema_are_refused() {
    let mut wrong_key = cell(1, "n");
    wrong_key.row = iolite_values::RowKey::new(&[iolite_values::Value::from("x")]).expect("short");
    let catalog = Interest::Cell(Cell::row(iolite_catalog::Catalog::table(), key(1)));
    for interest in [range("u", 1), Interest::Cell(cell(1, "m")), Interest::Cell(wrong_key), catalog] {
        let (reason, message) = misbehave(vec![message(subscribe(false, vec![(1, interest)]))]);
        assert_eq!(reason, GoodbyeReason::Schema, "{message}");
    }
}

#[test]
fn too_many_or_too_large_interests_are_refused() {
    let many = (0..=limits::INTERESTS_MAX as u32).map(|name| (name, one_cell(1))).collect();
    let long = vec![(1, range(TABLE, limits::RANGE_BOUND_BYTES_MAX + 1))];
    for interests in [many, long] {
        assert_eq!(misbehave(vec![message(subscribe(false, interests))]).0, GoodbyeReason::Limit);
    }
}

#[test]
fn interests_add_up_to_a_limit() {
    let batch = |first: u32| (first..first + 1000).map(|name| (name, one_cell(1))).collect();
    let inputs =
        (0..=limits::INTERESTS_MAX as u32 / 1000).map(|number| message(subscribe(false, batch(number * 1000))));
    let (reason, message) = misbehave(inputs.collect());
    assert_eq!(reason, GoodbyeReason::Limit);
    assert!(message.contains("unsubscribe"), "{message}");
}

#[test]
fn leaving_what_was_never_subscribed_is_ignored() {
    let mut world = World::new();
    world.join(1);
    world.say(1, unsubscribe(&[1, 2, 3]));
    assert_eq!(world.take(), vec![]);
}

#[test]
fn nothing_but_hello_comes_first() {
    for first in [subscribe(false, vec![]), submit(1, vec![]), unsubscribe(&[1]), FromClient::Schema("{}".into())] {
        let mut world = World::new();
        world.open(1);
        world.say(1, first);
        assert_eq!(world.goodbye(1).0, GoodbyeReason::Protocol);
    }
}

#[test]
fn tokens_and_schemas_have_a_length() {
    let mut world = World::new();
    world.open(1);
    let token = "x".repeat(limits::TOKEN_BYTES_MAX + 1);
    world.say(1, FromClient::Hello(Hello { token, ..hello(1) }));
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Limit);
    for (json, reason) in [
        ("x".repeat(limits::SCHEMA_BYTES_MAX + 1), GoodbyeReason::Limit),
        ("{".into(), GoodbyeReason::Schema),
        (SCHEMA.into(), GoodbyeReason::Protocol),
    ] {
        world.open(2);
        world.say(2, FromClient::Hello(Hello { schema: iolite_values::SchemaHash([7; 16]), ..hello(2) }));
        world.take();
        world.say(2, FromClient::Schema(json));
        assert_eq!(world.goodbye(2).0, reason);
    }
}
