//! Ids, timestamps, values, schemas, cell operations, mergeable types and the commutativity table.
//!
//! Source: Diamond's reactive data types (Zhang 2017, Table 3.1) and its validation by type (section 3.4.1).
//! This crate uses nothing else of Iolite, and everything else uses it.

mod blob;
mod cell;
mod conflict;
mod digest;
mod domain;
mod footprint;
mod id;
mod index_key;
mod interests;
mod isolation;
mod json;
mod key;
mod key_ranges;
mod log;
mod log_checkpoints;
mod mergeable;
mod name;
mod object;
mod operation;
mod ordered;
mod query;
mod row;
mod schema;
mod state;
mod text;
mod timestamp;
mod transaction;
mod value;

pub use blob::{
    Blob, BlobDigest, BlobError, BlobHasher, ChunkId, ChunkName, Chunks, Cutting, LeaseName, Tree, TreeShape,
};
pub use cell::{Cell, Element, Interest, Read};
pub use conflict::{Commutativity, KnownRow, commutativity, disturbs, may_bring, observes, writes_commute};
pub use digest::{Digest, DigestHasher};
pub use domain::Domain;
pub use footprint::{apply_and_count, row_footprint};
pub use id::{
    Attempt, ClientId, CoordinatorId, Counter, DeviceSecret, Id, LaneNumber, ParseIdError, StoreIncarnation,
    TransactionId,
};
pub use index_key::{IndexKey, IndexRange};
pub use interests::Interests;
pub use isolation::{Isolation, Level};
pub use key::{KeyError, KeyRange, RowKey};
pub use key_ranges::KeyRanges;
pub use log::{LOG_TABLE, LogId, LogPages, LogStart};
pub use log_checkpoints::{LOG_CHECKPOINTS_TABLE, LogCheckpoint};
pub use mergeable::{AddWins, Effect, HybridTime, LastWriter, LifeCounter, Lives, Mark, Merged, MergedState, Stamp};
pub use name::{ColumnId, TableId};
pub use object::{
    Bucket, DeviceRight, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName, ObjectNameError, ParseNodeNameError,
};
pub use operation::{ListOrder, Operation};
pub use ordered::{map_of, set_of};
pub use query::{AnyOf, Condition, Direction, Field, Query, Test};
pub use row::Row;
pub use schema::{
    Column, ColumnType, Consistency, Fetch, Offline, OnConflict, OperationError, QueryError, RowsWin, Scalar, Schema,
    SchemaError, SchemaHash, Table,
};
pub use state::{CellState, TypeMismatch};
pub use text::{Author, Edit, Insertion, MalformedEdit, Run as TextRun, Text, Unfit, Unit, UnitRange};
pub use timestamp::Timestamp;
pub use transaction::{Decision, Transaction, Write};
pub use value::{Value, ValueError, ValueType};
