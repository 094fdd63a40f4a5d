//! Every message of a session.

use std::time::Duration;

use iolite_values::{
    Attempt, CellState, ClientId, Counter, Decision, Element, Id, Interest, KeyRange, LaneNumber, LogId, Operation,
    Read, Row, SchemaHash, StoreIncarnation, TableId, Value,
};
use iolite_wire::message::{
    Advance, Declination, Declined, FromClient, FromGateway, Goodbye, GoodbyeReason, Hello, LogHash, LogMembers,
    LogPart, Outcome, ProtocolVersion, Rejection, Resume, RowSnapshot, Snapshot, Subscribe, SubscriptionId, Verdict,
    Welcome,
};

use super::centres::token;
use super::values::{cell, column, key, rows, submit, table, time, write};
use crate::decoders::Content;

pub fn client() -> ClientId {
    ClientId(Id::from_u128(0x1111_2222_3333_4444_5555_6666_7777_8888))
}

pub fn store() -> StoreIncarnation {
    StoreIncarnation(Id::from_u128(0x9999_aaaa_bbbb_cccc_dddd_eeee_ffff_0000))
}

pub fn schema() -> SchemaHash {
    SchemaHash([7; 16])
}

fn hello(resume: Option<Resume>, batch_ms: u64) -> FromClient {
    FromClient::Hello(Hello {
        oldest_version: ProtocolVersion(1),
        newest_version: ProtocolVersion(2),
        token: "secret".into(),
        client: client(),
        schema: schema(),
        resume,
        acknowledged: Counter(41),
        centre_token: None,
        batch: Duration::from_millis(batch_ms),
    })
}

fn hello_elsewhere() -> FromClient {
    let FromClient::Hello(hello) = hello(Some(Resume { store: store(), at: time(0), rights: None }), 0) else {
        unreachable!()
    };
    FromClient::Hello(Hello { centre_token: Some(token()), ..hello })
}

fn subscribe(held: bool, interests: Vec<(u32, Interest)>) -> FromClient {
    let interests = interests.into_iter().map(|(id, interest)| (SubscriptionId(id), interest)).collect();
    FromClient::Subscribe(Subscribe { held, interests, first: Default::default() })
}

fn advance(outcomes: Vec<Outcome>) -> Advance {
    Advance { to: time(7), outcomes, ..Advance::default() }
}

fn every_outcome() -> Vec<Outcome> {
    let verdicts = [
        Verdict::Committed(time(5)),
        Verdict::Committed(iolite_values::Timestamp::MAX),
        Verdict::Aborted,
        Verdict::Conflict(time(9)),
        Verdict::Conflict(iolite_values::Timestamp::ZERO),
        Verdict::Rejected(Rejection::Invalid("no such column".into())),
        Verdict::Rejected(Rejection::Forgotten),
        Verdict::Rejected(Rejection::Denied("table \"rooms\": the rule \"create\" does not let this user".into())),
    ];
    let outcome = |(counter, verdict)| Outcome { counter: Counter(counter), attempt: Attempt(2), verdict };
    (42..).zip(verdicts).map(outcome).collect()
}

fn every_goodbye() -> Vec<FromGateway> {
    use GoodbyeReason::{Limit, OtherUser, Protocol, Replaced, Schema, Slow, Unauthorized, Unavailable, Version};
    let reasons = [Version, Unauthorized, Schema, Protocol, Limit, Slow, Replaced];
    let goodbye = |reason| FromGateway::Goodbye(Goodbye { reason, message: "because".into(), retry_after: None });
    let later = Some(Duration::new(3, 500_000_000));
    let unavailable = Goodbye { reason: Unavailable, message: "the server stops".into(), retry_after: later };
    reasons.into_iter().map(goodbye).chain([FromGateway::Goodbye(unavailable), goodbye(OtherUser)]).collect()
}

/// What a busy counter costs: the second frame of each is what every further one is like.
fn two_submits() -> Vec<FromClient> {
    let add = || Decision::Commit(vec![write(Operation::Add(1))]);
    let read = Read::Cell { cell: cell("chair"), element: Element::Whole };
    let mut second = submit(vec![read], add());
    second.counter = Counter(43);
    second.snapshot = time(5_000);
    let mut third = submit(Vec::new(), Decision::Abort("sold out".into()));
    third.attempt = Attempt(3);
    third.acknowledged = None;
    let mut fourth = submit(Vec::new(), add());
    (fourth.lane, fourth.follows) = (LaneNumber(2), Some(Counter(40)));
    [submit(Vec::new(), add()), second, third, fourth].map(FromClient::Submit).into()
}

fn two_advances() -> Vec<FromGateway> {
    let outcome = Outcome { counter: Counter(42), attempt: Attempt(1), verdict: Verdict::Committed(time(7)) };
    let first = Advance { changes: vec![write(Operation::Add(1))], ..advance(vec![outcome.clone()]) };
    let second = Advance { to: time(6_000), more: true, ..first.clone() };
    [first, second].map(FromGateway::Advance).into()
}

fn table_change() -> FromGateway {
    let tables = [table(), table(), TableId::of("chat")];
    let row = Row::from_parts(true, [(column(), CellState::Counter(1))]);
    let rows = tables.map(|table| RowSnapshot { table, key: key("chair"), row: row.clone() }).into();
    let snapshots = vec![Snapshot { subscription: SubscriptionId(1), rows, reaches: None }];
    FromGateway::Advance(Advance { snapshots, ..advance(Vec::new()) })
}

pub fn declined() -> Advance {
    let declined = |id, why| Declined { subscription: SubscriptionId(id), why };
    let good = Declination::TooLarge("too many rows".into());
    let denied = Declination::Denied("not a member".into());
    let declined = vec![declined(3, Declination::Later), declined(4, good), declined(5, denied)];
    Advance { declined, ..advance(Vec::new()) }
}

fn log() -> LogId {
    LogId::new("sheet", &Value::from("budget")).expect("short")
}

fn log_hash() -> LogHash {
    LogHash { log: log(), block: 3, index: 3000, hash: [7; 32], parts: 2 }
}

fn log_part(state: &[u8]) -> LogPart {
    LogPart { log: log(), block: 3, part: 1, state: state.to_vec() }
}

/// All members of a log; two that change.
pub fn log_members() -> Advance {
    let log = || LogId { name: "sheet".into(), instance: key("budget") };
    let origin = |number: u128| Id::from_u128(number << 64);
    let whole = LogMembers { log: log(), is_whole: true, joined: [origin(1), origin(2)].into(), left: [].into() };
    let changed = LogMembers { log: log(), is_whole: false, joined: [origin(3)].into(), left: [origin(1)].into() };
    Advance { members: vec![whole, changed], ..advance(Vec::new()) }
}

fn small() -> Vec<FromClient> {
    vec![
        FromClient::Acknowledge(Counter(42)),
        FromClient::Ping(7),
        FromClient::Schema("{\"tables\":{}}".into()),
        FromClient::Token("a.b.c".into()),
    ]
}

pub fn all() -> Vec<(&'static str, &'static str, Content)> {
    let from_client = Content::FromClient;
    let from_gateway = Content::FromGateway;
    let clock_micros = Some(1_740_000_000_000_000);
    let welcome = Welcome {
        version: ProtocolVersion(1),
        store: store(),
        resumed: true,
        clock_micros,
        centre: None,
        moved: false,
        client: ClientId(Id::from_u128(9)),
        subject: None,
        token_left: None,
    };
    let of_user = Welcome {
        subject: Some(Id::from_u128(5 << 120)),
        token_left: Some(Duration::from_secs(900)),
        ..welcome.clone()
    };
    let moved = Welcome { resumed: false, centre: Some(token().at), moved: true, ..welcome.clone() };
    let interests = || {
        let all = Interest::Range { table: table(), range: KeyRange::all() };
        vec![(1, Interest::Cell(cell("chair"))), (2, all), (300, Interest::Cell(cell("chair")))]
    };
    let ids = vec![SubscriptionId(0), SubscriptionId(300)];
    vec![
        ("from_client_frame", "acknowledge, ping, schema, another token", from_client(small())),
        ("from_gateway_frame", "pong, stored", {
            from_gateway(vec![FromGateway::Pong(7), FromGateway::Stored(Counter(300))])
        }),
        ("hello", "a first hello", from_client(vec![hello(None, 0)])),
        ("resume", "a hello that resumes", {
            from_client(vec![hello(Some(Resume { store: store(), at: time(0), rights: None }), 50)])
        }),
        ("subscribe", "held interests", from_client(vec![subscribe(true, interests())])),
        ("subscription", "a new interest in a cell", {
            from_client(vec![subscribe(false, vec![(1, Interest::Cell(cell("chair")))])])
        }),
        ("from_member", "changes that are applied", from_client(vec![FromClient::Applied(time(7))])),
        ("log_hash", "a member's hash, and another one's", { from_client(vec![FromClient::LogHash(log_hash())]) }),
        ("log_part", "a part of a log's state", from_client(vec![FromClient::LogPart(log_part(b"state"))])),
        ("to_member", "a part is wanted, and a hash differs", {
            from_gateway(vec![FromGateway::LogWanted(log_part(b"")), FromGateway::LogDiffers(log_hash())])
        }),
        ("unsubscribe", "two subscriptions ended", from_client(vec![FromClient::Unsubscribe(ids)])),
        ("submit", "an increment, one more with a read, an abort", from_client(two_submits())),
        ("welcome", "a session resumed; one of a user, and another token of theirs", {
            let renewed = FromGateway::Renewed(Duration::from_secs(3600));
            from_gateway(vec![FromGateway::Welcome(welcome), FromGateway::Welcome(of_user), renewed])
        }),
        ("centre_token", "a hello at another data centre", from_client(vec![hello_elsewhere()])),
        ("centre_clock", "a welcome at another data centre, and how far it is", {
            let advance = FromGateway::Advance(Advance { clock: token().clock, ..advance(Vec::new()) });
            from_gateway(vec![FromGateway::Welcome(moved), advance])
        }),
        ("schema_wanted", "the schema is wanted", from_gateway(vec![FromGateway::SchemaWanted])),
        ("advance", "an increment with its outcome, and one more", from_gateway(two_advances())),
        ("snapshot", "a snapshot of no rows", from_gateway(vec![rows(Vec::new())])),
        ("row_snapshot", "rows of two tables", from_gateway(vec![table_change()])),
        ("declined", "one for now, one for good", from_gateway(vec![FromGateway::Advance(declined())])),
        ("log_members", "all of them, and a change", from_gateway(vec![FromGateway::Advance(log_members())])),
        ("outcome", "every verdict", from_gateway(vec![FromGateway::Advance(advance(every_outcome()))])),
        ("goodbye", "every reason", from_gateway(every_goodbye())),
    ]
}
