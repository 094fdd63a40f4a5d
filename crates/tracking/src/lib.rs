//! Tracking: where objects are, and which nodes there are.
//!
//! Every gateway has this machine beside it. It keeps three system tables of the store: of objects, nodes, and buckets of objects. It is asked when an
//! object begins or is missed, and when a node comes. A call whose reference is fresh asks nothing here.
//!
//! The server that holds a bucket coordinates its objects. It is told which ones begin there, may list them, and keeps a memory of each in its row.
//!
//! An object lives as long as the life of its owner. If the owner is part of the service, it also ends when somebody begins it anew while the owner is marked
//! as lost.
//!
//! Invariants, one a file: a row changes only by a commit that has read every row that decided it ([`tasks`]), all at one timestamp ([`rows`]); the store forgets
//! the outcome of no commit that is open ([`own`]); an epoch only rises, and an object begins anew only if its owner is over ([`objects`]); a life is never given
//! to two nodes, and its lapses never fall ([`nodes`]); a server that is marked as lost has no lease ([`leases`]); a bucket has one coordinator ([`buckets`]).
//! Source: the object tracking service of Sapphire (Zhang 2017, sections 2.3 and 2.5.4).

mod buckets;
mod interface;
mod leases;
pub mod limits;
mod nodes;
mod objects;
mod own;
mod rows;
mod tables;
mod tasks;
mod tracking;

#[cfg(test)]
mod tests;

pub use interface::{Ask, AskId, Input, News, Output, Settings, Told};
pub use iolite_values::Bucket;
pub use leases::{LEASE, RENEW_EVERY};
pub use objects::right_name;
pub use tables::{BUCKETS_TABLE, NODES_TABLE, OBJECTS_TABLE};
pub use tracking::Tracking;
