//! Model checking of the store's real machines: every interleaving of a small world, or many random ones of a larger one.
//!
//! Invariants: nothing here decides anything: replicas and coordinators are those of iolite-replication, and a state is theirs; whatever bounds a
//! world is in its [`Plan`].
//! Source: docs/models.md, which says how states are told apart, and what is cut.

pub mod centres;
pub mod configurations;
mod facts;
mod fingerprint;

mod judge;
pub mod memory;
mod node;
mod plan;
mod pool;
mod report;
mod start;
mod transactions;
mod walk;
mod world;

pub use judge::{Marks, SIGHTS, VIOLATIONS};
pub use plan::{Bounds, Closes, Plan, Submission, Submits};
pub use report::{Report, Verdict, explore};
pub use transactions::{Place, reads, transaction, writes};
pub use walk::{Walked, walk, walk_to};
pub use world::{Action, World, WorldModel};
