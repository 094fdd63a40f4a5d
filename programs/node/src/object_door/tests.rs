//! The door of objects: names, ends of sessions, and revocations.

use iolite_access::{LIFE, TokenSettings, Tokens};
use iolite_objects::{Broken, ServerSettings};
use iolite_values::{CoordinatorId, NodeLife};
use iolite_wire::message::GoodbyeReason;
use iolite_wire::objects::{DeviceHello, OBJECTS_PROTOCOL_VERSION, ToDevice};

use super::*;

const NOW: Now = Now { instant: Instant::from_nanos(1), wall: WallTime::from_micros(1_700_000_000_000_000) };

fn objects(access: Access, operator: &str) -> ObjectServer {
    let settings = ServerSettings {
        gateway: CoordinatorId::default(),
        kernel: Id::from_u128(1),
        classes: Vec::new(),
        has_leases: false,
        managers: Vec::new(),
        broken: Broken::Nothing,
    };
    let door = ObjectDoor::new(access, operator, Some("Secret".to_owned()));
    ObjectServer::new(Server::new(NOW, settings), door)
}

fn of_developers() -> ObjectServer {
    objects(Access::Development(DevelopmentToken::new("token")), "token")
}

fn key() -> AnonymousKey {
    AnonymousKey::from_seed([7; 32])
}

/// With tokens of anonymous users, and one of the operator.
fn of_users() -> ObjectServer {
    let settings = TokenSettings {
        issuer: "sign-in".to_owned(),
        audience: "app".to_owned(),
        claims: BTreeMap::new(),
        life_max: LIFE,
        anonymous: true,
    };
    let tokens = Tokens::new(settings, Vec::new()).expect("settings");
    let mut objects = objects(Access::Tokens(tokens), "operator");
    objects.handle(NOW, ObjectInput::AnonymousKey(key()));
    objects
}

fn token(user: u128, life: u64) -> String {
    key().token(Id::from_u128(user), "app", NOW.wall, Duration::from_secs(life))
}

fn at(seconds: u64) -> Now {
    let wall = WallTime::from_micros(NOW.wall.as_micros() + seconds * 1_000_000);
    Now { instant: NOW.instant + Duration::from_secs(seconds), wall }
}

fn hello(session: u64, token: &str) -> DeviceHello {
    DeviceHello {
        oldest_version: OBJECTS_PROTOCOL_VERSION,
        newest_version: OBJECTS_PROTOCOL_VERSION,
        token: token.to_owned(),
        device: Id::from_u128(session.into()),
        life: NodeLife(0),
        serves: false,
        classes: Vec::new(),
        connection: 1,
    }
}

fn say_hello(objects: &mut ObjectServer, session: u64, hello: DeviceHello) {
    for event in [SessionEvent::Opened, SessionEvent::Message(FromDevice::Hello(hello))] {
        objects.handle(NOW, ObjectInput::Server(ServerInput::Session(SessionId(session), event)));
    }
}

fn come(objects: &mut ObjectServer, session: u64, token: &str) {
    say_hello(objects, session, hello(session, token));
}

/// The sessions that were sent away, with the words for them.
fn gone(objects: &mut ObjectServer) -> Vec<(u64, String)> {
    let said = std::iter::from_fn(|| objects.poll()).filter_map(|output| match output {
        ObjectOutput::Server(ServerOutput::Send(SessionId(session), ToDevice::Goodbye(goodbye))) => {
            assert_eq!(goodbye.reason, GoodbyeReason::Unauthorized);
            Some((session, goodbye.message))
        }
        _other => None,
    });
    said.collect()
}

fn is_somebody(objects: &ObjectServer, session: u64) -> bool {
    objects.door.guests.contains_key(&SessionId(session))
}

#[test]
fn who_says_no_hello_in_time_is_sent_away_and_who_was_let_in_stays() {
    let mut objects = of_developers();
    let opened = ServerInput::Session(SessionId(1), SessionEvent::Opened);
    objects.handle(NOW, ObjectInput::Server(opened));
    come(&mut objects, 2, "token");
    assert_eq!(gone(&mut objects), []);
    objects.on_deadline(at(9));
    assert_eq!(gone(&mut objects), []);
    assert!(objects.deadline().is_some_and(|deadline| deadline <= at(10).instant));
    objects.on_deadline(at(10));
    assert_eq!(gone(&mut objects), [(1, LATE.to_owned())]);
    assert!(is_somebody(&objects, 2));
}

fn revoke(objects: &mut ObjectServer, token: &str, seconds: u64) {
    let identity = objects.door.identify(NOW, token).expect("a good token");
    let subject = identity.user().expect("a user").subject.digest();
    objects.handle(at(seconds), ObjectInput::Revoked(RevokedTokens { subject, not_before: at(seconds).wall }));
}

#[test]
fn a_session_is_somebody_while_it_is_open_and_lets_the_denied_class_alone() {
    let mut objects = of_developers();
    come(&mut objects, 1, "token");
    come(&mut objects, 2, "wrong");
    let may = |objects: &ObjectServer, session, class| {
        let object = ObjectName::new(class, "a").expect("a short name");
        objects.door.may(SessionId(session), &object) == Ok(true)
    };
    assert!(may(&objects, 1, "Note") && !may(&objects, 1, "Secret") && !may(&objects, 2, "Note"));
    let said: Vec<_> = std::iter::from_fn(|| objects.poll()).collect();
    assert!(matches!(
        &said[..],
        [
            ObjectOutput::Server(ServerOutput::Send(SessionId(2), ToDevice::Goodbye(_))),
            ObjectOutput::Server(ServerOutput::Close(_))
        ]
    ));
    for session in [1, 2] {
        objects.handle(NOW, ObjectInput::Server(ServerInput::Session(SessionId(session), SessionEvent::Closed)));
    }
    assert!(!may(&objects, 1, "Note"), "it has closed");
    assert_eq!(objects.door.guests.len(), 0);
}

#[test]
fn the_name_of_a_device_belongs_to_its_user_and_callers_are_called_by_their_subjects() {
    let mut door = of_developers().door;
    let drawn = Id::from_u128(5);
    let mut let_in = |token: &str| door.check(NOW, SessionId(1), drawn, token).expect("at once").expect("a token");
    let (ann, bob) = (let_in(r#"token as {"sub":"ann"}"#), let_in(r#"token as {"sub":"bob"}"#));
    assert_eq!((&*ann.caller, ann.may_serve, ann.ends), ("ann", false, None));
    let developer = let_in("token");
    assert_eq!((&*developer.caller, developer.may_serve, developer.device), ("developer", true, drawn));
    assert!(ann.device != bob.device && ann.device != drawn && bob.device != drawn);
    let taken = door.check(NOW, SessionId(1), drawn, r#"token as {"sub":"server"}"#).expect("at once");
    assert!(taken.expect_err("a name of Iolite's").contains("another `sub`"));
}

#[test]
fn users_are_let_in_once_it_is_known_whose_tokens_are_revoked() {
    let mut objects = of_users();
    come(&mut objects, 1, &token(1, 900));
    come(&mut objects, 2, &token(2, 900));
    come(&mut objects, 3, "operator");
    assert!(!is_somebody(&objects, 1) && is_somebody(&objects, 3), "the operator is let in at once");
    revoke(&mut objects, &token(2, 900), 1);
    objects.handle(NOW, ObjectInput::RevokedKnown);
    assert!(is_somebody(&objects, 1) && !is_somebody(&objects, 2));
    assert_eq!(gone(&mut objects), [(2, AccessError::Revoked.to_string())]);
    assert_eq!(objects.door.waiting.len(), 0);
}

#[test]
fn a_session_ends_with_its_token_unless_it_gets_another_one_of_its_user() {
    let mut objects = of_users();
    objects.handle(NOW, ObjectInput::RevokedKnown);
    come(&mut objects, 1, &token(1, 100));
    come(&mut objects, 2, &token(2, 100));
    // Their times are counted by clocks that may be a minute apart.
    assert_eq!(objects.deadline(), Some(at(160).instant));
    assert_eq!(objects.door.renew(NOW, SessionId(1), &token(1, 200)), Ok(Some(at(200).wall)));
    assert_eq!(objects.door.renew(NOW, SessionId(2), &token(1, 200)), Err(AccessError::OtherUser.to_string()));
    assert_eq!(objects.door.renew(NOW, SessionId(3), &token(1, 200)), Err(AccessError::OtherUser.to_string()));
    objects.on_deadline(at(160));
    assert_eq!(gone(&mut objects), [(2, AccessError::Expired.to_string())]);
    assert!(is_somebody(&objects, 1) && !is_somebody(&objects, 2));
    assert_eq!(objects.deadline(), Some(at(260).instant));
}

#[test]
fn sessions_of_revoked_tokens_end_at_once_and_newer_tokens_are_let_in() {
    let mut objects = of_users();
    objects.handle(NOW, ObjectInput::RevokedKnown);
    for (session, user) in [(1, 1), (2, 2)] {
        come(&mut objects, session, &token(user, 900));
    }
    revoke(&mut objects, &token(1, 900), 1);
    assert_eq!(gone(&mut objects), [(1, AccessError::Revoked.to_string())]);
    assert!(is_somebody(&objects, 2));
    assert!(objects.door.identify(at(9), &token(1, 900)).is_err());
    let newer = key().token(Id::from_u128(1), "app", at(2).wall, Duration::from_secs(900));
    assert!(objects.door.identify(at(9), &newer).is_ok());
}

#[test]
fn a_user_is_no_part_of_the_service_and_the_operator_is() {
    let mut objects = of_users();
    objects.handle(NOW, ObjectInput::RevokedKnown);
    for (session, token) in [(1, token(1, 900)), (2, "operator".to_owned())] {
        let hello = DeviceHello { serves: true, ..hello(session, &token) };
        say_hello(&mut objects, session, hello);
    }
    let gone = gone(&mut objects);
    assert!(matches!(&gone[..], [(1, word)] if word.contains("the operator's token")), "{gone:?}");
}

/// The questions for the gateway, and those that are forgotten.
fn asked(objects: &mut ObjectServer) -> (Vec<RightId>, Vec<RightId>) {
    let (mut asked, mut forgotten) = (Vec::new(), Vec::new());
    for output in std::iter::from_fn(|| objects.poll()) {
        match output {
            ObjectOutput::Gateway(Input::AskRight(id, ask)) => {
                assert_eq!((ask.right, ask.method.as_deref()), (iolite_rights::Right::Call, Some("read")));
                asked.push(id);
            }
            ObjectOutput::Gateway(Input::ForgetRight(id)) => forgotten.push(id),
            _other => {}
        }
    }
    (asked, forgotten)
}

#[test]
fn the_gateway_is_asked_once_for_a_call_of_a_user_and_again_when_its_yes_is_withdrawn() {
    let mut objects = of_users();
    objects.handle(NOW, ObjectInput::RevokedKnown);
    come(&mut objects, 1, &token(1, 60));
    let call = |objects: &mut ObjectServer, waits: u64| {
        let object = ObjectName::new("Note", "a").expect("a short name");
        objects.ask_right(NOW, MayId(waits), SessionId(1), object, Right::Call { method: "read".to_owned() });
        asked(objects)
    };
    let (first, _) = call(&mut objects, 1);
    assert_eq!(call(&mut objects, 9), (Vec::new(), Vec::new()), "the same is asked already");
    let waits = objects.door.asks.clone_of_waiting(first[0]);
    assert_eq!(waits, [MayId(1), MayId(9)], "both hear the answer");
    objects.handle(NOW, ObjectInput::May(first[0], true));
    objects.handle(NOW, ObjectInput::Withdrawn(first[0]));
    let (again, forgotten) = call(&mut objects, 2);
    assert_eq!((again.len(), forgotten.len()), (1, 0), "the gateway has forgotten it itself");
    objects.handle(NOW, ObjectInput::May(again[0], true));
    // The server keeps so many of a session, and asks about one again that it does not keep any more.
    let (third, forgotten) = call(&mut objects, 3);
    assert_eq!((third.len(), forgotten), (1, again));
    let closed = ServerInput::Session(SessionId(1), SessionEvent::Closed);
    objects.handle(NOW, ObjectInput::Server(closed));
    assert_eq!(asked(&mut objects), (Vec::new(), third));
}
