//! `iolite serve` in front of a real PostgreSQL: killed under load, reached by TLS, there too late, and not to be used; and what the page about it
//! tells to do.

#[path = "../../../../crates/postgres/tests/real_database/server.rs"]
#[allow(dead_code, reason = "it is shared with the tests of the store")]
mod server;

mod gateway;
mod killed;
mod page;
mod refused;
mod rights;
