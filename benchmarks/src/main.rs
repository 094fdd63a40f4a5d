//! `iolite-bench`, which `iolite bench` starts: workloads, each client a process of its own with the real client core.
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
mod cells;
mod child;
mod client;
mod cluster;
mod diamond;
mod draws;
mod fanout;
mod front;
mod game;
mod hocuspocus;
mod intervals;
mod latency;
mod measure;
mod memory;
mod metrics;
mod objects;
mod part;
mod parts;
mod peer;
mod probe;
mod propagate;
mod queries;
mod queue;
mod rebase;
mod redis;
mod report;
mod rights;
mod rows;
mod run;
mod schema;
mod server;
mod swiftsocial;
mod system_run;
mod talk;
mod text;
mod transactions;
mod verify;
mod views;
mod workloads;

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;

use arguments::{Arguments, ClientArguments};
use parts::PartArguments;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Measure a workload; each client is a process of its own
#[derive(Parser)]
#[command(name = "iolite bench", version)]
struct CommandLine {
    #[command(flatten)]
    arguments: Arguments,
}

/// Other processes of a measurement, which this program starts as itself.
#[derive(Parser)]
enum Process {
    #[command(name = "bench-client")]
    Client(ClientArguments),
    #[command(name = "bench-part")]
    Part(PartArguments),
}

fn main() -> ExitCode {
    let first = std::env::args().nth(1);
    let ended = if first.is_some_and(|word| word.starts_with("bench-")) {
        match Process::parse() {
            Process::Client(arguments) => client::run_client(&arguments).map(|()| ExitCode::SUCCESS),
            Process::Part(arguments) => parts::run_part(&arguments).map(|()| ExitCode::SUCCESS),
        }
    } else {
        run::run(&CommandLine::parse().arguments)
    };
    ended.unwrap_or_else(|error| {
        iolite_host::warn(&format!("error: {}", iolite_host::explained(error.as_ref())));
        ExitCode::FAILURE
    })
}
