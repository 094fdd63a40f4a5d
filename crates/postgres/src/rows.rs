//! Rows out of the database: the newest state that was kept, and the commits since.

use std::collections::BTreeMap;

use iolite_store::Commit;
use iolite_values::{Row, Timestamp};
use tokio_postgres::{Client, Error, Statement};

use crate::error::WorkError;
use crate::facts::{Malformed, RowFacts, RowId};
use crate::numbers::{timestamp_from_column, timestamp_to_column};
use crate::records;

/// One statement, so that everything is of one moment. In its answer: the states, then which commit touched which row, then these commits.
const FETCH: &str = "
WITH wanted AS (
  SELECT * FROM unnest($1::int8[], $2::bytea[], $3::int8[]) WITH ORDINALITY AS w(tbl, key, since, number)
), base AS (
  SELECT w.*, s.at, s.row FROM wanted w LEFT JOIN LATERAL (
    SELECT at, row FROM states WHERE tbl = w.tbl AND key = w.key AND at <= $4 ORDER BY at DESC LIMIT 1
  ) s ON true
), touched AS (
  SELECT b.number, t.at FROM base b JOIN touches t
  ON t.tbl = b.tbl AND t.key = b.key AND t.at > LEAST(COALESCE(b.at, -9223372036854775808), b.since) AND t.at <= $4
)
SELECT 0 AS kind, number, at, row AS bytes FROM base WHERE at IS NOT NULL
UNION ALL SELECT 1, number, at, NULL FROM touched
UNION ALL SELECT 2, 0, c.at, c.record FROM commits c WHERE c.at IN (SELECT at FROM touched)
ORDER BY 1, 2, 3";

/// Rows and since when every commit that touched them is asked for, whatever state is kept.
pub(crate) type Wanted = [(RowId, Timestamp)];

#[derive(Clone)]
pub(crate) struct Rows {
    fetch: Statement,
}

impl Rows {
    pub async fn prepare(client: &Client) -> Result<Rows, Error> {
        Ok(Rows { fetch: client.prepare(FETCH).await? })
    }

    /// The rows as of `through`.
    pub async fn fetch(
        &self,
        client: &Client,
        wanted: &Wanted,
        through: Timestamp,
    ) -> Result<BTreeMap<RowId, RowFacts>, WorkError> {
        if wanted.is_empty() {
            return Ok(BTreeMap::new());
        }
        let tables: Vec<i64> = wanted.iter().map(|((table, _), _)| i64::from(table.0)).collect();
        let keys: Vec<&[u8]> = wanted.iter().map(|((_, key), _)| key.as_bytes()).collect();
        let since: Vec<i64> = wanted.iter().map(|(_, since)| timestamp_to_column(*since)).collect();
        let through = timestamp_to_column(through);
        let answer = client.query(&self.fetch, &[&tables, &keys, &since, &through]).await?;
        Ok(collect(wanted, &answer)?)
    }
}

#[derive(Default)]
struct Found {
    base: Row,
    base_at: Timestamp,
    touched: Vec<Timestamp>,
}

fn collect(wanted: &Wanted, answer: &[tokio_postgres::Row]) -> Result<BTreeMap<RowId, RowFacts>, Malformed> {
    let mut found: Vec<Found> = wanted.iter().map(|_| Found::default()).collect();
    let mut commits: BTreeMap<Timestamp, Option<Commit>> = BTreeMap::new();
    for line in answer {
        let (kind, number): (i32, i64) = (line.get(0), line.get(1));
        let at = timestamp_from_column(line.get(2));
        if kind == 2 {
            commits.insert(at, records::decode(at, line.get(3))?);
            continue;
        }
        let index = usize::try_from(number - 1).expect("rows are numbered from 1");
        if kind == 1 {
            found[index].touched.push(at);
        } else {
            found[index].base = records::decode_row(&wanted[index].0, line.get(3))?;
            found[index].base_at = at;
        }
    }
    let mut rows = BTreeMap::new();
    for ((id, _), found) in wanted.iter().zip(found) {
        let touched = found.touched.iter().map(|at| {
            let commit = commits.get(at).and_then(Clone::clone);
            commit.ok_or(Malformed::Unexpected("a row that was touched by no commit"))
        });
        let facts = RowFacts::fold(id, found.base, found.base_at, touched.collect::<Result<_, _>>()?)?;
        rows.insert(id.clone(), facts);
    }
    Ok(rows)
}
