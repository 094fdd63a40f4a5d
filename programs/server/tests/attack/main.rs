//! `iolite dev` as a process, attacked over its port. Each attack gets a clear answer or a closed connection; the server's memory stays
//! bounded, what was acknowledged stays, and a client that uses it meanwhile notices nothing.

#[path = "../process/dev.rs"]
#[allow(dead_code, reason = "it is shared with the tests of processes")]
mod dev;
#[path = "../../../../crates/wire/tests/hostile_parts/mutation.rs"]
mod mutation;
#[path = "../../../../sdks/rust/tests/sockets/raw_session.rs"]
#[allow(dead_code, reason = "it is shared with the tests of the SDK")]
mod raw_session;

mod connections;
mod contents;
mod frames;
mod greed;
mod greedy_queries;
mod readers;
mod witness;
