//! A stranger with a token of their own who knows the device id of somebody else: from a lost laptop, or from a log file.

use std::time::Duration;

use iolite_values::{
    Attempt, Cell, Counter, Decision, Element, LaneNumber, Operation, Read, RowKey, TableId, Timestamp, Value, Write,
};
use iolite_wire::message::{FromClient, FromGateway, GoodbyeReason, Hello, Outcome, Submit, Verdict, Welcome};

use super::witness::schema;
use crate::support::dev::{Dev, Folder};
use crate::support::raw_session::{RawSession, hello};
use crate::support::tokens::Issuer;

const HOUR: Duration = Duration::from_secs(3600);

fn start(folder: &Folder) -> (Dev, Issuer) {
    let issuer = Issuer::new(&folder.0.join("issuer"));
    let options = issuer.options();
    let server = Dev::start_with(&folder.0.join("data"), &[&options[0], &options[1]]);
    (server, issuer)
}

/// A session on the one device of all, which is what `hello` names.
async fn come(server: &Dev, token: &str) -> (RawSession, Welcome) {
    let mut session = RawSession::connect(&server.sync_url()).await;
    session.say(&FromClient::Hello(Hello { ..hello(token, schema().hash()) })).await;
    loop {
        match session.hear().await {
            Some(FromGateway::SchemaWanted) => session.say(&FromClient::Schema(schema().to_json())).await,
            Some(FromGateway::Welcome(welcome)) => return (session, welcome),
            other => panic!("not welcomed: {other:?}"),
        }
    }
}

fn mark(counter: u64, name: &str, snapshot: Timestamp) -> FromClient {
    let key = RowKey::new(&[Value::string(name)]).expect("short");
    let row = Cell::row(TableId::of("marks"), key);
    let reads = vec![Read::Cell { cell: row.clone(), element: Element::Whole }];
    let writes = vec![Write { cell: row, operation: Operation::Create }];
    submit(counter, reads, writes, snapshot)
}

fn submit(counter: u64, reads: Vec<Read>, writes: Vec<Write>, snapshot: Timestamp) -> FromClient {
    FromClient::Submit(Submit {
        counter: Counter(counter),
        attempt: Attempt(1),
        snapshot,
        reads,
        decision: Decision::Commit(writes),
        acknowledged: None,
        lane: LaneNumber::STRONG,
        follows: None,
    })
}

/// The next outcome.
async fn outcome(session: &mut RawSession) -> Outcome {
    loop {
        match session.hear().await {
            Some(FromGateway::Advance(mut advance)) if !advance.outcomes.is_empty() => {
                return advance.outcomes.remove(0);
            }
            Some(FromGateway::Advance(_) | FromGateway::Pong(_)) => {}
            other => panic!("no outcome: {other:?}"),
        }
    }
}

/// Whether it goes on.
async fn goes_on(session: &mut RawSession) {
    session.say(&FromClient::Ping(5)).await;
    while !matches!(session.hear().await.expect("it has not ended"), FromGateway::Pong(5)) {}
}

#[tokio::test]
async fn impersonation_a_stranger_who_knows_a_device_id_ends_no_session_and_writes_no_outcomes_of_others() {
    let folder = Folder::new("attack-impersonation");
    let (server, issuer) = start(&folder);
    let (mut ann, of_ann) = come(&server, &issuer.token("ann", HOUR)).await;
    ann.say(&mark(1, "first", Timestamp::ZERO)).await;
    assert!(matches!(outcome(&mut ann).await.verdict, Verdict::Committed(_)));
    let (mut stranger, of_stranger) = come(&server, &issuer.token("mallory", HOUR)).await;
    assert_ne!(of_ann.client, of_stranger.client, "the device id is the same");
    goes_on(&mut ann).await;
    // Outcomes in advance under her next counters, or marks of her device: nothing is taken of a stranger on a device that is hers.
    stranger.say(&FromClient::Acknowledge(Counter(1 << 60))).await;
    goes_on(&mut stranger).await;
    stranger.say(&submit(2, Vec::new(), Vec::new(), Timestamp::ZERO)).await;
    let told = loop {
        if let FromGateway::Goodbye(goodbye) = stranger.hear().await.expect("it is told why") {
            break goodbye;
        }
    };
    assert!(told.reason == GoodbyeReason::OtherUser && told.message.contains("first used by another user"), "{told:?}");
    for (counter, name) in [(2, "second"), (3, "third")] {
        ann.say(&mark(counter, name, Timestamp::ZERO)).await;
        let Outcome { counter: own, verdict, .. } = outcome(&mut ann).await;
        assert!(own == Counter(counter) && matches!(verdict, Verdict::Committed(_)), "{verdict:?}");
    }
    ann.subscribe_to_all("marks").await;
    let rows = loop {
        match ann.hear().await {
            Some(FromGateway::Advance(advance)) if !advance.snapshots.is_empty() => break advance.snapshots,
            Some(_) => {}
            None => panic!("it has ended"),
        }
    };
    assert_eq!(rows.iter().map(|snapshot| snapshot.rows.len()).sum::<usize>(), 3, "what was confirmed is there");
}

#[tokio::test]
async fn impersonation_tokens_that_are_none_are_refused_and_the_operators_token_is_no_users() {
    let folder = Folder::new("attack-tokens");
    let (server, issuer) = start(&folder);
    let good = issuer.token("ann", HOUR);
    let (signed, signature) = good.rsplit_once('.').expect("three parts");
    let none = "eyJhbGciOiJub25lIn0";
    let payload = signed.split('.').nth(1).expect("three parts");
    let bad = [server.token(), String::new(), format!("{none}.{payload}."), format!("{none}.{payload}.{signature}")];
    for token in bad {
        let mut session = RawSession::connect(&server.sync_url()).await;
        session.hello(&token, schema().hash()).await;
        match session.hear().await {
            Some(FromGateway::Goodbye(goodbye)) => assert_eq!(goodbye.reason, GoodbyeReason::Unauthorized),
            other => panic!("{token:?} was let in: {other:?}"),
        }
    }
    assert!(server.get("/iolite.json", "").starts_with("HTTP/1.1 404"), "it tells its token to nobody");
    come(&server, &good).await;
}
