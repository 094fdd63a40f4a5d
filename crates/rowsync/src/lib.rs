//! Kept calls, change sets and conflicts of one table that syncs: eventual, or causal with conflicts that the app resolves.
//!
//! A call of such a table has taken place at the device: it runs once. What it wrote is kept as *effects* of rows, apart from the queue, until a *change
//! set* carries them to the store. If somebody else has written a row that the call had not read, a person decides.
//!
//! Invariants, one a file: an update never brings a row into being (`change.rs`); the base of a kept effect moves only when a person has seen what it moves
//! to (`chain.rs`); calls that share a row are sent together or not at all (`group.rs`); what was sent is neither judged nor changed before its outcome
//! (`sets.rs`); a conflict is derived from rows and never stored (`conflicts.rs`); storage is restored whole or refused (`restore.rs`).
//! Source: Simba (Perkins 2015, chapter 3). Deviations: docs/decisions/0029-base-rows-and-change-sets.md. The page: docs/protocols/rowsync.md.
//!
//! ```
//! use iolite_rowsync::*;
//! use iolite_values::*;
//!
//! let (table, text) = (TableId::of("notes"), ColumnId::of("text"));
//! let key = RowKey::new(&[Value::Int(1)]).expect("short");
//! let note = |said: &str| Row::from_parts(true, [(text, CellState::Scalar(Value::from(said)))]);
//! let mut notes = RowSync::new(table, Scheme::Causal);
//!
//! // A call that has seen the row writes it. The client stores what it changed, and says when that is on disk.
//! let base = note("milk");
//! let cell = Cell { table, row: key.clone(), column: text };
//! let writes = [Write { cell, operation: Operation::Put(Value::from("milk, bread")) }];
//! notes.keep(Counter(1), &writes, |_| base.clone(), &Default::default())?;
//! assert_eq!(notes.take_changes().len(), 2);
//! notes.saved(Counter(1));
//!
//! // The confirmed row is the base, so the call can be sent.
//! let (now, sealed) = (Timestamp::from_u64(5), |_: &RowKey, _, blob: &std::sync::Arc<Blob>| Some(blob.clone()));
//! assert_eq!(notes.due(now, |_| Confirmed::There(&base), sealed).map(|set| set.writes.len()), Some(1));
//!
//! // Somebody else writes first: a conflict, and nothing to send.
//! let server = note("eggs");
//! assert_eq!(notes.due(now, |_| Confirmed::There(&server), sealed), None);
//! let conflicts = notes.conflicts(now, |_| Confirmed::There(&server));
//! assert_eq!(conflicts[0].local, Some(note("milk, bread")));
//!
//! // The person keeps what is here. It is sent on top of the row that the person saw.
//! let choice = Choice { key, server: conflicts[0].server_version, keep: Keep::Local };
//! notes.resolve(Counter(2), &[choice], now, |_| Confirmed::There(&server))?;
//! notes.saved(Counter(2));
//! assert!(notes.due(now, |_| Confirmed::There(&server), sealed).is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chain;
mod change;
mod conflicts;
mod group;
mod keep;
pub mod limits;
mod restore;
mod rowsync;
mod sets;
mod stored;
mod version;

pub use chain::Base;
pub use change::{Cells, Change};
pub use conflicts::{Choice, Conflict, Keep, ResolveError, Resolved};
pub use keep::KeepError;
pub use restore::RestoreError;
pub use rowsync::{Broken, Confirmed, Ending, How, RowSync, Scheme, Which};
pub use sets::{ChangeSet, Unsealed};
pub use stored::{FORMAT_VERSION, KIND, StorageChange};
pub use version::{RowVersion, row_version};
