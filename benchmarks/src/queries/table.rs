//! The table that is watched, and how it is filled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::anyhow;
use iolite::{Client, Options, Schema, Table, Value, schema};

use crate::child::Address;

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "items", index(by_rank = [rank]))]
pub struct Item {
    #[key]
    pub shelf: i64,
    #[key]
    pub number: i64,
    pub rank: i64,
    pub label: String,
}

/// So many rows are watched.
pub const ANSWERS: usize = 5;
/// Rows of the first shelf, whatever the size of the table: one of them is changed.
const FIRST_SHELF: u32 = 10;
/// Of every other shelf; they are made by one mutation, of three operations a row.
const SHELF: u32 = 500;
/// Clients that fill the table, each shelf after shelf.
const LOADERS: u32 = 4;
/// What a loader keeps: it does not look back.
const LOADER_CACHE_BYTES: usize = 1 << 20;

pub fn tables() -> Schema {
    schema().with::<Item>().build().expect("the table of the benchmark is valid")
}

/// # Errors
/// When the server does not let it in.
pub async fn connect(at: &Address, options: Options) -> anyhow::Result<Client> {
    let client = Client::connect(&at.url, &at.token, tables(), options)?;
    client.online().await.map_err(|state| anyhow!("the server does not let a client in: {state:?}"))?;
    Ok(client)
}

/// Makes so many rows. Their ranks are their places, so that those of the first shelf are the lowest.
///
/// # Errors
/// When a mutation ends without effect.
pub async fn fill(at: &Address, rows: u32) -> anyhow::Result<()> {
    let next = Arc::new(AtomicU32::new(0));
    let mut loaders = Vec::new();
    for _ in 0..LOADERS {
        let client = connect(at, Options::new().cache_bytes_max(LOADER_CACHE_BYTES)).await?;
        loaders.push(tokio::spawn(fill_shelves(client, next.clone(), rows)));
    }
    for loader in loaders {
        loader.await??;
    }
    Ok(())
}

async fn fill_shelves(client: Client, next: Arc<AtomicU32>, rows: u32) -> anyhow::Result<()> {
    loop {
        let shelf = next.fetch_add(1, Ordering::Relaxed);
        let Some((first, count)) = content_of(shelf, rows) else { break };
        client.transact(move |tx| fill_shelf(tx, i64::from(shelf), i64::from(first), i64::from(count))).await?;
    }
    client.close().await;
    Ok(())
}

/// The rank of a shelf's first row, and how many it has.
fn content_of(shelf: u32, rows: u32) -> Option<(u32, u32)> {
    let first = if shelf == 0 { 0 } else { FIRST_SHELF + (shelf - 1) * SHELF };
    let most = if shelf == 0 { FIRST_SHELF } else { SHELF };
    (first < rows).then(|| (first, most.min(rows - first)))
}

/// An empty shelf is read first: then it is known of each row that it is not there.
fn fill_shelf(tx: &mut iolite::Transaction<'_>, shelf: i64, first: i64, count: i64) -> iolite::Result<()> {
    tx.rows("items", &[Value::Int(shelf)])?;
    for number in 0..count {
        let rank = first + number;
        let columns = [("rank", Value::Int(rank)), ("label", Value::from(format!("item {rank}")))];
        tx.insert("items", (shelf, number), columns)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shelves_have_all_rows_and_no_more() {
        for rows in [10, 11, 510, 511, 5_000] {
            let all: Vec<(u32, u32)> = (0..).map_while(|shelf| content_of(shelf, rows)).collect();
            assert_eq!(all.iter().map(|(_, count)| count).sum::<u32>(), rows);
            assert!(all.iter().is_sorted() && all[0] == (0, FIRST_SHELF), "{all:?}");
        }
    }
}
