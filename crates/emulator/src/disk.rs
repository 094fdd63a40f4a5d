//! Disks: who has which part of one, how long each operation takes, in which order they are served, and what is there.

mod allocation;
mod device;
mod model;
mod reconcile;

pub use allocation::{Block, DiskAlloc, Owner, Shape};
pub use device::{Device, DiskCounts, DiskDone, DiskRequest, Ticket, Transfer};
pub use model::{Model, Scheduler};
pub use reconcile::{AllocationError, Extent, ExtentMap, reconcile};
