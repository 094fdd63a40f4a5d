//! From hello to welcome.

use std::time::Duration;

use iolite_store::Request;
use iolite_values::{Counter, Id, StoreIncarnation, Timestamp};
use iolite_wire::message::{FromClient, FromGateway, GoodbyeReason, Hello, ProtocolVersion, Resume};

use super::fake_store::STORE;
use super::world::*;
use crate::{Broken, Input, SessionId};

fn resume(store: StoreIncarnation, at: u64) -> Option<Resume> {
    Some(Resume { store, at: Timestamp::from_u64(at), rights: None })
}

#[test]
fn a_known_client_is_welcomed_at_once() {
    let mut world = World::new();
    world.open(1);
    world.say(1, FromClient::Hello(hello(1)));
    assert_eq!(world.take(), vec![Said::To(1, welcome(false))]);
    assert!(world.asked.is_empty());
}

#[test]
fn sessions_wait_for_a_store_that_starts() {
    let mut world = World::starting(Broken::Nothing);
    world.open(1);
    let schema = iolite_values::Schema::default().hash();
    world.say(1, FromClient::Hello(Hello { schema, ..hello(1) }));
    assert_eq!((world.take(), world.gateway.is_ready()), (vec![], false));
    world.store_comes();
    assert_eq!(world.take(), vec![]);
    world.answer_all();
    assert_eq!((world.take(), world.gateway.is_ready()), (vec![Said::To(1, welcome(false))], true));
}

#[test]
fn a_store_that_does_not_come_is_an_end_with_advice_to_come_back() {
    let mut world = World::starting(Broken::Nothing);
    world.open(1);
    world.say(1, FromClient::Hello(hello(1)));
    world.wait(Duration::from_secs(10));
    assert_eq!(world.goodbye(1), (GoodbyeReason::Unavailable, "the store is not there yet".into()));
}

#[test]
fn a_version_that_is_not_spoken_is_an_end() {
    let mut world = World::new();
    world.open(1);
    let (oldest_version, newest_version) =
        (ProtocolVersion(ProtocolVersion::CURRENT.0 + 1), ProtocolVersion(ProtocolVersion::CURRENT.0 + 2));
    world.say(1, FromClient::Hello(Hello { oldest_version, newest_version, ..hello(1) }));
    let (reason, message) = world.goodbye(1);
    assert_eq!(reason, GoodbyeReason::Version);
    assert!(message.ends_with("update the server"), "{message}");
}

#[test]
fn a_newer_client_that_speaks_the_old_version_is_welcomed_in_it() {
    let mut world = World::new();
    world.open(1);
    world.say(1, FromClient::Hello(Hello { newest_version: ProtocolVersion(9), ..hello(1) }));
    assert_eq!(world.take(), vec![Said::To(1, welcome(false))]);
}

#[test]
fn a_wrong_token_is_an_end_that_says_what_to_do() {
    let mut world = World::new();
    for (session, token) in [(1, ""), (2, "let me out")] {
        world.open(session);
        world.say(session, FromClient::Hello(Hello { token: token.into(), ..hello(1) }));
        let (reason, message) = world.goodbye(session);
        assert_eq!(reason, GoodbyeReason::Unauthorized);
        assert!(message.contains("pass the development token"), "{message}");
    }
}

#[test]
fn a_second_session_of_a_client_takes_over() {
    let mut world = World::new();
    world.join_and_watch(1);
    world.open(2);
    world.say(2, FromClient::Hello(hello(1)));
    let said = world.take();
    assert!(
        matches!(&said[..], [Said::To(1, FromGateway::Goodbye(goodbye)), Said::Closed(1), Said::To(2, FromGateway::Welcome(_))]
            if goodbye.reason == GoodbyeReason::Replaced && goodbye.retry_after.is_none()),
        "{said:?}"
    );
    world.input(Input::SessionClosed(SessionId(1)));
    assert_eq!(world.gateway.sessions(), 1, "the first one's closing does not touch the second");
}

#[test]
fn a_resume_token_is_good_in_its_own_history_only() {
    let mut world = World::new();
    let at = world.position().as_u64();
    for (session, resume, resumed) in [
        (1, resume(STORE, at), true),
        (2, resume(STORE, 0), true),
        (3, resume(StoreIncarnation(Id::from_u128(7)), at), false),
    ] {
        world.open(session);
        world.say(session, FromClient::Hello(Hello { resume, ..hello(session) }));
        assert_eq!(world.take(), vec![Said::To(session, welcome(resumed))]);
    }
}

#[test]
fn a_client_that_has_seen_more_waits_until_the_feed_is_there() {
    let mut world = World::new();
    let ahead = world.position().as_u64() + 5;
    world.open(1);
    world.say(1, FromClient::Hello(Hello { resume: resume(STORE, ahead), ..hello(1) }));
    assert_eq!(world.take(), vec![]);
    world.commit(vec![add(1, 1)]);
    assert_eq!(world.take(), vec![Said::To(1, welcome(true))]);
}

#[test]
fn a_client_from_a_far_future_is_sent_away_and_disturbs_nobody() {
    let mut world = World::new();
    world.open(1);
    world.say(1, FromClient::Hello(Hello { resume: resume(STORE, u64::MAX), ..hello(1) }));
    world.join(2);
    world.wait(Duration::from_secs(9));
    world.take();
    world.wait(Duration::from_secs(1));
    let (reason, message) = world.goodbye(1);
    assert_eq!(reason, GoodbyeReason::Unavailable);
    assert!(message.contains("not yet as far"), "{message}");
    assert_eq!(world.gateway.sessions(), 1);
}

#[test]
fn what_the_hello_acknowledges_is_forgotten_by_the_store() {
    assert_eq!(forgotten_at_hello(6, 4), [Request::Acknowledge { client: client(1), through: Counter(4) }]);
}

/// Honest clients name counters that they have not sent. Others would have all that somebody does later refused as forgotten.
#[test]
fn no_more_is_forgotten_than_the_store_knows_outcomes_of() {
    assert_eq!(forgotten_at_hello(2, 1 << 60), [Request::Acknowledge { client: client(1), through: Counter(2) }]);
    assert_eq!(forgotten_at_hello(0, 1 << 60), []);
}

/// Else these outcomes would stay in the store for ever, when it is the client's last session.
#[test]
fn the_store_is_asked_again_for_the_last_outcome_that_it_could_not_tell() {
    let mut world = World::new();
    world.store.complete(client(1), 3);
    world.store.low_watermark = Timestamp::from_u64(1_000_000);
    world.open(1);
    world.say(1, FromClient::Hello(Hello { acknowledged: Counter(2), ..hello(1) }));
    assert_eq!(world.asked.iter().map(|(_, request)| request.clone()).collect::<Vec<_>>(), []);
    world.store.low_watermark = Timestamp::ZERO;
    world.say(1, FromClient::Acknowledge(Counter(3)));
    let asked: Vec<_> = world.asked.iter().map(|(_, request)| request.clone()).collect();
    assert_eq!(asked, [Request::Acknowledge { client: client(1), through: Counter(3) }]);
}

/// Requests to a store that has outcomes through a counter, of a hello that acknowledges through another.
fn forgotten_at_hello(known: u64, said: u64) -> Vec<Request> {
    let mut world = World::new();
    world.store.complete(client(1), known);
    world.open(1);
    world.say(1, FromClient::Hello(Hello { acknowledged: Counter(said), ..hello(1) }));
    world.asked.iter().map(|(_, request)| request.clone()).collect()
}
