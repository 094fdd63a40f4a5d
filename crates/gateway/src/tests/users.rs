//! Users with tokens: their ids, tokens that run out or are exchanged, and tokens that are revoked.

use std::time::Duration;

use iolite_access::{
    ANONYMOUS_ISSUER, Access, AccessRows, AnonymousKey, Key, LEEWAY, Subject, TokenSettings, Tokens, UserDevice,
};
use iolite_machine::WallTime;
use iolite_values::{Id, Timestamp};
use iolite_wire::message::{FromClient, FromGateway, GoodbyeReason, Hello, Welcome};

use super::world::*;
use crate::{AccessNews, Broken, Input, RevocationId, RevokedTokens, SessionId};

const START: WallTime = WallTime::from_micros(1_790_000_000_000_000);
const HOUR: Duration = Duration::from_secs(3600);
const AUDIENCE: &str = "rooms";
const ANN: Id = Id::from_u128(1);
const BOB: Id = Id::from_u128(2);

/// A gateway that lets anonymous users in, whose key it has made. Its schema is that of all tests.
fn world() -> World {
    world_of(|tokens| tokens)
}

fn world_of(more: impl FnOnce(Tokens) -> Tokens) -> World {
    let settings = TokenSettings {
        issuer: "https://sign-in.example".into(),
        audience: AUDIENCE.into(),
        claims: Default::default(),
        life_max: HOUR * 24,
        anonymous: true,
    };
    let access = Access::Tokens(more(Tokens::new(settings, Vec::new()).expect("good settings")));
    let mut world = World::with(crate::Settings { access, ..settings_of(Broken::Nothing) });
    world.now.wall = START;
    world.store_comes();
    world.answer_all();
    world.publish();
    // The rows of `_access` are read again after the schema's, and the key is made.
    for _ in 0..3 {
        world.answer_all();
        world.publish();
    }
    world.open(999);
    world.say(999, as_user(&token(&world, ANN, HOUR), 999));
    world.say(999, FromClient::Schema(SCHEMA.into()));
    world.answer_all();
    world.publish();
    world.input(Input::SessionClosed(SessionId(999)));
    world.take();
    world
}

fn token(world: &World, user: Id, life: Duration) -> String {
    AnonymousKey::from_seed([7; 32]).token(user, AUDIENCE, world.now.wall, life)
}

fn as_user(token: &str, device: u64) -> FromClient {
    FromClient::Hello(Hello { token: token.into(), ..hello(device) })
}

fn subject(user: Id) -> Id {
    Subject { issuer: ANONYMOUS_ISSUER.into(), name: user.to_string() }.digest()
}

/// Opens a session of a user on a device. Returns its welcome.
fn come(world: &mut World, session: u64, user: Id, device: u64) -> Welcome {
    let token = token(world, user, HOUR);
    world.open(session);
    world.say(session, as_user(&token, device));
    let said = world.take();
    let welcome = said.iter().find_map(|said| match said {
        Said::To(to, FromGateway::Welcome(welcome)) if *to == session => Some(welcome.clone()),
        Said::To(..) | Said::Closed(_) => None,
    });
    welcome.unwrap_or_else(|| panic!("not welcomed: {said:?}"))
}

#[test]
fn who_knows_a_device_id_of_somebody_else_gets_another_client() {
    let mut world = world();
    let ann = come(&mut world, 1, ANN, 5);
    let bob = come(&mut world, 2, BOB, 5);
    assert_eq!((ann.subject, bob.subject), (Some(subject(ANN)), Some(subject(BOB))));
    assert!(ann.client != bob.client && ann.client != client(5) && bob.client != client(5));
    world.say(1, FromClient::Ping(1));
    assert_eq!(world.take(), vec![Said::To(1, FromGateway::Pong(1))], "her session goes on");
    let again = come(&mut world, 3, ANN, 5);
    assert_eq!(again.client, ann.client, "the same on her own device");
}

#[test]
fn a_session_ends_with_its_token_and_goes_on_with_another_one_of_the_same_user() {
    let mut world = world();
    let welcome = come(&mut world, 1, ANN, 1);
    assert_eq!(welcome.token_left, Some(HOUR));
    wait(&mut world, 1, HOUR / 2);
    let newer = token(&world, ANN, HOUR);
    world.say(1, FromClient::Token(newer));
    assert_eq!(world.take(), vec![Said::To(1, FromGateway::Renewed(HOUR))]);
    wait(&mut world, 1, HOUR);
    world.say(1, FromClient::Ping(2));
    assert_eq!(world.take(), vec![Said::To(1, FromGateway::Pong(2))], "the clocks may be {LEEWAY:?} apart");
    world.wait(LEEWAY);
    let (reason, message) = world.goodbye(1);
    assert_eq!(reason, GoodbyeReason::Unauthorized);
    assert!(message.contains("has run out"), "{message}");
}

/// Waits, and pings meanwhile.
fn wait(world: &mut World, session: u64, time: Duration) {
    for _ in 0..time.as_secs() / 60 {
        let wall = world.now.wall.as_micros() + 60_000_000;
        world.wait(Duration::from_secs(60));
        world.now.wall = WallTime::from_micros(wall);
        world.say(session, FromClient::Ping(0));
    }
    world.take();
}

#[test]
fn a_token_of_somebody_else_or_a_bad_one_ends_the_session() {
    let mut world = world();
    let others = [
        (1, token(&world, BOB, HOUR), GoodbyeReason::OtherUser, "another user"),
        (2, "a.b".into(), GoodbyeReason::Unauthorized, "JSON web token"),
    ];
    for (session, other, reason, told) in others {
        come(&mut world, session, ANN, session);
        world.say(session, FromClient::Token(other));
        let (own, message) = world.goodbye(session);
        assert!(own == reason && message.contains(told), "{message}");
    }
}

#[test]
fn a_session_takes_so_many_tokens_a_minute() {
    let mut world = world();
    come(&mut world, 1, ANN, 1);
    let again = token(&world, ANN, HOUR);
    for _ in 0..crate::limits::RENEWALS_MAX {
        world.say(1, FromClient::Token(again.clone()));
    }
    assert!(world.take().iter().all(|said| matches!(said, Said::To(1, FromGateway::Renewed(_)))));
    world.say(1, FromClient::Token(again));
    assert_eq!(world.goodbye(1).0, GoodbyeReason::Limit);
}

#[test]
fn revoked_tokens_end_their_sessions_and_only_newer_ones_are_let_in() {
    let mut world = world();
    come(&mut world, 1, ANN, 1);
    come(&mut world, 2, BOB, 2);
    let older = token(&world, ANN, HOUR);
    world.now.wall = WallTime::from_micros(START.as_micros() + 2_000_000);
    world.access.clear();
    let revoked = RevokedTokens { subject: subject(ANN), not_before: world.now.wall };
    world.input(Input::Revoke(RevocationId(4), revoked));
    assert_eq!((world.take(), world.access.len()), (vec![], 0), "the store decides");
    world.answer_all();
    assert_eq!(world.access, [AccessNews::Answered(RevocationId(4), Ok(()))]);
    world.access.clear();
    world.publish();
    assert_eq!(world.access, [AccessNews::Revoked(revoked)]);
    let (reason, message) = world.goodbye(1);
    assert_eq!(reason, GoodbyeReason::Unauthorized);
    assert!(message.contains("revoked"), "{message}");
    world.say(2, FromClient::Ping(1));
    assert_eq!(world.take(), vec![Said::To(2, FromGateway::Pong(1))], "the other one goes on");
    world.open(3);
    world.say(3, as_user(&older, 3));
    assert!(world.goodbye(3).1.contains("revoked"));
    come(&mut world, 4, ANN, 4);
    world.say(4, FromClient::Token(older));
    assert!(world.goodbye(4).1.contains("revoked"), "nor is it taken by a session");
}

#[test]
fn nobody_is_let_in_before_it_is_known_whose_tokens_are_revoked() {
    let mut world = world();
    world.store_comes();
    world.open(1);
    let token = token(&world, ANN, HOUR);
    world.say(1, as_user(&token, 1));
    world.answer(0);
    assert_eq!(world.take(), vec![], "the schemas are read");
    let is_of_access = |(_, request): &(_, iolite_store::Request)| match request {
        iolite_store::Request::ReadAt { interest, .. } => *interest == AccessRows::interest(),
        _ => false,
    };
    assert_eq!(world.asked.iter().filter(|asked| is_of_access(asked)).count(), 1);
    world.answer_all();
    assert!(matches!(&world.take()[..], [Said::To(1, FromGateway::Welcome(_))]));
}

#[test]
fn a_key_of_anonymous_users_is_made_once() {
    let mut world = world();
    let told = [AccessNews::Known, AccessNews::AnonymousKey(AnonymousKey::from_seed([7; 32]))];
    assert_eq!(world.access, told);
    world.access.clear();
    world.store_comes();
    world.answer_all();
    world.access.sort_by_key(|news| !matches!(news, AccessNews::Known));
    assert_eq!((world.access.as_slice(), world.asked.len()), (&told[..], 0), "it is read");
}

#[test]
fn a_token_of_an_unknown_key_has_the_keys_fetched_and_is_judged_by_them_then() {
    let mut world = world();
    world.access.clear();
    // The public half of a key that the gateway has not made.
    let public = 0xfd17_2438_5aa0_c75b_64fb_78cd_602f_a1d9_u128.to_be_bytes();
    let rest = 0x91fd_ebf7_6b13_c58e_d702_eac8_35e9_f618_u128.to_be_bytes();
    let token = AnonymousKey::from_seed([9; 32]).token(ANN, AUDIENCE, START, HOUR);
    let told = |world: &mut World, session| {
        world.open(session);
        world.say(session, as_user(&token, 1));
        world.goodbye(session).1
    };
    assert!(told(&mut world, 1).contains("no key of this server has the `kid`"));
    assert_eq!(world.access, [AccessNews::UnknownKey]);
    let key = Key::ed25519(None, &[public, rest].concat()).expect("32 bytes");
    world.input(Input::Keys(vec![key]));
    // The key is good now. It is the issuer's, who names no anonymous users.
    assert!(told(&mut world, 2).contains("of another issuer"));
    world.input(Input::Keys(Vec::new()));
    assert!(told(&mut world, 3).contains("no key of this server has the `kid`"));
}

#[test]
fn who_has_a_token_of_a_key_that_may_still_come_is_told_to_come_back() {
    let mut world = world_of(Tokens::with_address);
    let token = AnonymousKey::from_seed([9; 32]).token(ANN, AUDIENCE, START, HOUR);
    let mut session = 0;
    let mut told = |world: &mut World| {
        session += 1;
        world.open(session);
        world.say(session, as_user(&token, 1));
        world.goodbye(session).0
    };
    assert_eq!(told(&mut world), GoodbyeReason::Unavailable, "the keys have never come");
    world.input(Input::Keys(Vec::new()));
    assert_eq!(told(&mut world), GoodbyeReason::Unavailable, "they are fetched for it");
    world.input(Input::Keys(Vec::new()));
    assert_eq!(told(&mut world), GoodbyeReason::Unauthorized, "nobody has it");
    world.wait(Duration::from_secs(140));
    assert_eq!(told(&mut world), GoodbyeReason::Unavailable, "a while later they are fetched again");
    world.wait(Duration::from_secs(70));
    assert_eq!(told(&mut world), GoodbyeReason::Unauthorized, "they could not be fetched");
    world.store_comes();
    assert_eq!(told(&mut world), GoodbyeReason::Unavailable, "those of anonymous users are read");
}

#[test]
fn a_gateway_with_one_token_for_all_says_that_there_are_no_users() {
    let mut world = World::new();
    let revoked = RevokedTokens { subject: subject(ANN), not_before: START };
    world.input(Input::Revoke(RevocationId(1), revoked));
    let [AccessNews::Answered(RevocationId(1), Err(problem))] = &world.access[..] else { panic!("{:?}", world.access) };
    assert!(problem.contains("there are no users"), "{problem}");
}

/// Submits a mutation, and has the store and the feed go on. None: it has committed. Else why the session has ended.
fn outcome_of_writing(world: &mut World, session: u64) -> Option<(GoodbyeReason, String)> {
    world.take();
    let counter = world.store.log.len() as u64;
    world.say(session, submit(counter, vec![add(1, 1)]));
    for _ in 0..3 {
        world.answer_all();
        world.publish();
    }
    let mut told = world.take();
    told.retain(|said| !matches!(said, Said::To(to, _) if *to != session));
    match &told[..] {
        [Said::To(_, FromGateway::Goodbye(goodbye)), Said::Closed(_)] => {
            Some((goodbye.reason, goodbye.message.clone()))
        }
        _ => {
            assert_eq!(counters_told(session, &told), [counter]);
            None
        }
    }
}

fn rows_of_access(world: &World) -> usize {
    let writes = world.store.log.iter().flat_map(|commit| commit.writes.iter());
    writes.filter(|write| write.cell.table == AccessRows::table()).count()
}

#[test]
fn a_device_belongs_to_the_first_user_who_writes_from_it_and_who_looks_on_leaves_nothing() {
    let mut world = world();
    let before = rows_of_access(&world);
    come(&mut world, 1, ANN, 5);
    come(&mut world, 2, BOB, 5);
    world.subscribe(2, vec![(1, one_cell(1))]);
    world.answer_all();
    assert_eq!(rows_of_access(&world), before);
    assert_eq!(outcome_of_writing(&mut world, 1), None);
    let after = rows_of_access(&world);
    assert!(after > before);
    let (reason, problem) = outcome_of_writing(&mut world, 2).expect("it is hers");
    assert!(reason == GoodbyeReason::OtherUser && problem.contains("first used by another user"), "{problem}");
    let commits = world.store.log.iter().filter(|commit| commit.writes.contains(&add(1, 1))).count();
    assert_eq!((commits, rows_of_access(&world)), (1, after), "nothing of his is committed");
    come(&mut world, 3, ANN, 5);
    assert_eq!(outcome_of_writing(&mut world, 3), None, "she goes on");
    assert_eq!(rows_of_access(&world), after, "once a day");
    come(&mut world, 4, BOB, 6);
    assert_eq!(outcome_of_writing(&mut world, 4), None, "and he does on a device of his own");
}

#[test]
fn who_writes_from_too_many_devices_is_told_what_to_do() {
    let mut world = world();
    for device in 1..=32 {
        come(&mut world, device, ANN, device);
        assert_eq!(outcome_of_writing(&mut world, device), None);
    }
    come(&mut world, 33, ANN, 33);
    let (reason, problem) = outcome_of_writing(&mut world, 33).expect("one too many");
    assert!(reason == GoodbyeReason::Unauthorized && problem.contains("from 32 devices today"));
    come(&mut world, 34, ANN, 33);
    world.now.wall = WallTime::from_micros(START.as_micros() + 24 * HOUR.as_micros() as u64);
    assert_eq!(outcome_of_writing(&mut world, 34), None, "one that was away makes room");
}

#[test]
fn two_devices_of_a_user_that_write_at_once_are_both_kept_and_one_that_goes_disturbs_nobody() {
    let mut world = world();
    for device in 1..=3 {
        come(&mut world, device, ANN, device);
        world.say(device, submit(1, vec![add(1, 1)]));
    }
    world.take();
    for _ in 0..6 {
        world.answer(0);
    }
    world.input(Input::SessionClosed(SessionId(3)));
    for _ in 0..3 {
        world.answer_all();
        world.publish();
    }
    let told = world.take();
    assert_eq!((counters_told(1, &told), counters_told(2, &told)), (vec![1], vec![1]));
    come(&mut world, 4, ANN, 3);
    assert_eq!(outcome_of_writing(&mut world, 4), None);
    let devices = |device: u64| UserDevice::new(client(device).0, subject(ANN)).interests();
    let is_there = |device: u64| !world.store.rows(&devices(device)[0], Timestamp::MAX).is_empty();
    assert!((1..=3).all(is_there));
}
