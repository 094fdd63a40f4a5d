//! Identities of a client: what its device drew, whom a welcome tells, and what becomes of the queue when that changes.
//! A store of an older version has given its id away, and takes another one.

#[path = "harness/mod.rs"]
mod harness;

use std::collections::BTreeMap;

use harness::tab::{Tab, exchange};
use harness::{Harness, at, config, hits, key};
use iolite_client::{Client, Config, Connection, MutationStatus, Output, View};
use iolite_values::{Cell, CellState, ClientId, ColumnId, Counter, DeviceSecret, Id, Operation, Row, TableId, Value};
use iolite_wire::client_storage::{Bound, StoredMeta};
use iolite_wire::message::{Advance, FromClient, GoodbyeReason, Verdict};

const OLD: ClientId = ClientId(Id::from_u128(77));
const NEXT: ClientId = ClientId(Id::from_u128(78));

type Storage = BTreeMap<Vec<u8>, Vec<u8>>;

fn meta(storage: &Storage) -> (Vec<u8>, StoredMeta) {
    let mut found = storage.iter().filter(|(key, _)| key[0] == b'm');
    let (key, value) = found.next().expect("a client stores what it is");
    (key.clone(), StoredMeta::decode(value).expect("its own"))
}

/// A client with one confirmed mutation, and one that waits if `pending`, as an older version stored it.
fn of_an_older_version(pending: bool) -> Harness {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.connect();
    let first = harness.mutate("hit");
    harness.decide(first, 1, 20, Vec::new(), Verdict::Committed(at(20)));
    if pending {
        harness.disconnect();
        harness.mutate("hit");
    }
    let mut storage = harness.storage.clone();
    let (key, own) = meta(&storage);
    let older = StoredMeta { secret: None, others_know_client: true, ..own };
    storage.insert(key, older.encode().expect("small"));
    let entries: Vec<_> = storage.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut again = Harness::on(storage);
    let config = Config { fresh_client: NEXT, fresh_secret: DeviceSecret([8; 16]), ..config("ann") };
    again.client = Client::open(config, entries, again.now).expect("older storage is read");
    again.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    again
}

fn said_hello_as(harness: &mut Harness) -> Option<ClientId> {
    harness.take_sent().into_iter().find_map(|message| match message {
        FromClient::Hello(hello) => Some(hello.client),
        _ => None,
    })
}

#[test]
fn a_store_of_an_older_version_takes_another_id_when_nothing_depends_on_the_one_that_its_rows_gave_away() {
    let mut harness = of_an_older_version(false);
    harness.link();
    assert_eq!(said_hello_as(&mut harness), Some(OLD), "outcomes are acknowledged under the old id");
    harness.connect();
    harness.pass(std::time::Duration::from_secs(1));
    assert!(harness.other.contains(&Output::Disconnect), "its session ends");
    let (_, stored) = meta(&harness.storage);
    let expected = (NEXT, Some(DeviceSecret([8; 16])), false);
    assert_eq!((stored.device, stored.secret, stored.others_know_client), expected);
    harness.pass(std::time::Duration::ZERO);
    harness.link_is_there();
    assert_eq!(said_hello_as(&mut harness), Some(NEXT));
    let mut reopened = harness.reopened();
    reopened.link();
    assert_eq!(said_hello_as(&mut reopened), Some(NEXT), "once");
}

#[test]
fn what_is_pending_ends_under_the_id_that_it_was_called_under() {
    let mut harness = of_an_older_version(true);
    harness.connect();
    harness.pass(std::time::Duration::from_secs(1));
    let submit = harness.take_submits().remove(0);
    assert_eq!(harness.client.identity(), OLD);
    harness.decide(submit.counter, submit.attempt.0, 30, Vec::new(), Verdict::Committed(at(30)));
    assert_eq!(harness.client.identity(), OLD, "its end is not acknowledged yet");
    harness.pass(std::time::Duration::from_secs(1));
    assert!(harness.take_sent().iter().any(|message| matches!(message, FromClient::Acknowledge(_))));
    assert_eq!(harness.client.identity(), OLD, "the acknowledgement may be lost with the link");
    harness.pass(std::time::Duration::from_secs(20));
    assert_eq!(harness.client.identity(), OLD, "nobody answered");
    assert!(harness.answer_pings() > 0);
    harness.pass(std::time::Duration::ZERO);
    assert_eq!(harness.client.identity(), NEXT);
}

const STORE: u128 = 1;

/// A user, by the number of the subject, and the client that the user has on this device.
fn user(subject: u128) -> Option<Bound> {
    Some(Bound { client: ClientId(Id::from_u128(1000 + subject)), subject: Some(Id::from_u128(subject)) })
}

fn app() -> Harness {
    let mut harness = Harness::new();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.mutator("star", |tx| Ok(tx.write(star(), Operation::Put(Value::Bool(true)))?));
    harness
}

fn star() -> Cell {
    Cell { table: TableId::of("stars"), row: key(1), column: ColumnId::of("on") }
}

fn welcome_as(harness: &mut Harness, user: Option<Bound>) {
    harness.user = user;
    harness.link();
    harness.welcome(STORE);
    let resumed = Advance { to: harness.client.at(), ..Advance::default() };
    harness.advance(resumed);
}

fn quarantined(harness: &Harness, counter: Counter) -> bool {
    matches!(harness.last_status(counter), MutationStatus::Quarantined { .. })
}

#[test]
fn a_device_says_what_it_drew_and_is_who_the_welcome_tells() {
    let mut harness = app();
    harness.mutate("hit");
    assert_eq!(harness.client.identity(), OLD);
    welcome_as(&mut harness, user(1));
    assert_eq!(harness.client.identity(), user(1).expect("a user").client);
    assert_eq!(harness.take_submits().len(), 1);
    let (_, stored) = meta(&harness.storage);
    assert_eq!((stored.device, stored.bound), (OLD, user(1)));
    let mut reopened = harness.reopened();
    assert_eq!(reopened.client.identity(), user(1).expect("a user").client);
    reopened.link();
    assert_eq!(said_hello_as(&mut reopened), Some(OLD));
}

#[test]
fn nothing_is_sent_before_it_is_stored_who_this_is() {
    let mut harness = app();
    harness.mutate("hit");
    harness.holds_back = true;
    harness.user = user(1);
    harness.link();
    harness.welcome(STORE);
    assert_eq!(harness.take_submits().len(), 0);
    harness.take_held_back();
    assert_eq!(harness.take_submits().len(), 1);
}

#[test]
fn another_user_is_refused_and_nothing_is_sent_until_the_same_one_is_back() {
    let mut harness = app();
    welcome_as(&mut harness, user(1));
    harness.disconnect();
    harness.mutate("hit");
    let before = harness.storage.clone();
    for _ in 0..2 {
        harness.take_sent();
        harness.user = user(2);
        harness.link();
        harness.welcome(STORE);
        let sent = harness.take_sent();
        assert!(matches!(sent[..], [FromClient::Hello(_)]), "{sent:?}");
        let refused = harness.connection();
        assert!(matches!(refused, Connection::Refused { reason: GoodbyeReason::OtherUser, .. }), "{refused:?}");
        assert_eq!((harness.client.identity(), &harness.storage), (user(1).expect("a user").client, &before));
        harness.client.set_token(harness.now.instant, "another".into());
    }
    let mut harness = harness.reopened();
    harness.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    harness.user = user(2);
    harness.link();
    harness.welcome(STORE);
    assert!(harness.take_submits().is_empty(), "nor after a restart");
    harness.client.set_token(harness.now.instant, "the first again".into());
    welcome_as(&mut harness, user(1));
    assert_eq!(harness.take_submits().len(), 1);
}

#[test]
fn a_token_that_comes_while_a_hello_says_that_of_somebody_else_is_tried_at_once() {
    let mut harness = app();
    welcome_as(&mut harness, user(1));
    harness.disconnect();
    harness.mutate("hit");
    harness.user = user(2);
    harness.link();
    harness.client.set_token(harness.now.instant, "the first again".into());
    harness.welcome(STORE);
    let connection = harness.connection();
    assert!(!matches!(connection, Connection::Refused { .. }), "{connection:?}");
    assert!(harness.take_submits().is_empty(), "nothing is sent as somebody else");
    welcome_as(&mut harness, user(1));
    assert_eq!(harness.take_submits().len(), 1);
}

#[test]
fn what_was_never_sent_goes_out_under_a_users_id_and_what_may_have_been_is_in_doubt() {
    for (before, now) in [(None, user(1)), (user(1), None)] {
        let mut harness = app();
        welcome_as(&mut harness, before);
        let [done, sent] = [(); 2].map(|()| harness.mutate("hit"));
        harness.take_submits();
        // Committed, and not shown yet.
        harness.decide(done, 1, 20, Vec::new(), Verdict::Committed(at(30)));
        harness.disconnect();
        let unsent = harness.mutate("hit");
        welcome_as(&mut harness, now);
        let submits = harness.take_submits();
        assert_eq!(submits.iter().map(|submit| submit.counter).collect::<Vec<_>>(), [unsent]);
        assert_eq!(*harness.last_status(done), MutationStatus::Confirmed { at: at(30) });
        assert!(quarantined(&harness, sent));
        let kept: Vec<Counter> = harness.client.refused().map(|refused| refused.counter).collect();
        assert_eq!(kept, [sent], "with its payload");
        let reopened = harness.reopened();
        assert!(reopened.client.mutation(sent).is_none() && reopened.client.mutation(done).is_none());
    }
}

#[test]
fn a_change_set_that_was_sent_under_another_id_is_judged_anew() {
    let mut harness = app();
    welcome_as(&mut harness, None);
    harness.react(View::Optimistic, |tx| Ok(tx.row(TableId::of("stars"), &key(1)).map(drop)?));
    let row = Row::from_parts(true, [(ColumnId::of("on"), CellState::Register(Value::Bool(false)))]);
    harness.load(10, &[(TableId::of("stars"), key(1), row)]);
    let call = harness.mutate("star");
    let first = harness.take_submits().remove(0);
    harness.disconnect();
    welcome_as(&mut harness, user(1));
    let again = harness.take_submits();
    assert_eq!(again.len(), 1);
    assert_ne!(again[0].counter, first.counter, "the outcome of the first set is another client's");
    assert!(harness.client.pending().any(|pending| pending.counter == call));
}

#[test]
fn tabs_are_told_who_the_client_is() {
    let mut leader = app();
    let mut tabs = vec![Tab::new(1, leader.now)];
    exchange(&mut leader, &mut tabs);
    assert_eq!(tabs[0].follower.identity(), OLD);
    welcome_as(&mut leader, user(1));
    exchange(&mut leader, &mut tabs);
    assert_eq!(tabs[0].follower.identity(), user(1).expect("a user").client);
    leader.disconnect();
    leader.user = user(2);
    leader.link();
    leader.welcome(STORE);
    exchange(&mut leader, &mut tabs);
    let refused = tabs[0].follower.connection();
    assert!(matches!(refused, Connection::Refused { reason: GoodbyeReason::OtherUser, .. }), "{refused:?}");
}
