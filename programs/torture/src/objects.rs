//! `iolite torture --objects`: objects under several managers, called while the gateways, replicas, hosts and devices around them fail.
//!
//! An object is a list: a write appends a number that no other write has, and a read returns the list. Its beginning has a number too, which every answer
//! carries, so a lost object that begins anew is seen.
//!
//! Invariants:
//! - a call is in its process's record before anything of it is sent, so a process that is killed leaves what it knew;
//! - hosts are never killed: an object lives as long as the process that has it, and no promise goes beyond that.

mod calls;
mod classes;
mod crew;
mod device;
mod findings;
mod forward;
mod kind;
mod node;
mod record;
mod report;
mod run;
mod verdict;

pub use crew::Crew;
pub use node::run_node;
pub use report::ObjectsReport;
pub use run::{ObjectsOptions, run_objects};
