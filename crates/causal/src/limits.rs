//! How much of everything there is at most. docs/limits.md has these values.

use std::time::Duration;

/// Bytes of the feed that are held back. With more, what is held is dropped, and clients read anew once K data centres have it.
pub const HELD_BYTES_MAX: usize = 64 << 20;
/// For so long history is kept for what is held back. Then it is dropped likewise.
pub const HELD_FOR_MAX: Duration = Duration::from_secs(600);
/// Bytes of entries that were sent to a peer and are not applied there. The last message may pass it.
pub const UNAPPLIED_BYTES_MAX: usize = 2 << 20;
/// Bytes of the end of the outbox in memory, from which peers are served. What is older is read from the pages.
pub const RECENT_BYTES_MAX: usize = 8 << 20;
/// Bytes of entries that an outbox keeps for peers that lack them. With more, the oldest pages go, and a peer that lacks them is lost.
pub const OUTBOX_BYTES_MAX: u64 = 256 << 20;
/// Entries of which it is known at which time they came. Older ones are taken to be as late as the last one.
pub const TIMES_MAX: usize = 4096;
/// Acknowledgements of one mark.
pub const ACKNOWLEDGED_MAX: usize = 1024;
/// Entries of one peer that are being committed at once.
pub const TAKEN_AT_ONCE_MAX: usize = 64;
