//! Tracking of several gateways over the store of one replica, whose replies and feed come when the test says so.

mod addresses;
mod beginning;
mod buckets;
mod coordinators;
mod leases;
mod memory;
mod moving;
mod owners;
mod registering;
mod store_anew;
mod world;
