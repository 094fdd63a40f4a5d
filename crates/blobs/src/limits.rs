//! How much a side of `/blobs` takes on at a time. docs/limits.md has each with its test.

use std::time::Duration;

/// Bytes of chunks that a connection has under way in one direction: what a client has put without an answer, and what it has asked for.
pub const WINDOW_BYTES_MAX: usize = 1 << 20;
/// Chunks of one `Have`.
pub const HAVE_CHUNKS_MAX: usize = 256;
/// `Get`s of a connection without an answer: a window of full chunks.
pub const GETS_OPEN_MAX: usize = 16;
/// Objects that a gateway looks for at a time, for one seal.
pub const LOOKS_OPEN_MAX: usize = 32;
/// Chunks that an `Unsealed` names, after which the walk ends.
pub const LACKS_MAX: usize = 256;
/// Leases that a client has at a time.
pub const LEASES_OF_CLIENT_MAX: usize = 64;
/// Trees that are sealed under one lease at a time.
pub const SEALS_OF_LEASE_MAX: usize = 2_000;
/// Cells of a connection whose leases a gateway remembers.
pub const CELLS_KNOWN_MAX: usize = 1024;
/// For how long a lease is given, and given again when half of it is over and it is used.
pub const LEASE_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// Rows that one transaction deletes when it revokes a lease: the lease and its seals.
pub const REVOKED_ROWS_MAX: usize = 1_000;
/// Objects that a sweep holds the names of at a time. It looks at the others in its next pass.
pub const SWEEP_OBJECTS_MAX: usize = 1_000_000;
/// Leases that a sweep asks the store about at a time.
pub const SWEEP_VALIDATES_MAX: usize = 1_000;
/// Objects that a sweep deletes at a time.
pub const SWEEP_DELETES_MAX: usize = 16;
