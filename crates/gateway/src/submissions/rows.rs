//! Change sets of tables that sync: what a client has to have read to write them.
//!
//! Invariant: who writes a row of a causal table has read all of it. So nobody writes over a row that he has not seen, whatever his client does.

use std::collections::BTreeSet;

use iolite_values::{Consistency, KeyRange, Read, RowKey, Schema, TableId, Transaction};

/// Whether a change set has read what it has to.
///
/// # Errors
/// Why it has not, for the app.
pub fn check(transaction: &Transaction, table: TableId, schema: &Schema) -> Result<(), String> {
    match schema.table_by_id(table).map(|table| &table.consistency) {
        Some(Consistency::Causal { .. }) => {}
        Some(Consistency::Eventual | Consistency::Strong | Consistency::Log { .. }) | None => return Ok(()),
    }
    let read: BTreeSet<&KeyRange> = transaction.reads.iter().filter_map(|read| range_of(read, table)).collect();
    let is_unread = |row: &&RowKey| !read.contains(&KeyRange::one(row));
    let unread = transaction.writes().iter().map(|write| &write.cell.row).find(is_unread);
    unread.map_or(Ok(()), |row| {
        let table = schema.table_name(table).unwrap_or("?");
        Err(format!(
            "row {row:?} of the causal table {table:?} was written and not read whole: use a client that reads it"
        ))
    })
}

fn range_of(read: &Read, of: TableId) -> Option<&KeyRange> {
    match read {
        Read::Range { table, range } => (*table == of).then_some(range),
        Read::Cell { .. } | Read::Query(_) => None,
    }
}
