//! Logs: one state machine that many members replay in one order.
//!
//! The server keeps the entries of a log in the order of their commits, as pages of a list, and never runs an operation. Every member replays the entries
//! in the order of (page, place).
//!
//! Invariants, one a file: what a client may write to a page ([`check`]); who made an entry is told without saying which client it is ([`origin_of`]); a
//! member's position never skips or repeats an entry ([`Member`]); whoever appends has read that the page is open
//! ([`append_to`]); a state is kept for later members only if all that are there have it ([`Hashes`]).
//! Source: Hercules (Lebeck 2020, chapter 3). Deviations: docs/decisions/0025-logs-are-pages.md.

mod check;
mod checkpoint;
mod entry;
mod member;
mod pages;

pub use check::{Refused, admit};
pub use checkpoint::{Compared, HASHES_OPEN_MAX, Hashes, PART_BYTES, PARTS_MAX, Said, State, StateHasher};
pub use entry::{initial_seed, origin_of, seed_of};
pub use member::{Member, Next, Stuck};
pub use pages::{AppendError, BLOCK_PAGES, PAGE_BYTES_MAX, PAGE_ENTRIES_MAX, Page, PageCells, append_to};
