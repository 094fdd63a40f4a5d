//! Helpers of the program's tests: processes that are started and killed, clients that mark, and raw sessions of attackers.
#![allow(dead_code, unused_imports, reason = "each test executable uses its part")]

pub mod dev;
pub mod folder;
pub mod local;
pub mod marks;
#[path = "../../../../crates/wire/tests/hostile_parts/mutation.rs"]
pub mod mutation;
pub mod objects;
#[path = "../../../../sdks/rust/tests/sockets/raw_session.rs"]
pub mod raw_session;
pub mod rooms;
pub mod tokens;
pub mod up;
pub mod users;
