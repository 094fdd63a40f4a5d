//! `iolite-baseline`: one node of OCC-Store or Lock-Store, the systems that the TAPIR paper compares itself with.
//!
//! Source: TAPIR (TOCS 2018) 7.1.2.

mod command;
mod raft;
mod serve;
mod shard;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[derive(Parser)]
#[command(
    name = "iolite-baseline",
    version,
    about = "OCC-Store and Lock-Store over Raft, to be measured beside Iolite"
)]
struct CommandLine {
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Subcommand)]
enum Subcommands {
    /// One node of one shard
    Serve(serve::Arguments),
}

fn main() -> ExitCode {
    let CommandLine { command: Subcommands::Serve(arguments) } = CommandLine::parse();
    match serve::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            iolite_host::warn(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
