//! The storage engine: a journal of records and checkpoints, over a disk that host and simulation each implement.
//!
//! The journal is the only thing that is synced on the commit path. It does not know what its records mean: a replica keeps
//! its state in memory, appends a record for each change, and after a restart builds the state again from the newest
//! checkpoint and the records since.
//!
//! Invariant: a record that was reported durable is recovered, in order, or the opening is refused; a record that was never
//! appended is never recovered. The format and the rules are in `docs/protocols/journal.md`.
//!
//! ```
//! use iolite_engine::{Incarnation, Journal, MemoryDisk, Options};
//!
//! let (mut journal, recovery) = Journal::open(MemoryDisk::new(), Options::default(), Incarnation(1))?;
//! assert!(recovery.records.is_empty());
//! let id = journal.append(b"a change")?;
//! assert_eq!(journal.sync()?, id);
//!
//! let mut disk = journal.into_disk();
//! disk.crash(&iolite_engine::CrashFault::ALL, &mut |below| below / 2);
//! let (_, recovery) = Journal::open(disk, Options::default(), Incarnation(2))?;
//! assert_eq!(recovery.incarnation, Incarnation(1));
//! assert_eq!(recovery.records[0].bytes, b"a change");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checkpoint;
mod disk;
mod durability;
mod failure;
mod file_name;
mod frame;
mod header;
mod holding_disk;
mod identity;
mod journal;
mod journal_disk;
mod memory_disk;
#[allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the one place where the journal meets the operating system, behind the Disk trait"
)]
mod native_disk;
mod recovery;
mod repair;
mod scan;
mod segment;

pub use disk::Disk;
pub use durability::Durability;
pub use failure::{AppendError, CheckpointError, Damage, DiskFailure, DiskOperation, OpenError, SyncError};
pub use frame::RECORD_BYTES_MAX;
pub use header::FORMAT_VERSION;
pub use holding_disk::HoldingDisk;
pub use identity::{Incarnation, Position};
pub use journal::{Journal, Options, Origin, Recovery, TornTail};
pub use memory_disk::{CrashFault, MemoryDisk};
pub use native_disk::{NativeDisk, NativeDiskError};
pub use scan::RecoveredRecord;
