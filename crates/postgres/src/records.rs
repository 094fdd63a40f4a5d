//! Commits and rows as bytes in columns. The shapes and bytes are those of iolite-wire's journal, whose version is in each.

use std::sync::Arc;

use iolite_store::size::RECORD_BYTES_MAX;
use iolite_store::{Commit, Refusal};
use iolite_values::{Decision, Row, Timestamp, Transaction};
use iolite_wire::journal::{CheckpointChunk, CheckpointRow, Completed, CompletedDecision, JournalRecord};

use crate::facts::{Malformed, RowId};

/// The record of a transaction that is decided at `at`.
///
/// # Errors
/// [`Refusal::TransactionTooLarge`].
pub fn encode(transaction: &Transaction, at: Timestamp) -> Result<Vec<u8>, Refusal> {
    let decision = match &transaction.decision {
        Decision::Commit(writes) => CompletedDecision::Committed(writes.clone()),
        Decision::Abort(_) => CompletedDecision::Aborted,
    };
    let completed = Completed {
        transaction: transaction.id,
        attempt: transaction.attempt,
        at,
        level: transaction.level,
        decision,
        is_home: true,
    };
    let record = JournalRecord::Completed(completed).encode().ok();
    let record = record.filter(|record| record.len() <= RECORD_BYTES_MAX);
    record.ok_or(Refusal::TransactionTooLarge { bytes_max: RECORD_BYTES_MAX })
}

/// The commit of a record; none of an abort's.
///
/// # Errors
/// [`Malformed`].
pub fn decode(at: Timestamp, record: &[u8]) -> Result<Option<Commit>, Malformed> {
    let JournalRecord::Completed(completed) = JournalRecord::decode(record)? else {
        return Err(Malformed::Unexpected("a record of another kind among its commits"));
    };
    if completed.at != at {
        return Err(Malformed::Unexpected("a commit under another timestamp than its own"));
    }
    Ok(match completed.decision {
        CompletedDecision::Committed(writes) => {
            Some(Commit { at, transaction: completed.transaction, writes: Arc::from(writes) })
        }
        CompletedDecision::Aborted => None,
    })
}

/// The state of a row. Whatever was accepted fits: rows are refused before they come near the limit of the encoding.
pub fn encode_row((table, key): &RowId, row: Row) -> Vec<u8> {
    let row =
        CheckpointRow { table: *table, key: key.clone(), base: row, base_at: Timestamp::ZERO, history: Vec::new() };
    CheckpointChunk::Rows(vec![row]).encode().expect("a row within its limit fits into a chunk")
}

/// # Errors
/// [`Malformed`].
pub fn decode_row(id: &RowId, bytes: &[u8]) -> Result<Row, Malformed> {
    let CheckpointChunk::Rows(rows) = CheckpointChunk::decode(bytes)? else {
        return Err(Malformed::Unexpected("something else in place of a row"));
    };
    let mut rows = rows.into_iter().filter(|row| row.table == id.0 && row.key == id.1);
    rows.next().map(|row| row.base).ok_or(Malformed::Unexpected("a row under another key than its own"))
}

#[cfg(test)]
mod tests {
    use iolite_values::{
        Attempt, Cell, ClientId, ColumnId, Counter, Id, Level, Operation, RowKey, TableId, TransactionId, Value, Write,
    };

    use super::*;

    fn id() -> RowId {
        (TableId(7), RowKey::new(&[Value::Int(1)]).expect("a key"))
    }

    fn transaction(decision: Decision) -> Transaction {
        let id = TransactionId { client: ClientId(Id::from_u128(9)), counter: Counter(4) };
        Transaction {
            id,
            attempt: Attempt(2),
            snapshot: Timestamp::ZERO,
            reads: Vec::new(),
            decision,
            level: Level::Strict,
        }
    }

    fn put(value: Value) -> Write {
        Write { cell: Cell { table: id().0, row: id().1, column: ColumnId(3) }, operation: Operation::Put(value) }
    }

    #[test]
    fn commits_rows_and_aborts_read_back() {
        let at = Timestamp::from_u64(77);
        let writes = vec![put(Value::Int(5))];
        let commit = transaction(Decision::Commit(writes.clone()));
        let record = encode(&commit, at).expect("small");
        let read = decode(at, &record).expect("its own");
        assert_eq!(read, Some(Commit { at, transaction: commit.id, writes: writes.into() }));
        assert!(decode(Timestamp::from_u64(78), &record).is_err(), "filed elsewhere");
        let abort = encode(&transaction(Decision::Abort("no".into())), at).expect("small");
        assert_eq!(decode(at, &abort), Ok(None));
        let mut row = Row::default();
        row.apply(ColumnId(3), &Operation::Add(2)).expect("a counter");
        let bytes = encode_row(&id(), row.clone());
        assert_eq!(decode_row(&id(), &bytes), Ok(row));
        assert!(decode_row(&(TableId(8), id().1), &bytes).is_err(), "another row's");
    }

    #[test]
    fn a_transaction_at_the_limit_is_taken_and_one_above_is_refused() {
        let of = |bytes: usize| {
            let writes: Vec<Write> = (0..16).map(|_| put(Value::bytes(vec![7; bytes / 16]))).collect();
            encode(&transaction(Decision::Commit(writes)), Timestamp::from_u64(1))
        };
        assert!(of(RECORD_BYTES_MAX - 4096).is_ok());
        assert_eq!(of(RECORD_BYTES_MAX), Err(Refusal::TransactionTooLarge { bytes_max: RECORD_BYTES_MAX }));
    }
}
