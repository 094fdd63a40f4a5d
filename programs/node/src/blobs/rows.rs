//! Rows that may have blobs, page by page.
//!
//! Invariant: a table is read as of one timestamp where one is given, and each page at the present where none is.

use std::collections::VecDeque;

use iolite_catalog::{Catalog, CatalogError, SchemaPolicy};
use iolite_store::{ReadLimit, Refusal, Reply, Request, RowAt};
use iolite_values::{Direction, Interest, KeyRange, Schema, TableId, Timestamp};

use crate::blob_store::Unavailable;
use crate::blobs::asks::Asks;

/// One page.
const PAGE: ReadLimit = ReadLimit { rows: 1_024, bytes: 1 << 20, ..ReadLimit::NONE };

/// Why a sweep or a check did not come to its end. Each message says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SweepError {
    #[error("the store of blobs cannot be reached: the log of this gateway says why. Try again when it can")]
    Chunks,
    #[error(
        "the store of rows no longer has what it held when this began: it was restarted meanwhile, or reading all rows took too long. Try again at a \
         quieter time"
    )]
    Forgotten,
    #[error("the store of rows was exchanged for another one meanwhile: try again")]
    OtherStore,
    #[error("a client has brought new tables or columns meanwhile, or a backup is being restored: try again")]
    SchemaChanged,
    #[error("the store of rows refuses: {0}")]
    Refused(Refusal),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl From<Unavailable> for SweepError {
    fn from(_: Unavailable) -> SweepError {
        SweepError::Chunks
    }
}

/// Some tables, from their beginning.
pub(crate) struct Pages<'a> {
    asks: &'a Asks,
    at: Option<Timestamp>,
    ranges: VecDeque<(TableId, KeyRange)>,
}

impl<'a> Pages<'a> {
    /// At a timestamp. `None`: each page at the present.
    pub fn new(asks: &'a Asks, at: Option<Timestamp>, tables: impl IntoIterator<Item = TableId>) -> Pages<'a> {
        Pages { asks, at, ranges: tables.into_iter().map(|table| (table, KeyRange::all())).collect() }
    }

    pub fn is_over(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The next rows, of one table. `None`: that was all.
    pub async fn next(&mut self) -> Result<Option<Vec<RowAt>>, SweepError> {
        while let Some((table, range)) = self.ranges.pop_front() {
            let interest = Interest::Range { table, range: range.clone() };
            let page = match self.at {
                Some(at) => read(self.asks, interest, at).await?.ok_or(SweepError::Forgotten)?,
                None => read_now(self.asks, interest).await?,
            };
            if let Some(last) = page.rows.last().filter(|_| page.is_cut) {
                let rest = range.behind(last.key.as_bytes(), Direction::Ascending);
                self.ranges.push_front((table, rest));
            }
            if !page.rows.is_empty() {
                return Ok(Some(page.rows));
            }
        }
        Ok(None)
    }
}

/// Some rows of an interest, at the present.
pub(crate) async fn read_now(asks: &Asks, interest: Interest) -> Result<iolite_store::ReadReply, SweepError> {
    loop {
        let at = asks.standing().await.resolved;
        if let Some(page) = read(asks, interest.clone(), at).await? {
            return Ok(page);
        }
    }
}

/// `None`: the store has forgotten that.
async fn read(asks: &Asks, interest: Interest, at: Timestamp) -> Result<Option<iolite_store::ReadReply>, SweepError> {
    match asks.ask(Request::ReadAt { interest, at, limit: PAGE }).await {
        Reply::ReadAt(page) => Ok(page.ok()),
        Reply::Refused(refusal) => Err(SweepError::Refused(refusal)),
        other => panic!("the store answered a read with {other:?}"),
    }
}

/// The schema that the store had at a timestamp.
pub(crate) async fn schema_at(asks: &Asks, at: Timestamp) -> Result<Schema, SweepError> {
    let mut pages = Pages::new(asks, Some(at), [Catalog::table()]);
    let mut rows = Vec::new();
    while let Some(page) = pages.next().await? {
        rows.extend(page);
    }
    let mut catalog = Catalog::new(SchemaPolicy::Fixed);
    catalog.load(rows)?;
    Ok(catalog.schema().clone())
}

/// The tables that have a column of blobs.
pub fn tables_with_blobs(schema: &Schema) -> Vec<TableId> {
    let with_blobs = schema.tables().filter(|(_, table)| table.data_columns().any(|(_, column)| column.is_blob()));
    with_blobs.map(|(name, _)| TableId::of(name)).collect()
}
