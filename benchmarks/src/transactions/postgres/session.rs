//! One client of PostgreSQL.
//!
//! Invariant: everything between BEGIN and COMMIT is in one transaction of the server; BEGIN goes with the first read, and all puts with the
//! COMMIT, in one piece, ordered by key, so that writers wait for each other in one order.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use futures_util::future::{join, join_all};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, Row, Statement};

use crate::accounting::Traffic;
use crate::transactions::system::{Interrupted, Outcome, Session};
use crate::transactions::workload::{KeyNumber, Mode, Value};

pub struct PostgresSession {
    client: Client,
    traffic: Arc<Traffic>,
    get: Statement,
    put: Statement,
    mode: Mode,
    stage: Stage,
    puts: Vec<(Vec<u8>, [u8; 64])>,
}

/// What the server knows of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Nothing,
    /// It has begun.
    Open,
    /// It has begun, and was given up here.
    Abandoned,
}

const GET: &str = "SELECT value FROM kv WHERE key = $1";
const PUT: &str = "UPDATE kv SET value = $2 WHERE key = $1";

/// In the order of the keys, with nulls where there is nothing.
const READ_ALL: &str = "SELECT kv.value FROM unnest($1::bytea[]) WITH ORDINALITY AS wanted (key, place) \
     LEFT JOIN kv USING (key) ORDER BY place";

impl PostgresSession {
    pub async fn new(client: Client, traffic: Arc<Traffic>) -> Result<PostgresSession, Error> {
        let (get, put) = (client.prepare(GET).await?, client.prepare(PUT).await?);
        let (mode, stage) = (Mode::ReadOnly, Stage::Nothing);
        Ok(PostgresSession { client, traffic, get, put, mode, stage, puts: Vec::new() })
    }

    async fn try_get(&mut self, key: &[u8]) -> Result<Option<Row>, Error> {
        self.traffic.exchanged();
        let stage = std::mem::replace(&mut self.stage, Stage::Open);
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&key];
        let get = self.client.query_opt(&self.get, &parameters);
        let begin = match (stage, self.mode) {
            (Stage::Open, _) => return get.await,
            (Stage::Nothing, Mode::ReadOnly) => "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY",
            (Stage::Nothing, Mode::ReadWrite) => "BEGIN ISOLATION LEVEL SERIALIZABLE",
            (Stage::Abandoned, Mode::ReadOnly) => "ROLLBACK; BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY",
            (Stage::Abandoned, Mode::ReadWrite) => "ROLLBACK; BEGIN ISOLATION LEVEL SERIALIZABLE",
        };
        // Both are sent before either is answered, in this order.
        let (begun, row) = join(self.client.batch_execute(begin), get).await;
        begun.and(row)
    }
}

impl Session for PostgresSession {
    async fn load(&mut self, keys: &[KeyNumber], value: Value) -> anyhow::Result<()> {
        let names: Vec<Vec<u8>> = keys.iter().map(|key| key.name().into_bytes()).collect();
        let bytes = value.bytes();
        let insert = "INSERT INTO kv SELECT unnest($1::bytea[]), $2";
        self.client.execute(insert, &[&names, &bytes.as_slice()]).await?;
        Ok(())
    }

    async fn read(&mut self, keys: &[KeyNumber]) -> anyhow::Result<Vec<Option<Value>>> {
        let names: Vec<Vec<u8>> = keys.iter().map(|key| key.name().into_bytes()).collect();
        let rows = self.client.query(READ_ALL, &[&names]).await?;
        rows.iter().map(value_of).collect()
    }

    fn begin(&mut self, mode: Mode) {
        self.mode = mode;
        self.puts.clear();
        if self.stage == Stage::Open {
            self.stage = Stage::Abandoned;
        }
    }

    async fn get(&mut self, key: KeyNumber) -> Result<Value, Interrupted> {
        match self.try_get(key.name().as_bytes()).await {
            Ok(row) => {
                let value = row.map_or(Ok(None), |row| value_of(&row)).map_err(Interrupted::Broken)?;
                value.ok_or_else(|| Interrupted::Broken(anyhow!("no value at a key that was loaded")))
            }
            Err(error) if is_conflict(&error) => Err(Interrupted::Aborted),
            Err(error) => Err(Interrupted::Broken(error.into())),
        }
    }

    fn put(&mut self, key: KeyNumber, value: Value) {
        self.puts.push((key.name().into_bytes(), value.bytes()));
    }

    async fn commit(&mut self) -> Outcome {
        self.traffic.exchanged();
        self.stage = Stage::Nothing;
        self.puts.sort();
        let update = |(key, value): &(Vec<u8>, [u8; 64])| {
            let parameters = [key.clone(), value.to_vec()];
            self.client.execute_raw(&self.put, parameters)
        };
        let updates = join_all(self.puts.iter().map(update));
        // All are sent before any is answered, in this order. A COMMIT behind an error rolls back.
        let (updated, committed) = join(updates, self.client.batch_execute("COMMIT")).await;
        match updated.into_iter().find(|updated| !matches!(updated, Ok(1))) {
            Some(Ok(rows)) => return Outcome::Unknown(anyhow!("a put changed {rows} rows")),
            Some(Err(error)) if is_conflict(&error) && committed.is_ok() => return Outcome::Aborted,
            Some(Err(error)) => return Outcome::Unknown(error.into()),
            None => {}
        }
        match committed {
            Ok(()) => Outcome::Committed,
            Err(error) if is_conflict(&error) => Outcome::Aborted,
            Err(error) => Outcome::Unknown(error.into()),
        }
    }
}

/// Errors that PostgreSQL's documentation asks to try again after.
fn is_conflict(error: &Error) -> bool {
    error
        .code()
        .is_some_and(|code| [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code))
}

fn value_of(row: &Row) -> anyhow::Result<Option<Value>> {
    let bytes: Option<&[u8]> = row.try_get(0)?;
    bytes.map(|bytes| Value::read(bytes).context("a value that no client writes")).transpose()
}

impl std::fmt::Debug for PostgresSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PostgresSession").field("mode", &self.mode).field("stage", &self.stage).finish()
    }
}
