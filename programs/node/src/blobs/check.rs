//! A check of all blobs: every chunk that a row names is there, and is what its name says.
//!
//! Invariant: a chunk counts as a problem only if the row still names it after it was found so. Memory is a page of rows and so many chunks.

use std::collections::BTreeSet;
use std::fmt;

use iolite_blobs::{ObjectName, Walk, blob_of_cell, blobs_of_row};
use iolite_store::RowAt;
use iolite_values::{Blob, ChunkId, Chunks, ColumnId, Interest, KeyRange, LeaseName, Schema, StoreIncarnation};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::Standing;
use crate::blob_store::{BlobStore, Unavailable};
use crate::blobs::asks::Asks;
use crate::blobs::cells::CellName;
use crate::blobs::rows::{Pages, SweepError, read_now, schema_at, tables_with_blobs};

/// Chunks that a check reads at a time.
pub(crate) const CHECKS_OPEN_MAX: usize = 16;

/// The state of an object that is no good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    Missing,
    /// The content has another id, or it is no node where the tree has one.
    Changed,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Flaw::Missing => "missing",
            Flaw::Changed => "changed",
        })
    }
}

/// A chunk that a row names, and that is not there or not what its name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub cell: CellName,
    pub object: ObjectName,
    pub flaw: Flaw,
}

/// The amount that was looked at by now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    pub blobs: u64,
    pub chunks: u64,
    pub bytes: u64,
    pub problems: u64,
}

/// News of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CheckNews {
    Problem(Problem),
    Progress(Checked),
}

/// A check under way.
pub(crate) struct Check<'a> {
    asks: &'a Asks,
    chunks: &'a BlobStore,
    store: StoreIncarnation,
    schema: Schema,
    checked: Checked,
    news: mpsc::Sender<CheckNews>,
}

impl<'a> Check<'a> {
    /// Checks everything that rows name now.
    pub async fn run(
        asks: &'a Asks,
        chunks: &'a BlobStore,
        news: mpsc::Sender<CheckNews>,
    ) -> Result<Checked, SweepError> {
        let Standing { store, resolved } = asks.standing().await;
        let schema = schema_at(asks, resolved).await?;
        let mut pages = Pages::new(asks, None, tables_with_blobs(&schema));
        let mut check = Check { asks, chunks, store, schema, checked: Checked::default(), news };
        while let Some(page) = pages.next().await? {
            for row in &page {
                for (column, blob) in blobs_of_row(&row.row) {
                    check.blob(row, column, blob).await?;
                }
            }
            check.tell(CheckNews::Progress(check.checked)).await;
        }
        Ok(check.checked)
    }

    async fn tell(&self, news: CheckNews) {
        // Nobody may listen any more.
        let _ = self.news.send(news).await;
    }

    async fn blob(&mut self, row: &RowAt, column: ColumnId, blob: &Blob) -> Result<(), SweepError> {
        self.checked.blobs += 1;
        let mut flaws = Vec::new();
        self.look(blob, &mut flaws).await?;
        if flaws.is_empty() {
            return Ok(());
        }
        // A sweep may have taken them, because the row has another blob by now.
        let named = self.leases_now(row, column).await?;
        for (object, flaw) in flaws.into_iter().filter(|(object, _)| named.contains(&object.lease)) {
            self.checked.problems += 1;
            let problem = Problem { cell: CellName::of(&self.schema, row, column), object, flaw };
            self.tell(CheckNews::Problem(problem)).await;
        }
        Ok(())
    }

    /// Walks through the tree of a blob, and reads every chunk that it comes to.
    async fn look(&mut self, blob: &Blob, flaws: &mut Vec<(ObjectName, Flaw)>) -> Result<(), SweepError> {
        let Chunks::Tree(tree) = blob.chunks() else { return Ok(()) };
        let (mut walk, mut open) = (Walk::new(blob), JoinSet::new());
        while let Some(met) = walk.next() {
            let Some(lease) = tree.leases().get(usize::from(met.name.lease)).copied() else { continue };
            let object = ObjectName { store: self.store, lease, chunk: met.name.id };
            if met.is_node() {
                let content = self.chunks.load(object).await?;
                self.count(content.as_deref());
                match content {
                    None => flaws.push((object, Flaw::Missing)),
                    Some(content) if walk.enter(&content).is_err() => flaws.push((object, Flaw::Changed)),
                    Some(_) => {}
                }
                continue;
            }
            if open.len() >= CHECKS_OPEN_MAX {
                self.looked(open.join_next().await, flaws)?;
            }
            let chunks = self.chunks.clone();
            open.spawn(async move { (object, chunks.load(object).await) });
        }
        while let Some(ended) = open.join_next().await {
            self.looked(Some(ended), flaws)?;
        }
        Ok(())
    }

    fn looked(&mut self, ended: Option<Looked>, flaws: &mut Vec<(ObjectName, Flaw)>) -> Result<(), SweepError> {
        let Some(ended) = ended else { return Ok(()) };
        let (object, content) = ended.expect("a read neither panics nor is cancelled");
        let content = content?;
        self.count(content.as_deref());
        match content {
            None => flaws.push((object, Flaw::Missing)),
            Some(content) if ChunkId::of(&content) != object.chunk => flaws.push((object, Flaw::Changed)),
            Some(_) => {}
        }
        Ok(())
    }

    fn count(&mut self, content: Option<&[u8]>) {
        self.checked.chunks += 1;
        self.checked.bytes += content.map_or(0, |content| content.len() as u64);
    }

    /// The leases that the blob of a cell lists now.
    async fn leases_now(&self, row: &RowAt, column: ColumnId) -> Result<BTreeSet<LeaseName>, SweepError> {
        let interest = Interest::Range { table: row.table, range: KeyRange::one(&row.key) };
        let page = read_now(self.asks, interest).await?;
        let cell = page.rows.first().and_then(|row| row.row.cell(column));
        Ok(match cell.and_then(blob_of_cell).map(Blob::chunks) {
            Some(Chunks::Tree(tree)) => tree.leases().iter().copied().collect(),
            Some(Chunks::Inline(_)) | None => BTreeSet::new(),
        })
    }
}

type Looked = Result<(ObjectName, Result<Option<Vec<u8>>, Unavailable>), tokio::task::JoinError>;
