//! Users in raw sessions, who write past the mutators of an app and hear everything that they are told.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, Counter, Decision, Id, Interest, KeyRange, LaneNumber, Operation, Query, RowKey,
    SchemaHash, TableId, Timestamp, Value, Write,
};
use iolite_wire::message::{
    Advance, FromClient, FromGateway, GoodbyeReason, Hello, Rejection, Resume, Submit, Subscribe, SubscriptionId,
    Verdict, Welcome,
};

use super::raw_session::{RawSession, hello};

pub const HOUR: Duration = Duration::from_secs(3600);

/// The device of a user, of which each has one.
fn device_of(token: &str) -> ClientId {
    let payload = token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok()).expect("a token");
    let claims: serde_json::Value = serde_json::from_slice(&payload).expect("JSON");
    let name = claims["sub"].as_str().expect("a user").bytes().chain([0; 16]);
    let bytes: Vec<u8> = name.take(16).collect();
    ClientId(Id::from_bytes(bytes.try_into().expect("16 bytes")))
}

/// A user in a raw session.
pub struct User {
    pub session: RawSession,
    pub welcome: Welcome,
    counter: u64,
    /// Advances that were heard while an outcome was waited for.
    pub heard: Vec<Advance>,
}

impl User {
    /// Waits until the server has rights, which come into effect a moment after its start.
    pub async fn come(url: &str, token: &str, schema: SchemaHash) -> User {
        User::come_back(url, token, schema, None).await
    }

    /// Somebody who holds the interests of the next message as of such a point.
    pub async fn come_back(url: &str, token: &str, schema: SchemaHash, resume: Option<Resume>) -> User {
        loop {
            let mut session = RawSession::connect(url).await;
            let client = device_of(token);
            session.say(&FromClient::Hello(Hello { resume, client, ..hello(token, schema) })).await;
            match session.hear().await {
                Some(FromGateway::Welcome(welcome)) => {
                    // The same client, whose first counters have outcomes.
                    let counter = if resume.is_some() { 100 } else { 0 };
                    return User { session, welcome, counter, heard: Vec::new() };
                }
                Some(FromGateway::Goodbye(goodbye)) if goodbye.reason == GoodbyeReason::Unavailable => {}
                other => panic!("not welcomed: {other:?}"),
            }
        }
    }

    /// How a mutation ends. What conflicts is tried again, as a client does.
    pub async fn verdict(&mut self, writes: Vec<Write>) -> Verdict {
        self.counter += 1;
        for attempt in 1.. {
            match self.attempt(Attempt(attempt), writes.clone()).await {
                Verdict::Conflict(_) => {}
                other => return other,
            }
        }
        unreachable!("it ends some time")
    }

    async fn attempt(&mut self, attempt: Attempt, writes: Vec<Write>) -> Verdict {
        let submit = Submit {
            counter: Counter(self.counter),
            attempt,
            snapshot: Timestamp::ZERO,
            reads: Vec::new(),
            decision: Decision::Commit(writes),
            acknowledged: None,
            lane: LaneNumber::STRONG,
            follows: None,
        };
        self.session.say(&FromClient::Submit(submit)).await;
        loop {
            match self.session.hear().await {
                Some(FromGateway::Advance(advance)) => {
                    let verdict = advance.outcomes.first().map(|own| own.verdict.clone());
                    self.heard.push(advance);
                    if let Some(verdict) = verdict {
                        return verdict;
                    }
                }
                other => panic!("no outcome: {other:?}"),
            }
        }
    }

    pub async fn may(&mut self, what: &str, writes: Vec<Write>) {
        let verdict = self.verdict(writes).await;
        assert!(matches!(verdict, Verdict::Committed(_)), "{what}: {verdict:?}");
    }

    pub async fn may_not(&mut self, what: &str, writes: Vec<Write>) {
        let verdict = self.verdict(writes).await;
        assert!(matches!(verdict, Verdict::Rejected(Rejection::Denied(_))), "{what}: {verdict:?}");
    }

    /// Asks for everything in a table in every way: all of it, one row, and one cell. Without a column that is the row's life.
    pub async fn follow(&mut self, first: u32, table: &str, key: &[Value], column: Option<&str>) {
        let subscribe = Subscribe { held: false, interests: all_of(first, table, key, column), first: [].into() };
        self.session.say(&FromClient::Subscribe(subscribe)).await;
    }

    /// All that is told, without timestamps, up to the advance that has a row with this key.
    pub async fn told_until(&mut self, key: &[Value]) -> Vec<Advance> {
        let (mut told, last) = (Vec::new(), RowKey::new(key).expect("short"));
        loop {
            let Some(FromGateway::Advance(advance)) = self.session.hear().await else { panic!("the session ended") };
            let rows = advance.snapshots.iter().flat_map(|own| &own.rows).chain(&advance.entered);
            let is_last = rows.into_iter().any(|own| own.key == last);
            let told_now = Advance { to: Timestamp::ZERO, delivered: None, ..advance };
            if told_now != Advance::default() {
                told.push(told_now);
            }
            if is_last {
                return told;
            }
        }
    }
}

/// Everything in a table, one row and one cell of it, as interests that are numbered from `first` on.
pub fn all_of(first: u32, table: &str, key: &[Value], column: Option<&str>) -> Vec<(SubscriptionId, Interest)> {
    let all = Interest::Range { table: TableId::of(table), range: KeyRange::all() };
    let one = Interest::Range { table: TableId::of(table), range: KeyRange::one(&row(table, key).row) };
    let cell = Interest::Cell(Cell { column: column.map_or(ColumnId::ROW, ColumnId::of), ..row(table, key) });
    let query = Interest::Query(Query::all(TableId::of(table), false).into());
    [all, one, cell, query].into_iter().zip(first..).map(|(own, name)| (SubscriptionId(name), own)).collect()
}

pub fn row(table: &str, key: &[Value]) -> Cell {
    Cell::row(TableId::of(table), RowKey::new(key).expect("short"))
}

pub fn write(table: &str, key: &[Value], column: &str, operation: Operation) -> Write {
    Write { cell: Cell { column: ColumnId::of(column), ..row(table, key) }, operation }
}

pub fn put(table: &str, key: &[Value], column: &str, value: impl Into<Value>) -> Write {
    write(table, key, column, Operation::Put(value.into()))
}

pub fn delete(table: &str, key: &[Value]) -> Vec<Write> {
    vec![Write { cell: row(table, key), operation: Operation::Delete }]
}

pub fn insert(table: &str, key: &[Value], columns: &[(&str, Value)]) -> Vec<Write> {
    let create = Write { cell: row(table, key), operation: Operation::Create };
    let puts = columns.iter().map(|(column, value)| put(table, key, column, value.clone()));
    [create].into_iter().chain(puts).collect()
}
