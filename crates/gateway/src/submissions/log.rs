//! Operations of logs: what the append of one asks of the store.
//!
//! Invariants: a client writes nothing of a log but the entry of its own call; an entry says who made it, which only the gateway writes.

use iolite_logs::admit;
use iolite_store::{Refusal, Request};
use iolite_values::{ClientId, Decision, Level, Schema, Timestamp, Transaction, TransactionId};
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

/// The commit of an append that was checked, above everything that its client has seen.
pub fn commit(transaction: Transaction, floor: Timestamp) -> Request {
    let writes = admit(transaction.id, &transaction.reads, transaction.writes());
    let decision = writes.map_or_else(|_| transaction.decision.clone(), Decision::Commit);
    strong::commit(Transaction { decision, ..transaction }, floor)
}
