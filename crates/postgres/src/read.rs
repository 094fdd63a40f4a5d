//! Reading rows and changes, as of what is resolved.
//!
//! Invariant: all statements of one request see one moment (REPEATABLE READ), so nothing is collected between two of them.

use std::pin::pin;

use futures_util::TryStreamExt;
use futures_util::future::try_join_all;
use iolite_store::{ChangesError, Commit, ReadLimit, ReadReply, Refusal, Reply, RowAt, TooOld};
use iolite_values::{
    ClientId, ColumnId, Counter, Direction, Interest, Interests, KeyRange, Query, Row, RowKey, TableId, Timestamp,
};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row as SqlRow, Statement};

use crate::commit::completion_from_columns;
use crate::error::WorkError;
use crate::facts::{Malformed, RowId};
use crate::numbers::{counter_from_column, counter_to_column, timestamp_from_column, timestamp_to_column};
use crate::records;
use crate::rows::Rows;
use crate::shared::Shared;

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

const LOW_WATERMARK: &str = "SELECT low_watermark FROM history";

/// Some rows of a range, in the order of their keys. They may turn out to hold nothing.
const KEYS: &str = "
(SELECT DISTINCT key FROM states WHERE tbl = $1 AND key >= $2 AND key < $3 ORDER BY key LIMIT $4)
UNION (SELECT DISTINCT key FROM touches WHERE tbl = $1 AND key >= $2 AND key < $3 ORDER BY key LIMIT $4)
ORDER BY key LIMIT $4";

/// The same against that order.
const KEYS_BACKWARDS: &str = "
(SELECT DISTINCT key FROM states WHERE tbl = $1 AND key >= $2 AND key < $3 ORDER BY key DESC LIMIT $4)
UNION (SELECT DISTINCT key FROM touches WHERE tbl = $1 AND key >= $2 AND key < $3 ORDER BY key DESC LIMIT $4)
ORDER BY key DESC LIMIT $4";

const CHANGES: &str = "
SELECT at, record FROM commits WHERE at IN (
  SELECT t.at FROM unnest($1::int8[], $2::bytea[], $3::bytea[]) AS r(tbl, lower, upper)
  JOIN touches t ON t.tbl = r.tbl AND t.key >= r.lower AND t.key < r.upper AND t.at > $4 AND t.at <= $5
) ORDER BY at LIMIT $6";

const COMPLETIONS: &str = "
SELECT counter, attempt, at, aborted FROM completions WHERE client = $1 AND counter > $2 AND at <= $3 ORDER BY counter LIMIT $4";

const LAST_OUTCOME: &str = "
SELECT GREATEST(
  (SELECT max(counter) FROM completions WHERE client = $1 AND at <= $2), (SELECT acknowledged FROM clients WHERE client = $1))";

/// Above every key: no key begins with it.
const AFTER_ALL: &[u8] = &[0xff];

/// So many rows or commits are fetched at first, then twice as many, and so on: who asks for too much is sent no more than twice of it.
const PAGE: i64 = 64;
/// So many rows at the most.
const PAGE_LAST: i64 = 1024;

/// A connection on which is read.
pub(crate) struct Reader {
    client: Client,
    rows: Rows,
    low_watermark: Statement,
    keys: Statement,
    keys_backwards: Statement,
    changes: Statement,
    completions: Statement,
    last_outcome: Statement,
}

impl Reader {
    pub async fn new(client: Client) -> Result<Reader, Error> {
        Ok(Reader {
            rows: Rows::prepare(&client).await?,
            low_watermark: client.prepare(LOW_WATERMARK).await?,
            keys: client.prepare(KEYS).await?,
            keys_backwards: client.prepare(KEYS_BACKWARDS).await?,
            changes: client.prepare(CHANGES).await?,
            completions: client.prepare(COMPLETIONS).await?,
            last_outcome: client.prepare(LAST_OUTCOME).await?,
            client,
        })
    }

    /// Ends whatever is open, so that the connection can be used again.
    pub async fn clear(&self) -> Result<(), Error> {
        self.client.batch_execute("ROLLBACK").await
    }

    pub async fn read_at(
        &self,
        shared: &Shared,
        interest: &Interest,
        at: Timestamp,
        limit: ReadLimit,
    ) -> Result<Reply, WorkError> {
        if let Err(refusal) = check_resolved(shared, at) {
            return Ok(Reply::Refused(refusal));
        }
        if let Some(too_old) = self.begin(at).await? {
            self.clear().await?;
            return Ok(Reply::ReadAt(Err(too_old)));
        }
        let reply = match interest {
            Interest::Cell(cell) => self.one(shared, (cell.table, cell.row.clone()), cell.column, at).await?,
            Interest::Range { table, range } => self.range(shared, *table, range, at, limit).await?,
            Interest::Query(query) => self.query(shared, query, at, limit).await?,
        };
        self.clear().await?;
        Ok(Reply::ReadAt(Ok(reply)))
    }

    pub async fn changes(
        &self,
        shared: &Shared,
        interests: &[Interest],
        (after, through): (Timestamp, Timestamp),
        bytes_max: usize,
    ) -> Result<Reply, WorkError> {
        if let Err(refusal) = check_resolved(shared, through) {
            return Ok(Reply::Refused(refusal));
        }
        let too_old = self.begin(after).await?;
        let changes = match too_old {
            Some(too_old) => Err(ChangesError::TooOld(too_old)),
            None => self.changes_between(interests, (after, through), bytes_max).await?,
        };
        self.clear().await?;
        Ok(Reply::Changes(changes))
    }

    pub async fn completions(
        &self,
        shared: &Shared,
        (client, after): (ClientId, Counter),
        at: Timestamp,
        most: usize,
    ) -> Result<Reply, WorkError> {
        if let Err(refusal) = check_resolved(shared, at) {
            return Ok(Reply::Refused(refusal));
        }
        let (client, after, at) = (client.0.to_bytes(), counter_to_column(after), timestamp_to_column(at));
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let answer = self.client.query(&self.completions, &[&&client[..], &after, &at, &most]).await?;
        let completion = |row: &SqlRow| Some((counter_from_column(row.get(0)), completion_from_columns(row, 1)?));
        Ok(Reply::Completions(Ok(answer.iter().filter_map(completion).collect())))
    }

    pub async fn last_outcome(&self, shared: &Shared, client: ClientId, at: Timestamp) -> Result<Reply, WorkError> {
        if let Err(refusal) = check_resolved(shared, at) {
            return Ok(Reply::Refused(refusal));
        }
        let (client, at) = (client.0.to_bytes(), timestamp_to_column(at));
        let row = self.client.query_one(&self.last_outcome, &[&&client[..], &at]).await?;
        let last: Option<i64> = row.get(0);
        Ok(Reply::LastOutcome(Ok(last.map(counter_from_column).unwrap_or_default())))
    }

    /// Begins at one moment; says if what was at `at` is forgotten then.
    async fn begin(&self, at: Timestamp) -> Result<Option<TooOld>, Error> {
        let (begun, row) = tokio::join!(
            biased;
            self.client.batch_execute(BEGIN),
            self.client.query_one(&self.low_watermark, &[])
        );
        begun?;
        let low_watermark = timestamp_from_column(row?.get(0));
        Ok((at < low_watermark).then_some(TooOld { low_watermark }))
    }

    async fn one(&self, shared: &Shared, id: RowId, column: ColumnId, at: Timestamp) -> Result<ReadReply, WorkError> {
        let rows = self.rows.fetch(&self.client, &[(id, Timestamp::MAX)], at).await?;
        shared.note_long(&rows);
        let rows = rows.into_iter().filter_map(|(id, facts)| row_at(id, facts.latest.with_only(column)));
        Ok(ReadReply::through_limit(at, rows, ReadLimit::NONE))
    }

    async fn range(
        &self,
        shared: &Shared,
        table: TableId,
        range: &KeyRange,
        at: Timestamp,
        limit: ReadLimit,
    ) -> Result<ReadReply, WorkError> {
        self.scan(shared, table, range, at, limit, |_| true).await
    }

    /// Every row whose key may be one of its answers is looked at, as the database has no indexes of our columns. In the order of primary keys that ends
    /// with the limit.
    async fn query(
        &self,
        shared: &Shared,
        query: &Query,
        at: Timestamp,
        limit: ReadLimit,
    ) -> Result<ReadReply, WorkError> {
        let selects = |row: &RowAt| query.selects(&row.key, &row.row);
        let stretches = query.key_stretches();
        if let ([keys], true) = (&stretches[..], query.index.is_empty()) {
            return self.scan(shared, query.table, keys, at, limit, selects).await;
        }
        // All at once, so that many take no more round trips than one.
        let scans = stretches.iter().map(|keys| self.scan(shared, query.table, keys, at, ReadLimit::NONE, selects));
        let found = try_join_all(scans).await?;
        let mut rows: Vec<RowAt> = found.into_iter().flat_map(|own| own.rows).collect();
        rows.sort_by_cached_key(|row| query.index_key(&row.key, &row.row));
        if limit.direction == Direction::Descending {
            rows.reverse();
        }
        Ok(ReadReply::through_limit(at, rows, limit))
    }

    /// The rows of a range that are wanted, page by page in the direction of the limit, through the one that passes it.
    async fn scan(
        &self,
        shared: &Shared,
        table: TableId,
        range: &KeyRange,
        at: Timestamp,
        limit: ReadLimit,
        is_wanted: impl Fn(&RowAt) -> bool,
    ) -> Result<ReadReply, WorkError> {
        let (mut found, mut left) = (ReadReply { at, rows: Vec::new(), is_cut: false }, limit);
        let (mut lower, mut upper) = (range.lower.to_vec(), range.upper.as_deref().unwrap_or(AFTER_ALL).to_vec());
        let mut page = PAGE;
        loop {
            let keys = self.keys(table, (&lower, &upper), limit.direction, page).await?;
            let wanted: Vec<_> = keys.iter().map(|key| ((table, key.clone()), Timestamp::MAX)).collect();
            let rows = self.rows.fetch(&self.client, &wanted, at).await?;
            shared.note_long(&rows);
            let rows = rows.into_iter().filter_map(|(id, facts)| row_at(id, facts.latest)).filter(&is_wanted);
            let more = match limit.direction {
                Direction::Ascending => ReadReply::through_limit(at, rows, left),
                Direction::Descending => ReadReply::through_limit(at, rows.rev(), left),
            };
            left = left.behind(&more.rows);
            found.rows.extend(more.rows);
            if more.is_cut {
                return Ok(ReadReply { is_cut: true, ..found });
            }
            let full = i64::try_from(keys.len()).is_ok_and(|count| count == page);
            let Some(last) = keys.last().filter(|_| full) else { return Ok(found) };
            match limit.direction {
                Direction::Ascending => lower = last.as_bytes().iter().copied().chain([0]).collect(),
                Direction::Descending => upper = last.as_bytes().to_vec(),
            }
            page = (page * 2).min(PAGE_LAST);
        }
    }

    /// The first keys between two bounds, in a direction.
    async fn keys(
        &self,
        table: TableId,
        (lower, upper): (&[u8], &[u8]),
        direction: Direction,
        most: i64,
    ) -> Result<Vec<RowKey>, WorkError> {
        let statement = match direction {
            Direction::Ascending => &self.keys,
            Direction::Descending => &self.keys_backwards,
        };
        let answer = self.client.query(statement, &[&i64::from(table.0), &lower, &upper, &most]).await?;
        let keys: Result<Vec<RowKey>, _> = answer.iter().map(|row| RowKey::from_bytes(row.get(0))).collect();
        Ok(keys.map_err(|_| Malformed::Unexpected("a key that is none"))?)
    }

    async fn changes_between(
        &self,
        interests: &[Interest],
        (after, through): (Timestamp, Timestamp),
        bytes_max: usize,
    ) -> Result<Result<Vec<Commit>, ChangesError>, WorkError> {
        let ranges: Vec<(TableId, KeyRange)> = interests.iter().map(extent_of).collect();
        let tables: Vec<i64> = ranges.iter().map(|(table, _)| i64::from(table.0)).collect();
        let lowers: Vec<&[u8]> = ranges.iter().map(|(_, range)| &range.lower[..]).collect();
        let uppers: Vec<&[u8]> = ranges.iter().map(|(_, range)| range.upper.as_deref().unwrap_or(AFTER_ALL)).collect();
        let (mut after, through) = (timestamp_to_column(after), timestamp_to_column(through));
        let (interests, mut commits, mut bytes) = (Interests::new(interests), Vec::new(), 0);
        let mut page = PAGE;
        loop {
            let values: [&(dyn ToSql + Sync); 6] = [&tables, &lowers, &uppers, &after, &through, &page];
            let (mut answer, mut count) = (pin!(self.client.query_raw(&self.changes, values).await?), 0);
            while let Some(line) = answer.try_next().await? {
                (after, count) = (line.get(0), count + 1);
                let commit = records::decode(timestamp_from_column(after), line.get(1))?;
                let is_asked_for = |commit: &Commit| commit.writes.iter().any(|write| interests.include(&write.cell));
                let Some(commit) = commit.filter(is_asked_for) else { continue };
                bytes += commit.size_bytes();
                if bytes > bytes_max {
                    return Ok(Err(ChangesError::TooMuch));
                }
                commits.push(commit);
            }
            if count < page {
                return Ok(Ok(commits));
            }
            page *= 2;
        }
    }
}

fn check_resolved(shared: &Shared, asked: Timestamp) -> Result<(), Refusal> {
    let resolved = shared.resolved();
    if asked <= resolved { Ok(()) } else { Err(Refusal::NotResolved { asked, resolved }) }
}

/// The rows that the interest is about.
fn extent_of(interest: &Interest) -> (TableId, KeyRange) {
    match interest {
        Interest::Cell(cell) => (cell.table, KeyRange::one(&cell.row)),
        Interest::Range { table, range } => (*table, range.clone()),
        Interest::Query(query) => (query.table, query.row_keys()),
    }
}

fn row_at((table, key): RowId, row: Row) -> Option<RowAt> {
    (!row.is_empty()).then_some(RowAt { table, key, row })
}
