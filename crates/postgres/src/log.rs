//! Reading the log of commits, in pieces of a bearable size.

use iolite_values::Timestamp;
use tokio_postgres::{Client, Error, Statement};

use crate::error::WorkError;
use crate::follower::{Reach, Stretch};
use crate::numbers::{timestamp_from_column, timestamp_to_column};
use crate::records;

/// One piece has at most so many commits, ...
pub const STRETCH_COMMITS_MAX: usize = 4096;

/// ... and ends with the one that passes so many bytes.
pub const STRETCH_BYTES_MAX: usize = 4 << 20;

/// With how many there would be if bytes were not counted.
const READ: &str = "
SELECT at, record, count FROM (
  SELECT at, record, before, count(*) OVER () AS count FROM (
    SELECT at, record, sum(octet_length(record)) OVER (ORDER BY at) - octet_length(record) AS before
    FROM commits WHERE at > $1 AND at <= $2 ORDER BY at LIMIT $3
  ) AS first
) AS counted WHERE before <= $4 ORDER BY at";

const EXTENT: &str = "SELECT low_watermark, GREATEST((SELECT max(at) FROM commits), low_watermark) FROM history";

#[derive(Clone)]
pub(crate) struct Log {
    read: Statement,
    extent: Statement,
}

/// Where the log begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// It is whole above this.
    pub low_watermark: Timestamp,
    /// The last timestamp in it, or that was in it.
    pub highest: Timestamp,
}

impl Log {
    pub async fn prepare(client: &Client) -> Result<Log, Error> {
        Ok(Log { read: client.prepare(READ).await?, extent: client.prepare(EXTENT).await? })
    }

    /// What is there of (after, through], or its beginning; and where the log begins and ends, not earlier.
    pub async fn read_within(
        &self,
        client: &Client,
        after: Timestamp,
        through: Timestamp,
    ) -> Result<(Stretch, Extent), WorkError> {
        // Asked last: what was read was whole above where it begins now.
        let (stretch, extent) = tokio::join!(biased; self.read(client, after, through), self.extent(client));
        Ok((stretch?, extent?))
    }

    pub async fn extent(&self, client: &Client) -> Result<Extent, Error> {
        let row = client.query_one(&self.extent, &[]).await?;
        Ok(Extent { low_watermark: timestamp_from_column(row.get(0)), highest: timestamp_from_column(row.get(1)) })
    }

    /// What is there of (after, through], or its beginning.
    pub async fn read(&self, client: &Client, after: Timestamp, through: Timestamp) -> Result<Stretch, WorkError> {
        let (commits, bytes) = (STRETCH_COMMITS_MAX as i64, STRETCH_BYTES_MAX as i64);
        let (after, through) = (timestamp_to_column(after), timestamp_to_column(through));
        let answer = client.query(&self.read, &[&after, &through, &commits, &bytes]).await?;
        let there = answer.first().map_or(0, |row| row.get::<_, i64>(2));
        let mut stretch = Stretch::default();
        for line in &answer {
            let at = timestamp_from_column(line.get(0));
            stretch.commits.push((at, records::decode(at, line.get(1))?));
        }
        let whole = stretch.commits.len() < STRETCH_COMMITS_MAX && stretch.commits.len() as i64 == there;
        stretch.reach = if whole { Reach::Whole } else { Reach::Cut };
        Ok(stretch)
    }
}
