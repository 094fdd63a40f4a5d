//! The cluster in one thread, from one seed: network, clock, disk, faults, and checkers of what came of it.
//!
//! The machines are those of the product; only what hosts do is replaced. After every step each machine checks its own invariants; at the end
//! the history is held against a model (checker.rs says what is promised, docs/faults.md which faults are made and what is not
//! checked). Approach: FoundationDB's and TigerBeetle's deterministic simulation.

mod app;
mod broken;
mod centres;
mod check;
mod checker;
mod counts;
mod faults;
mod game;
mod habits;
mod history;
mod hunt;
mod needs;
mod objects;
mod occasions;
mod random;
mod report;
mod rights;
mod roughness;
mod rows;
mod run;
mod timeline;
mod topology;
mod world;

pub use broken::Broken;
pub use centres::CentreEvent;
pub use check::{CHECKS, Check};
pub use checker::{Invariant, Violation};
pub use counts::Counts;
pub use faults::Fault;
pub use game::{Game, play};
pub use hunt::hunt;
pub use needs::WorldKind;
pub use objects::ObjectEvent;
pub use occasions::Occasion;
pub use report::{Report, Simulated};
pub use rights::RightsEvent;
pub use rows::RowEvent;
pub use run::{Outcome, run, run_whole, run_world};
