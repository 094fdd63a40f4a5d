//! Reading a table as of one timestamp, page by page.
//!
//! Invariant: while a copy lives, every replica is told again and again to keep its history; a page that comes too late is an error, never a gap.

use std::collections::VecDeque;
use std::time::Duration;

use iolite_node::StoreClient;
use iolite_replication::ShardMap;
use iolite_store::{ReadLimit, ReadReply, Reply, Request, RowAt};
use iolite_values::{Direction, Interest, KeyRange, TableId, Timestamp};
use tokio::task::JoinHandle;

use crate::store_requests::{RequestError, ask, unexpected};

/// One page.
const PAGE: ReadLimit = ReadLimit { rows: 8_192, bytes: 2 << 20, ..ReadLimit::NONE };

/// Well within the time for which replicas keep history without being told again.
const HELD_EACH: Duration = Duration::from_secs(10);

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(
        "a replica no longer has what the store held when this began: it was restarted meanwhile, this command stood still, or the store changed too much. \
         Start again, at a quieter time if it happens again"
    )]
    Forgotten,
}

/// The store at one timestamp.
pub(crate) struct Copy<'a> {
    store: &'a StoreClient,
    shards: &'a ShardMap,
    pub at: Timestamp,
    holding: JoinHandle<()>,
}

impl Drop for Copy<'_> {
    fn drop(&mut self) {
        self.holding.abort();
    }
}

impl<'a> Copy<'a> {
    pub fn new(store: &'a StoreClient, shards: &'a ShardMap, at: Timestamp) -> Copy<'a> {
        let held = store.clone();
        let holding = tokio::spawn(async move {
            loop {
                held.hold(at);
                tokio::time::sleep(HELD_EACH).await;
            }
        });
        Copy { store, shards, at, holding }
    }

    /// The rows of a table, in the order of their keys.
    pub fn table(&self, table: TableId) -> Pages<'_> {
        self.range(table, &KeyRange::all())
    }

    /// Those of a range.
    pub fn range(&self, table: TableId, range: &KeyRange) -> Pages<'_> {
        // Shard by shard, so that no page is asked of several at once.
        let ranges = self.shards.of_range(table, range).into_iter().map(|(_, range)| range);
        Pages { copy: self, table, ranges: ranges.collect() }
    }
}

/// What is left of a table.
pub(crate) struct Pages<'a> {
    copy: &'a Copy<'a>,
    table: TableId,
    ranges: VecDeque<KeyRange>,
}

impl Pages<'_> {
    /// The next rows; none: that was all.
    pub async fn next(&mut self) -> Result<Option<Vec<RowAt>>, ReadError> {
        while let Some(range) = self.ranges.pop_front() {
            let interest = Interest::Range { table: self.table, range: range.clone() };
            let request = Request::ReadAt { interest, at: self.copy.at, limit: PAGE };
            let page = match ask(self.copy.store, request).await? {
                Reply::ReadAt(Ok(page)) => page,
                Reply::ReadAt(Err(_)) => return Err(ReadError::Forgotten),
                other => return Err(unexpected("a read", &other).into()),
            };
            if let Some(rest) = rest_behind(&range, &page) {
                self.ranges.push_front(rest);
            }
            if !page.rows.is_empty() {
                return Ok(Some(page.rows));
            }
        }
        Ok(None)
    }
}

/// What of a range is still to be read.
fn rest_behind(range: &KeyRange, page: &ReadReply) -> Option<KeyRange> {
    let last = page.rows.last().filter(|_| page.is_cut)?;
    Some(range.behind(last.key.as_bytes(), Direction::Ascending))
}

#[cfg(test)]
mod tests {
    use iolite_values::{Row, RowKey, Value};

    use super::*;

    #[test]
    fn a_range_is_read_on_while_the_store_says_that_there_is_more_however_little_came() {
        let key = RowKey::new(&[Value::Int(1)]).expect("short");
        let rows = vec![RowAt { table: TableId(1), key: key.clone(), row: Row::default() }];
        let page = |is_cut| ReadReply { at: Timestamp::ZERO, rows: rows.clone(), is_cut };
        let behind = KeyRange { lower: KeyRange::one(&key).upper.expect("one row has an end"), upper: None };
        assert_eq!(rest_behind(&KeyRange::all(), &page(true)), Some(behind));
        assert_eq!(rest_behind(&KeyRange::all(), &page(false)), None);
    }
}
