//! The store against a real PostgreSQL, which each test starts for itself.

mod blocking;
mod conformance;
mod encryption;
mod gateway;
mod gateways;
mod opening;
mod server;
mod tables;
mod under_way;
mod writer;
