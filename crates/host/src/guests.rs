//! Tokens for users without a name: `POST /token/anonymous`, from programs, and from the pages that may connect.
//!
//! Invariant: an address gets a few a minute, and the memory that this takes is bounded. Past the bound nobody new gets one for a minute.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use crate::connections::Peer;
use crate::origin::{Origins, is_foreign};

/// Where tokens are given.
pub(crate) const PATH: &str = "/token/anonymous";

/// Tokens that an address gets in a [`MINUTE`].
pub const GUESTS_MAX: usize = 10;

/// Addresses that are counted at a time.
pub const GUEST_ADDRESSES_MAX: usize = 10_000;

const MINUTE: Duration = Duration::from_secs(60);

/// Gives tokens. The host knows nothing about them.
pub trait Guests: Send + Sync + 'static {
    /// The answer to somebody who has this token of an anonymous user, or none.
    fn issue(&self, before: Option<&str>) -> Issued;
}

/// The answer to somebody who asks for a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Issued {
    /// The token, in JSON.
    Token(String),
    /// None until the store is there.
    NotYet,
    /// The token that they have is of no use, for people.
    Refused(&'static str),
}

/// The route, with what it counts.
pub(crate) struct GuestRoute {
    guests: Arc<dyn Guests>,
    origins: Origins,
    given: Mutex<Given>,
}

/// When each address was given tokens, in the last minute.
#[derive(Debug, Default)]
struct Given(BTreeMap<IpAddr, VecDeque<Instant>>);

impl GuestRoute {
    pub fn new(guests: Arc<dyn Guests>, origins: Origins) -> GuestRoute {
        GuestRoute { guests, origins, given: Mutex::default() }
    }

    pub fn answer(&self, peer: Peer, method: &Method, headers: &HeaderMap) -> Response {
        if is_foreign(headers) && !self.origins.hold(headers) {
            tracing::info!(origin = ?headers.get(header::ORIGIN), "a page of another site was given no token: if it is yours, name it in the gateway's `origins`");
            return refused(
                StatusCode::FORBIDDEN,
                "a page of another site is given no token: its origin is not among the gateway's `origins`",
            );
        }
        let answer = match *method {
            Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
            Method::POST => self.give(peer, headers),
            _ => refused(StatusCode::METHOD_NOT_ALLOWED, "ask for a token by POST"),
        };
        with_origin(answer, headers)
    }

    fn give(&self, peer: Peer, headers: &HeaderMap) -> Response {
        let wait = self.given.lock().unwrap_or_else(PoisonError::into_inner).take_turn(peer.0, Instant::now());
        if let Err(wait) = wait {
            let seconds = HeaderValue::from(wait.as_secs() + 1);
            let why = "this address has been given many tokens for now: keep the token that you have, and ask again in a minute";
            return ([(header::RETRY_AFTER, seconds)], refused(StatusCode::TOO_MANY_REQUESTS, why)).into_response();
        }
        let before = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        match self.guests.issue(before.map(|value| value.strip_prefix("Bearer ").unwrap_or(value))) {
            Issued::Token(json) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
            Issued::Refused(why) => refused(StatusCode::UNAUTHORIZED, why),
            Issued::NotYet => {
                let why = "the server is starting: ask again in a moment";
                ([(header::RETRY_AFTER, "1")], refused(StatusCode::SERVICE_UNAVAILABLE, why)).into_response()
            }
        }
    }
}

impl Given {
    /// Counts one for an address. Else how long it has to wait.
    fn take_turn(&mut self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let address = network(address);
        if self.0.len() >= GUEST_ADDRESSES_MAX && !self.0.contains_key(&address) {
            self.0.retain(|_, times| times.back().is_some_and(|last| now.duration_since(*last) < MINUTE));
            if self.0.len() >= GUEST_ADDRESSES_MAX {
                return Err(MINUTE);
            }
        }
        let times = self.0.entry(address).or_default();
        while times.front().is_some_and(|first| now.duration_since(*first) >= MINUTE) {
            times.pop_front();
        }
        match times.front() {
            Some(first) if times.len() >= GUESTS_MAX => Err(MINUTE - now.duration_since(*first)),
            Some(_) | None => {
                times.push_back(now);
                Ok(())
            }
        }
    }
}

/// The network of an address: a peer that has one address of IPv6 has 64 bits of them.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & !u128::from(u64::MAX)).into()),
    }
}

fn refused(status: StatusCode, why: &str) -> Response {
    (status, format!("{why}\n")).into_response()
}

/// Lets the page that asked read the answer. It was looked at whether the page may.
fn with_origin(mut answer: Response, headers: &HeaderMap) -> Response {
    let fixed = [
        (header::CACHE_CONTROL, "no-store"),
        (header::VARY, "origin"),
        (HeaderName::from_static("access-control-allow-methods"), "POST"),
        (HeaderName::from_static("access-control-allow-headers"), "authorization, content-type"),
    ];
    for (name, value) in fixed {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        answer.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ready(bool);

    impl Guests for Ready {
        fn issue(&self, before: Option<&str>) -> Issued {
            match before {
                Some("a.b.c") | None if self.0 => Issued::Token("{\"token\":\"a.b.c\"}".to_owned()),
                Some(_) if self.0 => Issued::Refused("this is no token of ours"),
                Some(_) | None => Issued::NotYet,
            }
        }
    }

    fn route(is_ready: bool) -> GuestRoute {
        let origins = Origins::new(&["https://app.example".to_owned()]).expect("an origin");
        GuestRoute::new(Arc::new(Ready(is_ready)), origins)
    }

    fn ask(route: &GuestRoute, method: &Method, peer: &str, origin: Option<&'static str>) -> Response {
        let mut headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static("gateway.example"))]);
        headers.extend(origin.map(|origin| (header::ORIGIN, HeaderValue::from_static(origin))));
        route.answer(Peer(peer.parse().expect("an address")), method, &headers)
    }

    #[tokio::test]
    async fn a_program_and_a_page_of_a_named_origin_are_given_a_token_and_another_page_is_not() {
        let route = route(true);
        for origin in [None, Some("https://app.example")] {
            let answer = ask(&route, &Method::POST, "10.0.0.1", origin);
            assert_eq!(answer.status(), StatusCode::OK);
            let allowed = answer.headers().get(header::ACCESS_CONTROL_ALLOW_ORIGIN);
            assert_eq!(allowed.map(|value| value.to_str().expect("text")), origin);
            assert_eq!(answer.headers()[header::CACHE_CONTROL], "no-store");
            let body = axum::body::to_bytes(answer.into_body(), 1 << 10).await.expect("it ends");
            assert_eq!(body, "{\"token\":\"a.b.c\"}");
        }
        let answer = ask(&route, &Method::POST, "10.0.0.1", Some("https://evil.example"));
        assert_eq!(answer.status(), StatusCode::FORBIDDEN);
        assert!(!answer.headers().contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
        assert_eq!(
            ask(&route, &Method::OPTIONS, "10.0.0.1", Some("https://app.example")).status(),
            StatusCode::NO_CONTENT
        );
        assert_eq!(
            ask(&route, &Method::OPTIONS, "10.0.0.1", Some("https://evil.example")).status(),
            StatusCode::FORBIDDEN
        );
        assert_eq!(ask(&route, &Method::GET, "10.0.0.1", None).status(), StatusCode::METHOD_NOT_ALLOWED);
    }

    #[tokio::test]
    async fn an_address_is_given_so_many_tokens_a_minute() {
        let route = route(true);
        for _ in 0..GUESTS_MAX {
            assert_eq!(ask(&route, &Method::POST, "10.0.0.1", None).status(), StatusCode::OK);
        }
        let answer = ask(&route, &Method::POST, "10.0.0.1", None);
        assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(answer.headers().contains_key(header::RETRY_AFTER));
        assert_eq!(ask(&route, &Method::POST, "10.0.0.2", None).status(), StatusCode::OK);
        assert_eq!(
            ask(&route_of_starting(), &Method::POST, "10.0.0.1", None).status(),
            StatusCode::SERVICE_UNAVAILABLE
        );
    }

    #[tokio::test]
    async fn who_has_a_token_says_it_and_a_wrong_one_is_refused() {
        let route = route(true);
        let told = |token: &'static str| {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(token))]);
            route.answer(Peer("10.0.0.1".parse().expect("an address")), &Method::POST, &headers).status()
        };
        assert_eq!((told("Bearer a.b.c"), told("Bearer x")), (StatusCode::OK, StatusCode::UNAUTHORIZED));
    }

    fn route_of_starting() -> GuestRoute {
        route(false)
    }

    #[tokio::test]
    async fn so_many_addresses_are_counted_at_a_time() {
        let (mut given, now) = (Given::default(), Instant::now());
        let address = |number: usize| IpAddr::from((u32::try_from(number).expect("few")).to_be_bytes());
        for number in 0..GUEST_ADDRESSES_MAX {
            assert_eq!(given.take_turn(address(number), now), Ok(()));
        }
        assert_eq!(given.take_turn(address(GUEST_ADDRESSES_MAX), now), Err(MINUTE));
        assert_eq!(given.take_turn(address(0), now), Ok(()), "who is counted goes on");
        let later = now + MINUTE;
        assert_eq!(given.take_turn(address(GUEST_ADDRESSES_MAX), later), Ok(()), "a minute frees the others");
        assert_eq!(given.0.len(), 1);
        // The addresses of one network of IPv6 are one.
        for number in 0..GUESTS_MAX {
            let address: IpAddr = format!("2001:db8::{number}").parse().expect("an address");
            assert_eq!(given.take_turn(address, later), Ok(()));
        }
        assert!(given.take_turn("2001:db8::ffff".parse().expect("an address"), later).is_err());
        assert!(given.take_turn("2001:db8:0:1::1".parse().expect("an address"), later).is_ok());
    }

    #[test]
    fn the_page_on_limits_has_these() {
        let page = include_str!("../../../docs/limits.md");
        assert!(page.contains(&format!("| `host::GUESTS_MAX` | {GUESTS_MAX} |")));
        assert!(page.contains(&format!("| `host::GUEST_ADDRESSES_MAX` | {GUEST_ADDRESSES_MAX} |")));
    }
}
