//! Apps that are asked for their tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use iolite::{Client, Connection, GoodbyeReason, Token};

use crate::notes::{options, schema};

#[tokio::test]
async fn an_app_is_asked_for_its_token_until_it_has_one_and_the_queue_goes_then() {
    let server = iolite::embedded().await.expect("a server");
    let (asked, right) = (Arc::new(AtomicUsize::new(0)), server.token().to_owned());
    let count = asked.clone();
    let token = Token::asked(move || {
        let answer = match count.fetch_add(1, Ordering::Relaxed) {
            0 => Err("nobody is signed in"),
            _ => Ok(right.clone()),
        };
        async move { answer }
    });
    let client = Client::connect(server.url(), token, schema(), options()).expect("storage in memory");
    let handle = client.mutate("hit", "home").expect("called");
    let refused = client.online().await.expect_err("there is no token");
    let because = |message: &str| message == "nobody is signed in";
    assert!(
        matches!(&refused, Connection::Refused { reason: GoodbyeReason::Unauthorized, message } if because(message)),
        "{refused:?}"
    );
    handle.confirmed().await.expect("it is asked again, and then the call is sent");
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}
