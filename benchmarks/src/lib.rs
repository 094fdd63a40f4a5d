//! `iolite bench`: workloads, each client a process of its own with the real client core.
//!
//! Source: Iolite's own; the workloads are those of the papers, see README.md beside this folder's manifest.
//!
//! The program starts itself again with a hidden subcommand for every client. Parent and client speak JSON lines over the client's standard
//! input and output, so that nothing but the sockets that are measured connects a client with the server.
//!
//! Transactions of a store are measured beside those of other systems (`transactions`): there all clients are in one process, since what is
//! compared is servers.

mod accounting;
mod arguments;
mod beside;
mod child;
mod client;
mod cluster;
mod diamond;
mod draws;
mod fanout;
mod front;
mod game;
mod hocuspocus;
mod latency;
mod measure;
mod metrics;
mod part;
mod parts;
mod peer;
mod probe;
mod propagate;
mod queries;
mod redis;
mod report;
mod run;
mod schema;
mod server;
mod system_run;
mod talk;
mod text;
mod transactions;
mod verify;
mod workloads;

pub use arguments::{Arguments, ClientArguments};
pub use client::run_client;
pub use parts::{PartArguments, run_part};
pub use run::run;
