//! Iolite for Rust: shared state that is local first, reactive and strictly serializable.
//!
//! A [`Client`] keeps a cache of what its app reads, runs mutations on it at once, and brings them to a server exactly once, also after
//! days offline. [`embedded`] starts a server inside the process, for tests and desktop apps.
//!
//! ```
//! use iolite::{Mutators, Options, Schema, View};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let schema = Schema::from_json(
//!     r#"{"tables": {"counters": {"columns": {"name": {"type": "string"}, "total": {"type": "counter"}}, "key": ["name"], "live": true}}}"#,
//! )?;
//! let mutators = Mutators::new().with("increment", |tx, name: String| tx.add("counters", &name, "total", 1));
//! let server = iolite::embedded().await?;
//! let client = server.client(schema, Options::new().mutators(mutators))?;
//!
//! let mut hits = client.react(View::Optimistic, |tx| tx.counter("counters", "hits", "total"));
//! client.mutate("increment", &"hits")?.confirmed().await?;
//! while *hits.next().await? != 1 {}
//! # server.stop().await?;
//! # Ok(())
//! # }
//! ```

#![deny(missing_docs)]

mod arguments;
mod batch;
mod blob_link;
mod blobs;
mod chunks;
mod client;
mod closure;
mod conflicts;
mod embedded;
mod error;
mod key;
mod link;
pub mod live;
mod log;
mod mutation;
mod mutators;
pub mod objects;
mod options;
mod peek;
mod pump;
mod reaction;
pub mod rights;
mod row;
mod shared;
mod storage;
pub mod table;
mod token;
mod traffic;
mod transact;
mod transaction;

// The derive names this crate by its outer name, also in this crate's own tests and examples.
extern crate self as iolite;

pub use blobs::{BlobReadError, BlobReader, BlobState, Blobs, PutError};
pub use client::{BATCH_MAX, Client, Settled};
pub use conflicts::{Conflicts, Resolution, ResolveConflictsError, RowConflict};
pub use embedded::{Embedded, EmbeddedError, embedded, embedded_in};
pub use error::{Abort, OpenError, Result, abort};
pub use iolite_client::{
    CallError, Centre, Connection, Difference, DifferenceError, EditError, Lack, LeaveError, LogError, LogMember,
    MutationStatus, NoEdit, NotHeld, Part, Pending, PendingMutation, Refused, RunError, View,
};
pub use iolite_derive::Table;
pub use iolite_values::{
    Blob, BlobError, CellState, Counter, Id, KeyError, OperationError, Row, RowKey, Schema, SchemaError, Timestamp,
    Value, ValueError,
};
pub use iolite_wire::centres::CentreName;
pub use iolite_wire::message::GoodbyeReason;
pub use key::IntoKey;
pub use log::Log;
pub use mutation::{DeliveryError, MutationEnd, MutationHandle};
pub use mutators::Mutators;
pub use objects::sapphire;
pub use options::{Options, Storage};
pub use peek::PeekError;
pub use reaction::{Reaction, ReactionError};
pub use row::{FromValue, Record};
pub use table::schema;
pub use token::Token;
pub use traffic::Traffic;
pub use transact::TransactError;
pub use transaction::Transaction;
