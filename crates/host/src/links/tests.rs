//! Nodes with real sockets on loopback, and whoever else may connect to them.

use super::LinkSecurity;

mod addresses;
mod authorities;
mod bed;
mod exchange;
mod hostile;
mod lifetime;
mod page;
mod slowness;
mod throughput;
mod trust;
mod weather;
