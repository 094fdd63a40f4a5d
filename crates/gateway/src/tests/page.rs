//! docs/protocols/gateway.md and the code name the same states, inputs, messages, reasons and limits.

use std::collections::BTreeSet;
use std::fmt::Debug;

use iolite_access::{Identity, Subject, User};
use iolite_catalog::Deployment;
use iolite_machine::{Instant, WallTime};
use iolite_rights::{Claims, Right, Rights};
use iolite_store::Event;
use iolite_values::{Counter, Id, LogId, ObjectName, Schema, Timestamp, Value};
use iolite_wire::message::{FromClient, GoodbyeReason, LogHash, LogPart};

use super::fake_store::STORE;
use super::world::{blind, hello, subscribe, unsubscribe};
use crate::following::load::LoadId;
use crate::sessions::session::{Flow, Guest, Open, Phase, Standing};
use crate::{
    AskRight, BlobInput, BlobLink, BlobRoom, Deploy, DeploymentId, Explain, ExplainId, Input, RevocationId,
    RevokedTokens, RightId, SessionId, limits,
};

const PAGE: &str = include_str!("../../../../docs/protocols/gateway.md");
const LIMITS: &str = include_str!("../limits.rs");

/// The rows of the table whose first column is called `name`, without the code marks.
fn table(name: &str) -> Vec<Vec<String>> {
    let start = PAGE.find(&format!("| {name} |")).expect("the page has this table");
    let rows = PAGE[start..].lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect();
    rows.map(cells).collect()
}

fn names(name: &str) -> BTreeSet<String> {
    table(name).into_iter().map(|row| row[0].clone()).collect()
}

/// The names of variants, as their derived `Debug` begins.
fn variants(all: &[&dyn Debug]) -> BTreeSet<String> {
    let name = |variant: &&dyn Debug| {
        let text = format!("{variant:?}");
        text.split(|letter: char| !letter.is_alphanumeric()).next().expect("it begins with its name").to_owned()
    };
    all.iter().map(name).collect()
}

/// Adding a variant to one of these enums breaks this until the lists below have it.
fn lists_are_whole(phase: &Phase, flow: Flow, standing: Standing, input: &Input, message: &FromClient) {
    match phase {
        Phase::Greeting | Phase::Held(_) | Phase::SchemaWanted(_) | Phase::Open(_) => {}
    }
    match flow {
        Flow::Resuming { .. } | Flow::Live | Flow::CatchingUp(_) | Flow::Behind { .. } => {}
    }
    match standing {
        Standing::Live | Standing::Loading(_) => {}
    }
    match input {
        Input::SessionOpened(_) | Input::Message(..) | Input::Garbled(..) => {}
        Input::SessionClosed(_) | Input::Drained { .. } | Input::Store(_) | Input::Blobs(..) => {}
        Input::BlobRoom(_) | Input::RevokeLeases | Input::Centre(_) | Input::OutOfService(_) => {}
        Input::Revoke(..) | Input::Deploy(..) | Input::Explain(..) | Input::Keys(_) => {}
        Input::AskRight(..) | Input::ForgetRight(_) => {}
    }
    match message {
        FromClient::Hello(_) | FromClient::Schema(_) | FromClient::Subscribe(_) | FromClient::Unsubscribe(_) => {}
        FromClient::Submit(_) | FromClient::Acknowledge(_) | FromClient::Ping(_) | FromClient::Applied(_) => {}
        FromClient::LogHash(_) | FromClient::LogPart(_) | FromClient::Token(_) => {}
    }
}

fn ann() -> User {
    let subject = Subject { issuer: String::new(), name: "ann".into() };
    User { subject, claims: Claims::new("ann", []), issued: None, ends: None }
}

fn guest() -> Guest {
    let (identity, hello) = (Identity::Developer, hello(1));
    Guest { identity, client: hello.client, ends: None, hello, schema: None }
}

#[test]
fn page_and_code_agree() {
    let open = Phase::Open(Box::new(Open::new(&guest(), None)));
    let phases: [&dyn Debug; 4] = [&Phase::Greeting, &Phase::Held(guest()), &Phase::SchemaWanted(guest()), &open];
    assert_eq!(names("State"), variants(&phases));
    let load = LoadId::default();
    let resuming = Flow::Resuming { after: Timestamp::ZERO };
    let behind = Flow::Behind { since: Instant::default() };
    assert_eq!(names("Flow"), variants(&[&resuming, &Flow::Live, &Flow::CatchingUp(load), &behind]));
    assert_eq!(names("Standing"), variants(&[&Standing::Live, &Standing::Loading(load)]));
    let id = SessionId(1);
    let ready = Input::Store(Event::Ready { store: STORE, resolved: Timestamp::ZERO });
    let deployment = Deployment { schema: Schema::default(), rights: Rights::default() };
    let typed = || "".to_owned();
    let explain = Explain { user: typed(), claims: None, right: Right::Read, table: typed(), key: typed(), with: None };
    let object = ObjectName::new("Note", "a").expect("short");
    let ask = AskRight { user: ann().into(), object, right: Right::Call, method: None };
    let inputs: [&dyn Debug; 16] = [
        &Input::SessionOpened(id),
        &Input::Message(id, FromClient::Ping(1)),
        &Input::Garbled(id, String::new()),
        &Input::SessionClosed(id),
        &Input::Drained { session: id, messages: 1 },
        &ready,
        &Input::Blobs(BlobLink(1), BlobInput::Closed),
        &Input::BlobRoom(BlobRoom::Full),
        &Input::RevokeLeases,
        &Input::Revoke(RevocationId(1), RevokedTokens { subject: Id::from_u128(1), not_before: WallTime::default() }),
        &Input::Deploy(DeploymentId(1), Box::new(Deploy { deployment, is_plan: true })),
        &Input::Explain(ExplainId(1), Box::new(explain)),
        &Input::AskRight(RightId(1), Box::new(ask)),
        &Input::ForgetRight(RightId(1)),
        &Input::Keys(Vec::new()),
        &Input::OutOfService(None),
    ];
    assert_eq!(names("Input"), variants(&inputs));
    let log = || LogId::new("sheet", &Value::Int(1)).expect("short");
    let messages: [&dyn Debug; 11] = [
        &FromClient::Hello(hello(1)),
        &FromClient::Schema(String::new()),
        &subscribe(false, vec![]),
        &unsubscribe(&[]),
        &FromClient::Submit(blind(1, vec![])),
        &FromClient::Acknowledge(Counter(1)),
        &FromClient::Ping(1),
        &FromClient::Applied(Timestamp::ZERO),
        &FromClient::LogHash(LogHash { log: log(), block: 1, index: 1, hash: [0; 32], parts: 1 }),
        &FromClient::LogPart(LogPart { log: log(), block: 1, part: 0, state: Vec::new() }),
        &FromClient::Token(String::new()),
    ];
    assert_eq!(names("Message"), variants(&messages));
    lists_are_whole(&open, Flow::Live, Standing::Live, &ready, &FromClient::Ping(1));
}

#[test]
fn the_page_has_every_reason_to_say_goodbye() {
    use GoodbyeReason::{Limit, OtherUser, Protocol, Replaced, Schema, Slow, Unauthorized, Unavailable, Version};
    let all: [&dyn Debug; 9] =
        [&Version, &Unauthorized, &OtherUser, &Schema, &Protocol, &Limit, &Slow, &Replaced, &Unavailable];
    assert_eq!(names("Reason"), variants(&all));
}

#[test]
fn the_page_has_every_limit_with_its_value() {
    let declared = LIMITS.lines().filter_map(|line| line.strip_prefix("pub const "));
    let declared: BTreeSet<String> = declared.map(|line| line.split(':').next().expect("a name").to_owned()).collect();
    assert_eq!(names("Constant"), declared);
    let values = values();
    assert_eq!(values.len(), declared.len(), "every limit is compared");
    for row in table("Constant") {
        let value = values.iter().find(|(name, _)| *name == row[0]).expect("declared");
        assert_eq!(row[1], value.1, "{}", row[0]);
    }
}

#[test]
fn the_page_of_all_limits_has_them_too() {
    let page = include_str!("../../../../docs/limits.md");
    for (name, value) in values() {
        let row = format!("| `gateway::{name}` | {value} |");
        assert_eq!(page.lines().filter(|line| line.starts_with(&row)).count(), 1, "{row}");
    }
}

fn values() -> Vec<(&'static str, String)> {
    macro_rules! of {
        ($($name:ident),* $(,)?) => { vec![$((stringify!($name), format!("{:?}", limits::$name))),*] };
    }
    of![
        GREETING_TIME_MAX,
        SILENCE_MAX,
        SLOW_TIME_MAX,
        BATCH_PERIOD_MAX,
        IDLE_ADVANCE_PERIOD,
        QUIET_PERIODS,
        UNDRAINED_BYTES_MAX,
        CATCH_UP_UNDRAINED_BYTES,
        CATCH_UP_CHANGES_BYTES_MAX,
        CATCH_UP_COMMITS_BYTES_MAX,
        ADVANCE_PART_BYTES,
        INTERESTS_MAX,
        RANGE_BOUND_BYTES_MAX,
        QUERIES_BYTES_MAX,
        ROWS_OPEN_MAX,
        FEED_WAITING_BYTES_MAX,
        ANSWER_ROWS_MAX,
        ANSWER_BYTES_MAX,
        READS_OPEN_MAX,
        ROW_BYTES_MAX,
        LOAD_BUFFER_BYTES,
        LOAD_BUFFER_BYTES_MAX,
        DELIVERED_WITHIN,
        LOG_BLOCKS_KEPT,
        LOG_MEMBERS_MAX,
        LOG_MEMBERS_TOLD_WITHIN,
        SUBMITS_OPEN_MAX,
        OWN_OUTCOMES_MAX,
        SUBMITS_OPEN_BYTES_MAX,
        OUTCOME_WITHIN,
        TRANSACTION_WRITES_MAX,
        TRANSACTION_READS_MAX,
        TRANSACTION_BYTES_MAX,
        JUDGE_READS_OPEN_MAX,
        SET_KEYS_MAX,
        BLOB_BYTES_USER_MAX,
        BLOB_BYTES_ANONYMOUS_MAX,
        REVOCATIONS_OPEN_MAX,
        SCHEMA_BYTES_MAX,
        TOKEN_BYTES_MAX,
        RENEWALS_MAX,
        REASON_BYTES_MAX,
    ]
}
