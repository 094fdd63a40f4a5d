//! What can go wrong inside a closure.

use iolite_values::{OperationError, RowKey};

use crate::query::QuestionError;
use crate::text::NoEdit;

/// Why a call on a transaction failed. [`RunError::Stopped`] is not an error of the app: the closure should end as soon as it can.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    #[error("the data is being fetched: let this error pass, and the closure will run again")]
    Stopped,
    #[error("table {table:?} has no row {key:?}")]
    RowMissing { table: String, key: RowKey },
    #[error("table {table:?} already has a row {key:?}")]
    RowExists { table: String, key: RowKey },
    #[error("a row of table {table:?} needs a value for column {column:?}")]
    ColumnMissing { table: String, column: String },
    #[error("the list has {length} elements, so none at index {index}")]
    IndexMissing { index: u32, length: usize },
    #[error("this closure only reads: write in a mutation")]
    ReadOnly,
    #[error(
        "table {table:?} does not say `delivered`, so nobody follows who has applied its changes: say it in the schema, or read another view"
    )]
    NotDelivered { table: String },
    #[error(
        "table {table:?} is of the log {log:?}: join the log before you read it, and name the first column of its key, which says which log it is"
    )]
    LogNotJoined { table: String, log: String },
    #[error(
        "table {table:?} is of the log {log:?}, which a mutation neither reads nor writes: make it an operation of the log"
    )]
    OfALog { table: String, log: String },
    #[error(
        "an operation of the log {log:?} reads and writes the rows of its own log, and nothing else: not those of table {table:?}"
    )]
    NotOfThisLog { table: String, log: String },
    #[error("a transaction has at most {limit} {what}: split it, or read a narrower range")]
    TooLarge { what: &'static str, limit: usize },
    #[error("{what} has at most {limit} bytes: use a shorter one")]
    TooLong { what: &'static str, limit: usize },
    #[error(transparent)]
    NoEdit(#[from] NoEdit),
    #[error(transparent)]
    Question(#[from] QuestionError),
    #[error(transparent)]
    Invalid(#[from] OperationError),
}
