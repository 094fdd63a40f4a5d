//! The store against a real PostgreSQL, which each test starts for itself.

mod blocking;
mod conformance;
mod encryption;
mod gateway;
mod gateways;
mod giving_up;
mod opening;
#[allow(dead_code, reason = "it is shared with the tests of processes")]
mod server;
mod tables;
mod under_way;
mod writer;
