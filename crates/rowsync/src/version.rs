//! The version of a row: what an app names the row by that it showed.
//!
//! Invariant: two rows have one version exactly if they are equal, whatever the leases of their blobs. It is the same in every process, so it may be stored.

use std::fmt;

use iolite_values::{CellState, Row, RowKey, TableId, Value};
use iolite_wire::client_storage::StoredRow;
use sha2::{Digest as _, Sha256};

/// The first 16 bytes of the SHA-256 of a row's encoding, in which a blob stands by its length and digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowVersion(pub [u8; 16]);

/// The version of a row. A row that is not there has one, too: that of [`Row::default`].
///
/// # Panics
/// If the row is larger than a client stores (32 MiB), which no gateway sends.
pub fn row_version(row: &Row) -> RowVersion {
    let cells = row.cells().map(|(column, state)| (column, without_chunks(state)));
    let plain = Row::from_parts(row.exists(), cells);
    // The key is not part of the version, and the encoding has one.
    let key = RowKey::new(&[Value::Int(0)]).expect("a number is a key");
    let bytes = StoredRow::encode_of(TableId(0), &key, &plain).expect("a frame held it, so storage does");
    let mut version = [0; 16];
    version.copy_from_slice(&Sha256::digest(bytes)[..16]);
    RowVersion(version)
}

/// A cell with its blob by length and digest. A column has one type, so no cell of bytes is mistaken for it.
fn without_chunks(state: &CellState) -> CellState {
    match state {
        CellState::Scalar(value) => CellState::Scalar(named(value)),
        CellState::Register(value) => CellState::Register(named(value)),
        CellState::Row(_)
        | CellState::Counter(_)
        | CellState::Set(_)
        | CellState::List(_)
        | CellState::Map(_)
        | CellState::Text(_)
        | CellState::Merged(_) => state.clone(),
    }
}

fn named(value: &Value) -> Value {
    match value {
        Value::Blob(blob) => Value::bytes([&blob.length().to_be_bytes()[..], &blob.digest().to_bytes()[..]].concat()),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::Id(_) => value.clone(),
    }
}

impl fmt::Debug for RowVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}
