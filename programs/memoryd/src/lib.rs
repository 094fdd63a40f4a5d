//! memoryd: takes the memory of programs that rest, when memory is short or it is told to.
//!
//! Invariants: it never touches a program in the foreground; it makes holes in a region only, and in places that lie within it; a program's socket
//! is closed only when nothing is on its way to the program's region.
//! Source: Marvin (Lebeck 2020) 4.5.3; docs/memory.md and docs/protocols/memory.md. Threads and no runtime: making holes blocks, and a daemon has few programs.

mod asking;
mod connection;
pub mod doctor;
mod jvms;
pub mod limit;
mod listening;
mod metrics;
mod programs;
mod watching;

pub use asking::{Ask, AskError};
pub use listening::Daemon;
pub use programs::{CONNECTIONS_MAX, PROGRAMS_MAX};
pub use watching::Watch;
