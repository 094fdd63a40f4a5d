//! What a server refuses, says why, and nobody else notices.

use std::time::Duration;

use iolite::{BATCH_MAX, Client, Connection};
use iolite_wire::message::{FromGateway, GoodbyeReason};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::notes::{mutators, open, options, schema, wait_for_hits};
use crate::raw_session::RawSession;

#[tokio::test]
async fn a_wrong_token_is_refused_and_a_right_one_lets_the_held_queue_go() {
    let server = iolite::embedded().await.expect("a server");
    let client = Client::connect(server.url(), "wrong", schema(), options()).expect("storage in memory");
    let handle = client.mutate("hit", "home").expect("called");
    let refused = client.online().await.expect_err("the token is wrong");
    assert!(
        matches!(&refused, Connection::Refused { reason: GoodbyeReason::Unauthorized, message } if message.contains("token")),
        "{refused:?}"
    );
    assert_eq!(client.pending().len(), 1, "it is held, not dropped");
    client.set_token(server.token());
    handle.confirmed().await.expect("confirmed");
}

#[tokio::test]
async fn frames_that_are_none_end_their_session_only() {
    let server = iolite::embedded().await.expect("a server");
    let client = open(&server);
    client.mutate("hit", "home").expect("called").confirmed().await.expect("confirmed");
    for frame in [vec![0xff; 100], vec![0; 2 << 20], Vec::new()] {
        let bytes = frame.len();
        let mut session = RawSession::connect(server.url()).await;
        session.send(Message::Binary(frame.into())).await;
        let said = session.hear().await;
        let protocol = |message: &FromGateway| matches!(message, FromGateway::Goodbye(said) if said.reason == GoodbyeReason::Protocol);
        assert!(said.as_ref().is_some_and(protocol), "{bytes} bytes: {said:?}");
        assert_eq!(session.hear().await, None, "the socket is closed");
    }
    let mut session = RawSession::connect(server.url()).await;
    session.send(Message::Binary(vec![0; 8 << 20].into())).await;
    assert_eq!(session.hear().await, None, "far past the limit there is nothing to say");
    let mut session = RawSession::connect(server.url()).await;
    session.send(Message::Text("hello".into())).await;
    assert_eq!(session.hear().await, None, "text is another protocol");
    client.mutate("hit", "home").expect("called").confirmed().await.expect("confirmed");
    wait_for_hits(&client, 2).await;
    assert_eq!(*client.connection().borrow(), Connection::Online);
}

#[tokio::test]
async fn a_page_of_another_site_may_not_connect() {
    let server = iolite::embedded().await.expect("a server");
    let mut request = server.url().into_client_request().expect("an address");
    request.headers_mut().insert("origin", "https://evil.example".parse().expect("a header"));
    let refused = tokio_tungstenite::connect_async(request).await.expect_err("another site's page");
    assert!(refused.to_string().contains("403"), "{refused}");
}

#[test]
fn an_address_that_is_none_is_refused_at_once() {
    for wrong in ["127.0.0.1:7777", "http://127.0.0.1:7777/sync", "ws://127.0.0.1:7777", "ws://127.0.0.1:7777/"] {
        let error = Client::connect(wrong, "", schema(), options()).expect_err("no scheme, or no path");
        assert!(error.to_string().contains("begins with ws:// and ends with /sync"), "{error}");
    }
    let two = ["ws://127.0.0.1:7777/sync", "127.0.0.1:7777"];
    let error = Client::connect_to_one_of(&two, "", schema(), options()).expect_err("one of them is none");
    assert!(error.to_string().contains("\"127.0.0.1:7777\" is not an address"), "{error}");
    let error = Client::connect_to_one_of(&[""; 0], "", schema(), options()).expect_err("there is none");
    assert!(error.to_string().contains("not 0"), "{error}");
}

#[tokio::test]
async fn what_no_gateway_grants_is_refused_at_once() {
    let open = |every| Client::connect("ws://127.0.0.1:7777/sync", "", schema(), options().batch(every));
    assert!(open(BATCH_MAX).is_ok());
    let error = open(BATCH_MAX + Duration::from_millis(1)).expect_err("too seldom");
    assert_eq!(error.to_string(), "changes are told every 10s at least, not every 10.001s");
}

/// The core would run `$live` itself, and the app's never.
#[test]
fn a_mutator_with_a_name_of_the_core_is_refused_at_once() {
    let named = |name| options().mutators(mutators().with(name, |_, ()| Ok(())));
    let error = Client::connect("ws://127.0.0.1:7777/sync", "", schema(), named("$live")).expect_err("not for apps");
    assert_eq!(error.to_string(), r#"mutator "$live": names that begin with $ are not for apps"#);
}
