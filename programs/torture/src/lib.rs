//! `iolite torture`: a cluster of real processes that are killed, paused, cut off from each other and given wrong clocks, while clients use it;
//! and a judgement of what the clients saw. `iolite torture --objects` does it to objects.
//!
//! Source: Iolite's own, after Jepsen. The page is docs/torture.md.
//!
//! Invariants:
//! - what a transaction saw is what it wrote down in the store itself, in the same commit: no client can mistake one attempt for another;
//! - a client that gave up says that the outcome is unknown, and never that there was none;
//! - all faults end before the last state is read;
//! - a run in which something went wrong has a history and a judgement like all others, as far as they go.

mod bed;
mod book;
mod callers;
mod chaos;
mod client;
mod evidence;
mod faults;
mod moment;
mod network;
mod objects;
mod party;
mod random;
mod report;
mod run;
mod step;

pub use evidence::Kept;
pub use faults::FaultKind;
pub use objects::{ObjectsOptions, ObjectsReport, run_node, run_objects};
pub use report::{Answers, TortureReport, Verdict};
pub use run::{TortureOptions, run};
