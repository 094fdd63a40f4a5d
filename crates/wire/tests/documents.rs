//! docs/protocols/session.md says what the code does: every message of a session.

#![expect(clippy::disallowed_methods, reason = "a test reads its files")]

mod decoders;
mod samples;

use std::fs;
use std::path::Path;

use decoders::Content;
use iolite_wire::message::{FromClient, FromGateway, GoodbyeReason, Verdict};

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocols").join(name);
    fs::read_to_string(path).expect("the page is there")
}

/// The matches have no other arm: a new message does not compile before it has a name here.
fn from_client(message: &FromClient) -> &'static str {
    match message {
        FromClient::Hello(_) => "Hello",
        FromClient::Schema(_) => "Schema",
        FromClient::Subscribe(_) => "Subscribe",
        FromClient::Unsubscribe(_) => "Unsubscribe",
        FromClient::Submit(_) => "Submit",
        FromClient::Acknowledge(_) => "Acknowledge",
        FromClient::Ping(_) => "Ping",
        FromClient::Applied(_) => "Applied",
        FromClient::LogHash(_) => "LogHash",
        FromClient::LogPart(_) => "LogPart",
        FromClient::Token(_) => "Token",
    }
}

fn from_gateway(message: &FromGateway) -> Vec<&'static str> {
    match message {
        FromGateway::Welcome(_) => vec!["Welcome"],
        FromGateway::SchemaWanted => vec!["SchemaWanted"],
        FromGateway::Advance(advance) => {
            ["Advance"].into_iter().chain(advance.outcomes.iter().map(|outcome| verdict(&outcome.verdict))).collect()
        }
        FromGateway::Pong(_) => vec!["Pong"],
        FromGateway::Goodbye(goodbye) => vec!["Goodbye", reason(goodbye.reason)],
        FromGateway::LogWanted(_) => vec!["LogWanted"],
        FromGateway::LogDiffers(_) => vec!["LogDiffers"],
        FromGateway::Stored(_) => vec!["Stored"],
        FromGateway::Renewed(_) => vec!["Renewed"],
    }
}

fn verdict(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Committed(_) => "Committed",
        Verdict::Aborted => "Aborted",
        Verdict::Conflict(_) => "Conflict",
        Verdict::Rejected(_) => "Rejected",
    }
}

fn reason(reason: GoodbyeReason) -> &'static str {
    match reason {
        GoodbyeReason::Version => "Version",
        GoodbyeReason::Unauthorized => "Unauthorized",
        GoodbyeReason::Schema => "Schema",
        GoodbyeReason::Protocol => "Protocol",
        GoodbyeReason::Limit => "Limit",
        GoodbyeReason::Slow => "Slow",
        GoodbyeReason::Replaced => "Replaced",
        GoodbyeReason::Unavailable => "Unavailable",
        GoodbyeReason::OtherUser => "OtherUser",
    }
}

#[test]
fn every_message_of_a_session_is_on_its_page() {
    let page = page("session.md");
    let mut named = 0;
    for sample in samples::all() {
        let names: Vec<&str> = match &sample.content {
            Content::FromClient(messages) => messages.iter().map(from_client).collect(),
            Content::FromGateway(messages) => messages.iter().flat_map(from_gateway).collect(),
            Content::Journal(_)
            | Content::Checkpoint(_)
            | Content::Mutation(_)
            | Content::Row(_)
            | Content::Interest(_)
            | Content::Meta(_)
            | Content::End(_)
            | Content::Log(_)
            | Content::LogEntry(_)
            | Content::LogState(_)
            | Content::FromTab(_)
            | Content::ToTab(_)
            | Content::ToReplica(_)
            | Content::FromReplica(_)
            | Content::BetweenReplicas(_)
            | Content::NodesHello(_)
            | Content::BlobRequest(_)
            | Content::BlobReply(_)
            | Content::FromCentre(_)
            | Content::OutboxEntry(_)
            | Content::FromDevice(_)
            | Content::ToDevice(_)
            | Content::Peer(_) => Vec::new(),
        };
        for name in names {
            named += 1;
            let is_there = page.contains(&format!("`{name}`")) || page.contains(&format!("`{name}("));
            assert!(is_there, "session.md does not say `{name}`");
        }
    }
    assert!(named > 20, "the samples hold messages");
}
