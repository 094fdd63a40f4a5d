//! Deciding a transaction: one SQL transaction that locks, looks, validates and writes.
//!
//! Invariant: what it looks at, it looks at after it holds its locks (each statement has a snapshot of its own: READ COMMITTED), and holds them until
//! what it wrote is visible.

use std::collections::BTreeSet;

use iolite_store::{Commit, CommitReply, Completion, CompletionDecision, Refusal, Reply};
use iolite_values::{Attempt, ClientId, Counter, Decision, KeyRange, Read, TableId, Timestamp, Transaction};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

use crate::error::WorkError;
use crate::facts::{ClientFacts, Facts, Standing};
use crate::locks::{LockKey, Mode, Plan, rows_of};
use crate::numbers::{counter_from_column, counter_to_column, timestamp_from_column, timestamp_to_column};
use crate::records;
use crate::rows::Rows;
use crate::settings::Broken;
use crate::shared::{Shared, wanted_rows};
use crate::validate::{Verdict, validate, validity};

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// In the order of the arrays.
const LOCK: &str = "
SELECT CASE WHEN exclusive THEN pg_advisory_xact_lock(key) ELSE pg_advisory_xact_lock_shared(key) END
FROM unnest($1::int8[], $2::bool[]) AS wanted(key, exclusive)";

const RANGES: &str = "
SELECT max(t.at) FROM unnest($1::int8[], $2::bytea[], $3::bytea[]) AS r(tbl, lower, upper)
JOIN touches t ON t.tbl = r.tbl AND t.key >= r.lower AND t.key < r.upper AND t.at > $4";

const BESIDE_QUERIES: &str = "
SELECT at, record FROM commits WHERE at IN (
  SELECT t.at FROM unnest($1::int8[], $2::bytea[], $3::bytea[]) AS r(tbl, lower, upper)
  JOIN touches t ON t.tbl = r.tbl AND t.key >= r.lower AND t.key < r.upper AND t.at > $4
) ORDER BY at";

const STANDING: &str = "
SELECT GREATEST((SELECT max(at) FROM commits), h.low_watermark), h.low_watermark,
  (extract(epoch FROM clock_timestamp()) * 1000000)::int8,
  (SELECT acknowledged FROM clients WHERE client = $1), c.attempt, c.at, c.aborted
FROM history h LEFT JOIN completions c ON c.client = $1 AND c.counter = $2";

const WRITE: &str = "
WITH logged AS (INSERT INTO commits (at, operations, record) VALUES ($1, $2, $3)),
touched AS (INSERT INTO touches (tbl, key, at) SELECT tbl, key, $1 FROM unnest($4::int8[], $5::bytea[]) AS t(tbl, key))
INSERT INTO completions (client, counter, attempt, at, aborted) SELECT $6, $7, $8, $1, $9 WHERE $10";

const ACKNOWLEDGE: &str = "
INSERT INTO clients (client, acknowledged) VALUES ($1, $2)
ON CONFLICT (client) DO UPDATE SET acknowledged = GREATEST(clients.acknowledged, excluded.acknowledged)";

const FORGET: &str = "DELETE FROM completions WHERE client = $1 AND counter <= $2";

/// Above every key: no key begins with it.
const AFTER_ALL: &[u8] = &[0xff];

/// A value for a column.
type Value<'a> = &'a (dyn ToSql + Sync);

/// Ranges of keys in columns.
#[derive(Default)]
struct Ranges<'a> {
    tables: Vec<i64>,
    lowers: Vec<&'a [u8]>,
    uppers: Vec<&'a [u8]>,
}

impl<'a> FromIterator<(TableId, &'a KeyRange)> for Ranges<'a> {
    fn from_iter<I: IntoIterator<Item = (TableId, &'a KeyRange)>>(all: I) -> Ranges<'a> {
        let mut ranges = Ranges::default();
        for (table, range) in all {
            ranges.tables.push(i64::from(table.0));
            ranges.lowers.push(&range.lower[..]);
            ranges.uppers.push(range.upper.as_deref().unwrap_or(AFTER_ALL));
        }
        ranges
    }
}

/// A connection on which transactions are decided.
pub(crate) struct Committer {
    client: Client,
    rows: Rows,
    lock: Statement,
    ranges: Statement,
    beside_queries: Statement,
    standing: Statement,
    write: Statement,
    acknowledge: Statement,
    forget: Statement,
}

impl Committer {
    pub async fn new(client: Client) -> Result<Committer, Error> {
        Ok(Committer {
            rows: Rows::prepare(&client).await?,
            lock: client.prepare(LOCK).await?,
            ranges: client.prepare(RANGES).await?,
            beside_queries: client.prepare(BESIDE_QUERIES).await?,
            standing: client.prepare(STANDING).await?,
            write: client.prepare(WRITE).await?,
            acknowledge: client.prepare(ACKNOWLEDGE).await?,
            forget: client.prepare(FORGET).await?,
            client,
        })
    }

    /// Ends whatever is open, so that the connection can be used again.
    pub async fn clear(&self) -> Result<(), Error> {
        self.client.batch_execute("ROLLBACK").await
    }

    /// Decides a transaction, or finds out how it was decided.
    pub async fn commit(
        &self,
        shared: &Shared,
        transaction: &Transaction,
        floor: Timestamp,
    ) -> Result<Reply, WorkError> {
        let mut exclusive = BTreeSet::new();
        loop {
            let plan = Plan::new(shared.space, transaction, &exclusive);
            let facts = self.begin(shared, transaction, &plan).await?;
            let verdict = match overtaken(shared, transaction, &facts) {
                Some(at_least) => Verdict::Reply(CommitReply::Conflict { at_least }),
                None => validate(transaction, &facts, &plan, shared.settings.broken),
            };
            let reply = match verdict {
                Verdict::Accept => match self.decide(shared, transaction, floor, &facts).await? {
                    Ok(reply) => return Ok(reply),
                    Err(refusal) => Reply::Refused(refusal),
                },
                Verdict::Lock(rows) => {
                    self.clear().await?;
                    exclusive.extend(rows);
                    continue;
                }
                Verdict::Reply(reply) => {
                    if let CommitReply::Conflict { at_least } = reply {
                        shared.attempts().note(transaction.id, transaction.attempt, at_least);
                    }
                    Reply::Commit(reply)
                }
                Verdict::Refuse(refusal) => Reply::Refused(refusal),
            };
            self.clear().await?;
            return Ok(reply);
        }
    }

    /// Whether what a transaction that only reads has read is true still: looked at under its locks, and nothing is written.
    pub async fn validate(&self, shared: &Shared, reader: &Transaction) -> Result<Reply, WorkError> {
        let (asked, resolved) = (reader.snapshot, shared.resolved());
        if asked > resolved {
            return Ok(Reply::Refused(Refusal::NotResolved { asked, resolved }));
        }
        let plan = Plan::new(shared.space, reader, &BTreeSet::new());
        let facts = self.begin(shared, reader, &plan).await?;
        self.clear().await?;
        Ok(Reply::Validated(validity(reader, &facts, shared.settings.broken)))
    }

    /// The client needs no outcome up to this counter any more.
    pub async fn acknowledge(&self, shared: &Shared, client: ClientId, through: Counter) -> Result<Reply, WorkError> {
        let keys = [LockKey::of_client(shared.space, client).as_i64()];
        let (bytes, column) = (client.0.to_bytes(), counter_to_column(through));
        let bytes = &bytes[..];
        let values: [Value<'_>; 2] = [&bytes, &column];
        let (begun, locked, acknowledged, forgotten, committed) = tokio::join!(
            biased;
            self.client.batch_execute(BEGIN),
            self.lock(&keys, &[true]),
            self.client.execute(&self.acknowledge, &values),
            self.client.execute(&self.forget, &values),
            self.client.batch_execute("COMMIT"),
        );
        begun.and(locked)?;
        acknowledged.and(forgotten).map(drop)?;
        committed?;
        shared.attempts().forget_through(client, through);
        Ok(Reply::Acknowledged)
    }

    /// Begins, locks, and looks. All is sent at once; the database does one after the other.
    async fn begin(&self, shared: &Shared, transaction: &Transaction, plan: &Plan) -> Result<Facts, WorkError> {
        let (keys, modes) = lock_columns(plan, shared.settings.broken);
        let wanted = wanted_rows(transaction, rows_of(transaction));
        let (bytes, counter) = (transaction.id.client.0.to_bytes(), counter_to_column(transaction.id.counter));
        let bytes = &bytes[..];
        let client: [Value<'_>; 2] = [&bytes, &counter];
        // What is kept of the past is asked for first, and through where it is kept after that: it can only be collected in between.
        let (begun, locked, rows, range_change, beside_queries, standing) = tokio::join!(
            biased;
            self.client.batch_execute(BEGIN),
            self.lock(&keys, &modes),
            self.rows.fetch(&self.client, &wanted, Timestamp::MAX),
            self.range_change(transaction),
            self.beside_queries(transaction),
            self.client.query_one(&self.standing, &client),
        );
        begun.and(locked)?;
        let (rows, range_change, beside_queries, standing) = (rows?, range_change?, beside_queries?, standing?);
        shared.note_long(&rows);
        let (standing, client) = (standing_of(&standing), client_of(&standing));
        Ok(Facts { standing, client, rows, range_change, beside_queries })
    }

    async fn lock(&self, keys: &[i64], modes: &[bool]) -> Result<(), Error> {
        self.client.execute(&self.lock, &[&keys, &modes]).await.map(drop)
    }

    async fn range_change(&self, transaction: &Transaction) -> Result<Option<Timestamp>, Error> {
        let ranges = transaction.reads.iter().filter_map(|read| match read {
            Read::Range { table, range } => Some((*table, range)),
            Read::Cell { .. } | Read::Query(_) => None,
        });
        let Ranges { tables, lowers, uppers } = ranges.collect();
        if tables.is_empty() {
            return Ok(None);
        }
        let snapshot = timestamp_to_column(transaction.snapshot);
        let row = self.client.query_one(&self.ranges, &[&tables, &lowers, &uppers, &snapshot]).await?;
        Ok(row.get::<_, Option<i64>>(0).map(timestamp_from_column))
    }

    async fn beside_queries(&self, transaction: &Transaction) -> Result<Vec<Commit>, WorkError> {
        let keys = transaction.reads.iter().filter_map(|read| match read {
            Read::Query(query) => Some((query.table, query.row_keys())),
            Read::Cell { .. } | Read::Range { .. } => None,
        });
        let keys: Vec<_> = keys.collect();
        let Ranges { tables, lowers, uppers } = keys.iter().map(|(table, range)| (*table, range)).collect();
        if tables.is_empty() {
            return Ok(Vec::new());
        }
        let snapshot = timestamp_to_column(transaction.snapshot);
        let lines = self.client.query(&self.beside_queries, &[&tables, &lowers, &uppers, &snapshot]).await?;
        let commits = lines.iter().map(|line| records::decode(timestamp_from_column(line.get(0)), line.get(1)));
        Ok(commits.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Writes the outcome, its completion record with it, and commits.
    async fn decide(
        &self,
        shared: &Shared,
        transaction: &Transaction,
        floor: Timestamp,
        facts: &Facts,
    ) -> Result<Result<Reply, Refusal>, WorkError> {
        let standing = match shared.settings.broken {
            Broken::IgnoreHighest => Standing { highest: Timestamp::ZERO, ..facts.standing },
            Broken::Nothing
            | Broken::SkipReadValidation
            | Broken::LastCommitterWins
            | Broken::NoCompletionRecords
            | Broken::SkipDrain
            | Broken::SkipLocks => facts.standing,
        };
        let stamped = shared.stamp(&standing, floor);
        let at = match stamped {
            Ok(at) => at,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let record = match records::encode(transaction, at) {
            Ok(record) => record,
            Err(refusal) => return Ok(Err(refusal)),
        };
        self.write(shared, transaction, at, &record).await?;
        shared.attempts().forget(transaction.id);
        let decision = match &transaction.decision {
            Decision::Commit(_) => CompletionDecision::Committed,
            Decision::Abort(_) => CompletionDecision::Aborted,
        };
        let completion = Completion { attempt: transaction.attempt, at, decision };
        Ok(Ok(Reply::Commit(CommitReply::Completed(completion))))
    }

    async fn write(
        &self,
        shared: &Shared,
        transaction: &Transaction,
        at: Timestamp,
        record: &[u8],
    ) -> Result<(), Error> {
        let touched: BTreeSet<_> =
            transaction.writes().iter().map(|write| (write.cell.table, write.cell.row.as_bytes())).collect();
        let tables: Vec<i64> = touched.iter().map(|(table, _)| i64::from(table.0)).collect();
        let keys: Vec<&[u8]> = touched.iter().map(|(_, key)| *key).collect();
        let (client, counter) = (transaction.id.client.0.to_bytes(), counter_to_column(transaction.id.counter));
        let (at, attempt) = (timestamp_to_column(at), i64::from(transaction.attempt.0));
        let operations = i32::try_from(transaction.writes().len()).unwrap_or(i32::MAX);
        let aborted = matches!(transaction.decision, Decision::Abort(_));
        let recorded = shared.settings.broken != Broken::NoCompletionRecords;
        let (client, record) = (&client[..], &record);
        let values: [Value<'_>; 10] =
            [&at, &operations, record, &tables, &keys, &client, &counter, &attempt, &aborted, &recorded];
        let (written, committed) =
            tokio::join!(biased; self.client.execute(&self.write, &values), self.client.batch_execute("COMMIT"));
        // After an error the database takes COMMIT for ROLLBACK, and says that it went well.
        written?;
        committed
    }
}

/// If a later attempt of the transaction was seen, and it is not decided: the snapshot that the client was told to run on.
fn overtaken(shared: &Shared, transaction: &Transaction, facts: &Facts) -> Option<Timestamp> {
    let open = facts.client.completion.is_none() && transaction.id.counter > facts.client.acknowledged;
    open.then(|| shared.attempts().overtaken(transaction.id, transaction.attempt)).flatten()
}

fn lock_columns(plan: &Plan, broken: Broken) -> (Vec<i64>, Vec<bool>) {
    let count = plan.locks.len();
    let needed = |index: &usize| broken != Broken::SkipLocks || *index == 0 || *index + 1 == count;
    let locks = (0..count).filter(needed).map(|index| plan.locks[index]);
    locks.map(|(key, mode)| (key.as_i64(), mode == Mode::Exclusive)).unzip()
}

fn standing_of(row: &Row) -> Standing {
    Standing {
        highest: timestamp_from_column(row.get(0)),
        low_watermark: timestamp_from_column(row.get(1)),
        clock_micros: u64::try_from(row.get::<_, i64>(2)).unwrap_or_default(),
    }
}

fn client_of(row: &Row) -> ClientFacts {
    let acknowledged = row.get::<_, Option<i64>>(3).map(counter_from_column).unwrap_or_default();
    ClientFacts { acknowledged, completion: completion_from_columns(row, 4) }
}

/// Of the columns `attempt`, `at` and `aborted`, the first of which is the one with this number. `None`: they are empty.
pub(crate) fn completion_from_columns(row: &Row, first: usize) -> Option<Completion> {
    row.get::<_, Option<i64>>(first).map(|attempt| Completion {
        attempt: Attempt(u32::try_from(attempt).unwrap_or_default()),
        at: timestamp_from_column(row.get(first + 1)),
        decision: if row.get(first + 2) { CompletionDecision::Aborted } else { CompletionDecision::Committed },
    })
}
