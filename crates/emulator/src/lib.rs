//! The emulator of object stores: published designs, made of shared modules, run under one workload on modelled hardware.
//!
//! All of it is pure: time is an input, and disks, links and processors are either simulated (`virtual_time`) or the host's. The program
//! `iolite-emulate` runs the same nodes as processes, in real time.
//!
//! Invariant: one plan and one seed give one virtual run, to the last byte of its trace.
//! Source: Perkins 2015, chapter 4 (Lego).

mod design;
mod disk;
mod engine;
mod file;
mod hardware;
mod judge;
mod modules;
mod plan;
mod quantity;
mod report;
#[cfg(test)]
mod testing;
mod virtual_time;
mod workload;

pub use design::{BROKEN, Broken, DESIGNS, Design, Kept, Promise};
pub use disk::{
    AllocationError, Block, Device, DiskAlloc, DiskCounts, DiskDone, DiskRequest, Extent, ExtentMap, Owner, Shape,
    reconcile,
};
pub use engine::{
    Answer, Asked, Content, Deployment, Key, Kind, Message, Node, NodeId, NodeInput, NodeOutput, OperationId, Refusal,
};
pub use file::Problem;
pub use hardware::{HARDWARE, Hardware};
pub use judge::{Found, Verdict, hunt, judge};
pub use modules::{Entry, entries};
pub use plan::{Loaded, Plan, PlanError, PlanFile, PlanFiles};
pub use quantity::{Bytes, Span, read_bytes, read_span};
pub use report::{Busy, Percentiles, Report};
pub use virtual_time::{Roughness, VirtualRun, run};
pub use workload::{Begun, LoadClient, Recorded, WORKLOADS, Workload};
