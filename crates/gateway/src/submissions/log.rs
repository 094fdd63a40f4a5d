//! Operations of logs: what the append of one asks of the store.
//!
//! Invariants: a client writes nothing of a log but the entry of its own call; an entry says who made it, which only the gateway writes.

use iolite_logs::admit;
use iolite_rights::RowName;
use iolite_store::{Refusal, Request};
use iolite_values::{ClientId, Decision, Level, Operation, Schema, Timestamp, Transaction, TransactionId, Value};
use iolite_wire::logs::LogEntry;
use iolite_wire::message::Submit;

use crate::submissions::strong::{self, Fault};

/// The transaction of a submission, as the client sent it.
pub fn transaction(client: ClientId, submit: Submit) -> Transaction {
    let Submit { counter, attempt, snapshot, reads, decision, .. } = submit;
    let id = TransactionId { client, counter };
    Transaction { id, attempt, snapshot, reads, decision, level: Level::Strict }
}

/// Whether a transaction that writes to a log appends an entry to it.
///
/// # Errors
/// Why it does not, for the app.
pub fn check(transaction: &Transaction, schema: &Schema) -> Result<(), String> {
    let of_tables = transaction
        .writes()
        .iter()
        .find(|write| schema.table_by_id(write.cell.table).is_some_and(|table| table.log().is_some()));
    if let Some(write) = of_tables {
        let table = schema.table_name(write.cell.table).unwrap_or("?");
        return Err(format!("table {table:?} is of a log: members change it by operations, and nobody writes it"));
    }
    admit(transaction.id, &transaction.reads, transaction.writes()).map(drop).map_err(|refused| refused.to_string())
}

/// The meaning of a store's refusal. A page that many appended to at once has no room: whoever comes next turns it.
pub fn fault(refusal: &Refusal, schema: &Schema) -> Fault {
    match refusal {
        Refusal::RowTooLarge { .. } => Fault::Later,
        Refusal::NotResolved { .. }
        | Refusal::TooFarAhead { .. }
        | Refusal::Type { .. }
        | Refusal::TransactionTooLarge { .. }
        | Refusal::Configuration(_)
        | Refusal::OtherShard { .. } => strong::fault(refusal, schema),
    }
}

/// The page that a transaction appends to, and the operation of the entry that it appends; none of one that was given up.
pub fn appended(transaction: &Transaction) -> Option<(RowName, String)> {
    transaction.writes().iter().find_map(|write| {
        let Operation::Append { value: Value::Bytes(entry), order: _ } = &write.operation else { return None };
        let page = RowName { table: write.cell.table, key: write.cell.row.clone() };
        Some((page, LogEntry::decode(entry).ok()?.operation))
    })
}

/// The commit of an append that was checked, above everything that its client has seen.
pub fn commit(transaction: Transaction, floor: Timestamp) -> Request {
    // Its reads of the page were checked before. The others are of what it was judged by.
    let writes = admit(transaction.id, &[], transaction.writes());
    let decision = writes.map_or_else(|_| transaction.decision.clone(), Decision::Commit);
    strong::commit(Transaction { decision, ..transaction }, floor)
}
