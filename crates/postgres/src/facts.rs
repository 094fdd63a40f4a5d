//! What a transaction finds in the database once it holds its locks: everything that its validation rests on.

use std::collections::BTreeMap;

use iolite_store::{Commit, Completion};
use iolite_values::{Counter, Row, RowKey, TableId, Timestamp, TypeMismatch};

/// A row's place.
pub type RowId = (TableId, RowKey);

/// Where the whole store stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The last of all commits and aborts that are visible, or were before they were forgotten. Whoever sees it commits above it, so it is the
    /// barrier as well: nothing commits at or below it any more, but for transactions that are under way already.
    pub highest: Timestamp,
    /// Nothing is known of what was at or below this.
    pub low_watermark: Timestamp,
    /// The database's clock.
    pub clock_micros: u64,
}

/// What is known of the transaction's client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientFacts {
    pub acknowledged: Counter,
    /// Of this very transaction.
    pub completion: Option<Completion>,
}

/// What is known of one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowFacts {
    /// As of the last commit.
    pub latest: Row,
    /// The commits that touched it after it was read, oldest first. Perhaps earlier ones, too.
    pub commits: Vec<Commit>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub standing: Standing,
    pub client: ClientFacts,
    /// Every row that the transaction reads by cell or writes.
    pub rows: BTreeMap<RowId, RowFacts>,
    /// The last commit after the snapshot that touched a range that was read.
    pub range_change: Option<Timestamp>,
    /// The commits after the snapshot that touched rows which may be answers of queries that were read, oldest first.
    pub beside_queries: Vec<Commit>,
}

/// Why stored bytes are not a store's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("a record in the database cannot be read: {0}")]
    Decode(#[from] iolite_wire::DecodeError),
    #[error(
        "the database holds a commit at {at:?} that does not fit what was before it ({mismatch}): restore it from a backup"
    )]
    Inconsistent { at: Timestamp, mismatch: TypeMismatch },
    #[error("the database holds {0}: restore it from a backup")]
    Unexpected(&'static str),
}

impl RowFacts {
    /// A row that was `base` at `base_at`, and what touched it since and before. Only what came after the base is applied to it.
    ///
    /// # Errors
    /// [`Malformed::Inconsistent`], never for what a store accepted.
    pub fn fold(
        (table, key): &RowId,
        base: Row,
        base_at: Timestamp,
        commits: Vec<Commit>,
    ) -> Result<RowFacts, Malformed> {
        let mut latest = base;
        for commit in commits.iter().filter(|commit| commit.at > base_at) {
            for write in commit.writes.iter().filter(|write| write.cell.table == *table && write.cell.row == *key) {
                let applied = latest.apply(write.cell.column, &write.operation);
                applied.map_err(|mismatch| Malformed::Inconsistent { at: commit.at, mismatch })?;
            }
        }
        Ok(RowFacts { latest, commits })
    }
}
