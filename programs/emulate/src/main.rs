//! The program of the emulator. Its words and options are stable: scripts depend on them.

mod check;
mod files;
mod list;
mod node;
mod output;
mod real;
mod run;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "iolite-emulate",
    version,
    about = "Designs of object stores, run under your workload on modelled hardware"
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say which designs, workloads, hardware and modules there are
    List,
    /// Start a design of your own from a copy of one that is there
    New(check::New),
    /// Check the file of a design, and tell all that is wrong with it
    Check(check::Check),
    /// Run a design under a workload, and tell its latencies
    Run(run::Arguments),
    /// Another process of `run --clock real`
    #[command(hide = true)]
    Node,
}

fn main() -> ExitCode {
    let CommandLine { command } = CommandLine::parse();
    let ended = match command {
        Command::List => list::run(),
        Command::New(arguments) => check::new(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Node => node::run(),
    };
    ended.unwrap_or_else(|error| {
        output::warn(&format!("error: {error:#}"));
        ExitCode::FAILURE
    })
}
