//! Frames that are no messages: each ends its own session, with a word where there is something to say.

use iolite_wire::SessionDecoder;
use iolite_wire::message::{FromClient, FromGateway, Goodbye, GoodbyeReason, ProtocolVersion};
use tokio_tungstenite::tungstenite::Message;

use super::witness::{Witness, schema};
use crate::support::dev::{Dev, Folder};
use crate::support::mutation::{Random, mutate};
use crate::support::raw_session::{RawSession, hello};

/// Past this something is kept for attackers.
const MEMORY_GROWS_MAX: usize = 64 << 20;

/// The frames of clients that every SDK is tested with.
fn golden() -> Vec<Vec<u8>> {
    let pages = [
        include_str!("../../../../../crates/wire/golden/hello.hex"),
        include_str!("../../../../../crates/wire/golden/subscribe.hex"),
        include_str!("../../../../../crates/wire/golden/submit.hex"),
        include_str!("../../../../../crates/wire/golden/unsubscribe.hex"),
        include_str!("../../../../../crates/wire/golden/from_client_frame.hex"),
    ];
    let lines = pages.iter().flat_map(|page| page.lines()).filter(|line| !line.starts_with('#'));
    lines.map(bytes_of).collect()
}

fn bytes_of(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<char> = hexadecimal.chars().collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).expect("two digits");
    digits.chunks(2).map(byte).collect()
}

/// Whether it is a message that anybody may send at any time.
fn is_ping(frame: &[u8]) -> bool {
    matches!(SessionDecoder::<FromClient>::new().decode(frame), Ok(FromClient::Ping(_)))
}

/// What the server says to a connection that sends this first, if that is a goodbye, and whether it closes.
async fn answer_to(server: &Dev, frame: Message) -> Option<Goodbye> {
    let mut session = RawSession::connect(&server.sync_url()).await;
    session.send(frame).await;
    match session.hear().await {
        Some(FromGateway::Goodbye(goodbye)) => {
            assert_eq!(session.hear().await, None, "nothing follows a goodbye");
            Some(goodbye)
        }
        Some(other) => panic!("{other:?} to a frame that is none"),
        None => None,
    }
}

#[tokio::test]
async fn truncated_and_random_frames_end_their_own_session() {
    let folder = Folder::new("attack-frames");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let before = server.resident_bytes();
    let golden = golden();
    assert!(golden.len() > 5, "frames were read");
    for frame in &golden {
        for length in (0..frame.len().min(40)).filter(|length| !is_ping(&frame[..*length])) {
            let goodbye = answer_to(&server, Message::Binary(frame[..length].to_vec().into())).await;
            assert!(goodbye.is_some_and(|goodbye| !goodbye.message.is_empty()), "{length} bytes of {frame:?}");
        }
    }
    let mut random = Random::new(4711);
    for round in 0..500 {
        let mut frame = golden[random.below(golden.len())].clone();
        mutate(&mut frame, &golden, &mut random);
        if is_ping(&frame) {
            continue;
        }
        let goodbye = answer_to(&server, Message::Binary(frame.clone().into())).await;
        assert!(goodbye.is_some(), "round {round}: {frame:?}");
    }
    witness.noticed_nothing().await;
    let after = server.resident_bytes();
    assert!(after < before + MEMORY_GROWS_MAX, "{before} bytes before, {after} after");
}

#[tokio::test]
async fn oversized_frames_and_text_end_their_own_session() {
    let folder = Folder::new("attack-oversized");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let before = server.resident_bytes();
    for _ in 0..20 {
        let goodbye = answer_to(&server, Message::Binary(vec![7; (1 << 20) + 1].into())).await;
        assert!(goodbye.is_some_and(|goodbye| goodbye.message.contains("1048576")), "a little over: it is told so");
        assert_eq!(answer_to(&server, Message::Binary(vec![7; 16 << 20].into())).await, None, "far over");
        assert_eq!(answer_to(&server, Message::Text("hello".into())).await, None, "another protocol");
    }
    witness.noticed_nothing().await;
    let after = server.resident_bytes();
    assert!(after < before + MEMORY_GROWS_MAX, "{before} bytes before, {after} after");
}

#[tokio::test]
async fn another_version_and_a_wrong_token_are_told_what_to_do() {
    let folder = Folder::new("attack-greeting");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let newer = ProtocolVersion(ProtocolVersion::CURRENT.0 + 1);
    let mut wanted = hello(&server.token(), schema().hash());
    (wanted.oldest_version, wanted.newest_version) = (newer, newer);
    let mut session = RawSession::connect(&server.sync_url()).await;
    session.say(&FromClient::Hello(wanted)).await;
    let said = session.hear().await;
    assert!(
        matches!(&said, Some(FromGateway::Goodbye(said)) if said.reason == GoodbyeReason::Version && said.message.contains("update")),
        "{said:?}"
    );
    for token in ["", "wrong", &server.token()[1..]] {
        let mut session = RawSession::connect(&server.sync_url()).await;
        session.hello(token, schema().hash()).await;
        let said = session.hear().await;
        let unauthorized =
            |said: &Goodbye| said.reason == GoodbyeReason::Unauthorized && said.message.contains("token");
        assert!(matches!(&said, Some(FromGateway::Goodbye(said)) if unauthorized(said)), "{token:?}: {said:?}");
    }
    witness.noticed_nothing().await;
}
