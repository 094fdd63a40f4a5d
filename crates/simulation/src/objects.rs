//! The world of objects: servers, each with tracking over a model of a store, and devices that come, go and move objects.
//!
//! Its faults and checks are its own. What it shares with the other worlds is the seed, the report and the command.

mod app;
mod asking;
mod checker;
mod clients;
mod clock;
mod commits;
mod device_node;
mod disks;
mod faults;
mod happened;
mod kinds;
mod links;
mod live;
mod members;
mod names;
mod peers;
mod queue;
mod roughness;
mod server_node;
mod serving;
mod store;
mod store_link;
mod told;
mod transacting;
mod under;
mod world;

pub use happened::ObjectEvent;
pub use live::run;
