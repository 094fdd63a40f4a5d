//! Reading a restored store back, and comparing it with the backup.

use iolite_node::StoreClient;
use iolite_replication::{CompletionRow, ShardMap, completions_table};
use iolite_values::{ClientId, Counter, TableId, Timestamp};
use iolite_wire::client_storage::StoredRow;

use crate::digest::Digest;
use crate::manifest::Manifest;
use crate::reading::Copy;
use crate::restoring::RestoreError;

/// # Errors
/// [`RestoreError::Different`] and what keeps it from being read.
pub(crate) async fn compare(
    store: &StoreClient,
    shards: &ShardMap,
    at: Timestamp,
    manifest: &Manifest,
    is_own: impl Fn(ClientId) -> bool,
) -> Result<(), RestoreError> {
    let copy = Copy::new(store, shards, at);
    for table in &manifest.tables {
        let mut digest = Digest::default();
        let mut pages = copy.table(TableId::of(&table.name));
        while let Some(page) = pages.next().await? {
            for row in page.into_iter().filter(|row| iolite_catalog::restoring(row).is_none()) {
                digest.add(&StoredRow { table: row.table, key: row.key, row: row.row }.encode()?);
            }
        }
        let rows = digest.records();
        if rows != table.rows || digest.finish() != table.sha256 {
            let what = format!("table {} has {rows} rows, and in the backup {}", table.name, table.rows);
            return Err(RestoreError::Different(what));
        }
    }
    let mut digest = Digest::default();
    let mut pages = copy.table(completions_table());
    while let Some(page) = pages.next().await? {
        for row in page.iter().filter_map(CompletionRow::of).filter(|row| !is_own(client_of(row))) {
            let is_nothing = matches!(row, CompletionRow::Client { acknowledged: Counter(0), .. });
            if !is_nothing {
                digest.add_completion(&row);
            }
        }
    }
    let records = digest.records();
    if records != manifest.clients.records || digest.finish() != manifest.clients.sha256 {
        let what = format!("there are {records} records of clients, and in the backup {}", manifest.clients.records);
        return Err(RestoreError::Different(what));
    }
    Ok(())
}

fn client_of(row: &CompletionRow) -> ClientId {
    match row {
        CompletionRow::Client { client, .. } | CompletionRow::Outcome { client, .. } => *client,
    }
}
