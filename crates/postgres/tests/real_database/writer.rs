//! One client's transactions on one row after the other, and what tests look at in a database.

use std::time::Duration;

use iolite_postgres::PostgresSettings;
use iolite_store::{CommitReply, Completion, CompletionDecision, ReadLimit, ReadReply, Reply, Request, RowAt, TooOld};
use iolite_values::{
    Attempt, Cell, CellState, ClientId, ColumnId, CoordinatorId, Counter, Decision, Id, Interest, KeyRange, Level,
    Operation, RowKey, TableId, Timestamp, Transaction, TransactionId, Value, Write,
};
use tokio_postgres::Client;

use crate::gateway::Gateway;
use crate::server::Server;

pub const TABLE: TableId = TableId(7);
pub const COLUMN: ColumnId = ColumnId(1);

pub fn settings(server: &Server, coordinator: u16) -> PostgresSettings {
    let coordinator = CoordinatorId::new(coordinator).expect("few");
    // Far apart, so that what comes sooner was notified.
    PostgresSettings { poll_every: Duration::from_secs(600), ..PostgresSettings::new(server.database(), coordinator) }
}

pub async fn raw(server: &Server) -> Client {
    let (client, connection) = server.database().connect(tokio_postgres::NoTls).await.expect("the server runs");
    tokio::spawn(connection);
    client
}

pub async fn number(client: &Client, query: &str) -> i64 {
    client.query_one(query, &[]).await.expect("a query").get(0)
}

pub fn key(row: i64) -> RowKey {
    RowKey::new(&[Value::Int(row)]).expect("an int is a key")
}

pub fn write(row: i64, operation: Operation) -> Write {
    Write { cell: Cell { table: TABLE, row: key(row), column: COLUMN }, operation }
}

/// The transactions of one client.
pub struct Writer<'a> {
    gateway: &'a Gateway,
    client: u128,
    last: u64,
}

impl<'a> Writer<'a> {
    pub fn at(gateway: &'a Gateway, client: u128) -> Writer<'a> {
        Writer { gateway, client, last: 0 }
    }

    pub async fn commit(&mut self, writes: Vec<Write>) -> Timestamp {
        self.last += 1;
        let id = TransactionId { client: ClientId(Id::from_u128(self.client)), counter: Counter(self.last) };
        let decision = Decision::Commit(writes);
        let transaction = Transaction {
            id,
            attempt: Attempt(1),
            snapshot: Timestamp::ZERO,
            reads: Vec::new(),
            decision,
            level: Level::Strict,
        };
        match self.gateway.ask(Request::Commit { transaction, floor: Timestamp::ZERO, within: None }).await {
            Reply::Commit(CommitReply::Completed(Completion {
                at,
                decision: CompletionDecision::Committed,
                attempt: _,
            })) => at,
            other => panic!("{other:?}"),
        }
    }
}

pub async fn read_all(gateway: &Gateway, at: Timestamp) -> Result<Vec<RowAt>, TooOld> {
    let interest = Interest::Range { table: TABLE, range: KeyRange::all() };
    match gateway.ask(Request::ReadAt { interest, at, limit: ReadLimit::NONE }).await {
        Reply::ReadAt(reply) => reply.map(|ReadReply { rows, .. }| rows),
        other => panic!("{other:?}"),
    }
}

pub fn counts(rows: &[RowAt]) -> Vec<Option<&CellState>> {
    rows.iter().map(|row| row.row.cell(COLUMN)).collect()
}

pub async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), work).await.expect("it comes in time")
}
