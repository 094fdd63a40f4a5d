//! The server's schema: grown by clients, stored, read back.

use iolite_catalog::SchemaPolicy;
use iolite_store::{Event, Refusal, Reply, Request};
use iolite_values::Schema;
use iolite_wire::centres::CentreName;
use iolite_wire::message::{FromClient, FromGateway, GoodbyeReason, Hello};

use super::world::*;
use crate::{Broken, Gateway, Input, SessionId, Settings};

fn with_column(column: &str) -> String {
    SCHEMA.replace(r#""text":"#, &format!(r#""{column}":{{"type":"counter"}},"text":"#))
}

fn hash(json: &str) -> iolite_values::SchemaHash {
    Schema::from_json(json).expect("good").hash()
}

fn greet(world: &mut World, session: u64, json: &str) {
    world.open(session);
    world.say(session, FromClient::Hello(Hello { schema: hash(json), ..hello(session) }));
}

#[test]
fn an_unknown_schema_is_asked_for_and_stored_before_the_welcome() {
    let mut world = World::starting(Broken::Nothing);
    world.store_comes();
    world.answer_all();
    greet(&mut world, 1, SCHEMA);
    assert_eq!(world.take(), vec![Said::To(1, FromGateway::SchemaWanted)]);
    world.say(1, FromClient::Schema(SCHEMA.into()));
    world.answer_all();
    assert_eq!(world.take(), vec![], "the growth is not in the feed yet");
    world.publish();
    assert_eq!(world.take(), vec![Said::To(1, welcome(false))]);
    greet(&mut world, 2, SCHEMA);
    assert_eq!(world.take(), vec![Said::To(2, welcome(false))]);
}

#[test]
fn a_gateway_that_starts_again_reads_the_schema_back() {
    let mut world = World::new();
    world.gateway = Gateway::new(settings_of(Broken::Nothing));
    world.store_comes();
    world.answer_all();
    greet(&mut world, 1, SCHEMA);
    assert_eq!(world.take(), vec![Said::To(1, welcome(false))]);
}

#[test]
fn a_schema_that_grows_while_it_is_read_is_read_whole() {
    let mut world = World::new();
    let first = world.store.log.pop().expect("the schema's commit");
    world.store.resolved = iolite_values::Timestamp::ZERO;
    world.gateway = Gateway::new(settings_of(Broken::Nothing));
    world.store_comes();
    world.store.log.push(first);
    world.publish();
    world.answer_all();
    greet(&mut world, 1, SCHEMA);
    assert_eq!(world.take(), vec![Said::To(1, welcome(false))]);
}

#[test]
fn two_schemas_that_add_at_once_are_both_served() {
    let mut world = World::new();
    let (a, b) = (with_column("a"), with_column("b"));
    for (session, json) in [(1, &a), (2, &b)] {
        greet(&mut world, session, json);
        world.say(session, FromClient::Schema(json.clone()));
    }
    assert_eq!(world.asked.iter().filter(|(_, own)| matches!(own, Request::Commit { .. })).count(), 1);
    world.take();
    world.answer_all();
    world.publish();
    assert_eq!(world.take(), vec![Said::To(1, welcome(false))]);
    world.answer_all();
    world.publish();
    assert_eq!(world.take(), vec![Said::To(2, welcome(false))]);
}

#[test]
fn a_growth_that_another_gateway_was_faster_with_is_tried_again() {
    let mut world = World::new();
    let mut other = Gateway::new(Settings { client: client(77), ..settings_of(Broken::Nothing) });
    let json = with_column("a");
    greet(&mut world, 1, &json);
    world.take();
    let theirs = with_column("b");
    commit_growth(&mut world, &mut other, &theirs);
    world.say(1, FromClient::Schema(json));
    world.answer_all();
    assert_eq!(world.take(), vec![], "a conflict with what the feed has not brought");
    world.publish();
    world.answer_all();
    world.publish();
    assert_eq!(world.take(), vec![Said::To(1, welcome(false))]);
}

/// Another gateway commits a growth of which this one has not heard.
fn commit_growth(world: &mut World, other: &mut Gateway, json: &str) {
    use iolite_machine::Machine;
    let ready = world.store.ready();
    let mut inputs = vec![
        Input::Store(ready),
        Input::SessionOpened(SessionId(1)),
        Input::Message(SessionId(1), FromClient::Hello(Hello { schema: hash(json), ..hello(50) })),
        Input::Message(SessionId(1), FromClient::Schema(json.into())),
    ];
    inputs.reverse();
    while let Some(input) = inputs.pop() {
        other.handle(world.now, input);
        while let Some(output) = other.poll() {
            if let crate::Output::Store(id, request) = output {
                let reply = world.store.answer(request);
                other.handle(world.now, Input::Store(Event::Reply(id, reply)));
            }
        }
    }
}

#[test]
fn a_schema_that_is_too_large_for_the_store_is_an_end_and_others_go_on() {
    let mut world = World::new();
    let json = with_column("a");
    greet(&mut world, 1, &json);
    world.say(1, FromClient::Schema(json));
    world.take();
    let (id, _) = world.asked.pop_front().expect("asked");
    let refusal = Refusal::TransactionTooLarge { bytes_max: 10 };
    world.input(Input::Store(Event::Reply(id, Reply::Refused(refusal))));
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Schema);
    world.join(2);
}

#[test]
fn a_schema_that_contradicts_the_servers_is_an_end_that_names_the_column() {
    let mut world = World::new();
    let json = SCHEMA.replacen(r#"{"type":"counter"}"#, r#"{"type":"set","of":"int"}"#, 1);
    greet(&mut world, 1, &json);
    world.take();
    world.say(1, FromClient::Schema(json));
    let (reason, message) = world.goodbye(1);
    assert_eq!(reason, GoodbyeReason::Schema);
    assert!(message.contains(r#"table "t", column "n""#), "{message}");
}

#[test]
fn a_fixed_schema_does_not_grow() {
    let mut world = World::new();
    world.gateway = Gateway::new(Settings { schemas: SchemaPolicy::Fixed, ..settings_of(Broken::Nothing) });
    world.store_comes();
    world.answer_all();
    greet(&mut world, 1, SCHEMA);
    assert_eq!(world.take(), vec![Said::To(1, welcome(false))]);
    let json = with_column("a");
    greet(&mut world, 2, &json);
    world.take();
    world.say(2, FromClient::Schema(json));
    assert_eq!(world.goodbye(2).0, GoodbyeReason::Schema);
}

#[test]
fn a_gateway_of_several_data_centres_refuses_tables_that_do_not_merge() {
    let mut world = World::with_table(
        MERGING.strip_prefix(r#"{"tables":{"#).and_then(|rest| rest.strip_suffix("}}")).expect("one table"),
    );
    world.gateway = Gateway::new(settings_of(Broken::Nothing)).in_group(CentreName::new("eu").expect("a name"));
    world.store_comes();
    world.answer_all();
    // The store knows this schema from the time when it was alone.
    greet(&mut world, 1, SCHEMA);
    assert_eq!(world.take(), vec![Said::To(1, FromGateway::SchemaWanted)]);
    world.say(1, FromClient::Schema(SCHEMA.into()));
    let (reason, message) = world.goodbye(1);
    assert_eq!(reason, GoodbyeReason::Schema);
    assert!(message.contains(r#"table "t" does not merge"#), "{message}");
    let manual = MERGING.replace(r#""merge""#, r#""manual""#);
    greet(&mut world, 2, &manual);
    world.take();
    world.say(2, FromClient::Schema(manual));
    assert_eq!(world.goodbye(2).0, GoodbyeReason::Schema);
    greet(&mut world, 3, MERGING);
    world.take();
    world.say(3, FromClient::Schema(MERGING.into()));
    assert!(matches!(&world.take()[..], [Said::To(3, FromGateway::Welcome(welcome))] if welcome.centre.is_some()));
}

#[test]
fn a_stored_schema_that_cannot_be_read_serves_nobody_and_says_why() {
    let mut world = World::new();
    let table = iolite_catalog::Catalog::table();
    let cell = iolite_values::Cell::row(table, key(9));
    world.commit(vec![iolite_values::Write { cell, operation: iolite_values::Operation::Create }]);
    world.gateway = Gateway::new(settings_of(Broken::Nothing));
    world.store_comes();
    world.answer_all();
    greet(&mut world, 1, SCHEMA);
    assert!(!world.gateway.is_ready());
    world.wait(crate::limits::GREETING_TIME_MAX);
    let (reason, message) = world.goodbye(1);
    assert_eq!(reason, GoodbyeReason::Unavailable);
    assert!(message.contains("version 9 of the stored schema cannot be read"), "{message}");
}

#[test]
fn a_store_that_is_being_restored_serves_nobody_until_it_is() {
    let mut world = World::new();
    let backup = iolite_values::Id::from_u128(7);
    world.commit(iolite_catalog::begin_restoring(backup));
    world.gateway = Gateway::new(settings_of(Broken::Nothing));
    world.store_comes();
    world.answer_all();
    greet(&mut world, 1, SCHEMA);
    assert!(!world.gateway.is_ready() && world.take().is_empty());
    world.commit(iolite_catalog::end_restoring());
    world.answer_all();
    assert!(world.gateway.is_ready());
    assert!(!world.take().is_empty(), "who waited is greeted");
}

#[test]
fn a_store_with_another_history_ends_open_sessions_and_serves_again() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.say(1, submit(1, vec![add(1, 1)]));
    let stale = world.asked.pop_front().expect("asked");
    world.store_comes();
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Unavailable);
    let reply = world.store.answer(stale.1);
    world.input(Input::Store(Event::Reply(stale.0, reply)));
    world.answer_all();
    greet(&mut world, 2, SCHEMA);
    assert_eq!(world.take(), vec![Said::To(2, welcome(false))]);
}
