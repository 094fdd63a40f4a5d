//! Memory that may be taken back at any moment and is not lost: objects in a region, saved ahead of time, restored with a check.
//!
//! Invariants: a punched page is read by nobody; what is dirty is not punched; what is restored has its checksum; an old place is not used before its daemon
//! is done or gone. All unsafe code is in `region/`.
//! Source: Marvin (Lebeck 2020, chapter 4); the page is docs/protocols/memory.md. Linux only for now: on other systems the crate is empty.
//!
//! ```
//! use iolite_memory::{Options, Region, Restore};
//!
//! let folder = std::env::temp_dir();
//! let region = Region::create(Options::new("thumbnails").bytes_max(64 << 20).swap_in(folder))?;
//! let pool = region.pool()?;
//! let mut slot = pool.put(b"a picture")?;
//! assert_eq!(&*pool.read(&slot)?, b"a picture");
//! pool.write(&mut slot)?[..1].copy_from_slice(b"A");
//! region.background();
//! region.foreground(Restore::All)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg(target_os = "linux")]
#![deny(unsafe_code, clippy::undocumented_unsafe_blocks)]

pub mod agent;
pub mod attach;
mod bundles;
mod clock;
mod counts;
pub mod descriptors;
mod error;
mod foreign;
mod heap;
pub mod limits;
mod link;
pub mod message;
mod places;
pub mod policy;
mod pool;
mod region;
mod restoring;
mod runs;
mod saving;
mod shared;
mod steps;
mod swap;
#[cfg(test)]
mod tests;
pub mod word;

pub use clock::{ROUND_IN_BACKGROUND, ROUND_IN_FOREGROUND, Registers, Warmth};
pub use counts::Counts;
pub use error::{AccessError, CreateError, ForeignError, PoolError, PutError, SaveError};
pub use foreign::{Batch, Candidate, Foreign, Reclaimed, Survey};
pub use heap::{Collected, Heap, HeapError, Node, Root};
pub use link::Link;
pub use pool::{Pool, Slot};
pub use region::guards::{ReadGuard, WriteGuard};
pub use region::{Options, Region, Restore};
pub use saving::Saved;
