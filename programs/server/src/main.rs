//! The command line of Iolite. Its words and options are stable: scripts depend on them.

mod backup;
mod certificate;
mod cluster;
mod description;
mod dev;
mod durability;
mod logs;
mod members;
mod operator;
mod seconds;
mod serve;
mod shard;
mod simulate;
mod torture;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[derive(Parser)]
#[command(name = "iolite", version, about = "Shared state for apps: local first, reactive, strictly serializable")]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// One process with everything: the store, the gateway and your app's page
    Dev(dev::Arguments),
    /// One node of a cluster: a replica of a shard, or a gateway
    Serve(serve::Arguments),
    /// A cluster of processes on this machine
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Who keeps the shards of a cluster, on whichever machines it is
    #[command(subcommand)]
    Shard(shard::Command),
    /// Copy all that a cluster holds at one moment, while clients go on
    Backup(backup::Backup),
    /// Fill a new cluster from a backup
    Restore(backup::Restore),
    /// Read a backup, and compare every file with its checksum
    CheckBackup(backup::CheckBackup),
    /// Certificates, by which nodes of a cluster know each other
    #[command(subcommand)]
    Certificate(certificate::Command),
    /// Measure a workload; each client is a process of its own
    Bench(iolite_benchmarks::Arguments),
    /// Run whole clusters in one thread, from seeds, with faults, and check everything
    Simulate(simulate::Arguments),
    /// Kill, pause, cut off and confuse the processes of a cluster while clients use it, and judge what they saw
    Torture(torture::Arguments),
    #[command(hide = true, name = "bench-client")]
    BenchClient(iolite_benchmarks::ClientArguments),
    /// Another process of `bench`
    #[command(hide = true, name = "bench-part")]
    BenchPart(iolite_benchmarks::PartArguments),
}

fn main() -> ExitCode {
    let CommandLine { command } = CommandLine::parse();
    let ended = match command {
        Command::Dev(arguments) => dev::run(arguments).map(|()| ExitCode::SUCCESS),
        Command::Serve(arguments) => serve::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Cluster(command) => cluster::run(&command),
        Command::Shard(command) => shard::run(&command),
        Command::Backup(arguments) => backup::take(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Restore(arguments) => backup::restore(&arguments).map(|()| ExitCode::SUCCESS),
        Command::CheckBackup(arguments) => backup::check(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Certificate(command) => certificate::run(&command).map(|()| ExitCode::SUCCESS),
        Command::Bench(arguments) => iolite_benchmarks::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Torture(arguments) => torture::run(&arguments),
        Command::BenchClient(arguments) => iolite_benchmarks::run_client(&arguments).map(|()| ExitCode::SUCCESS),
        Command::BenchPart(arguments) => iolite_benchmarks::run_part(&arguments).map(|()| ExitCode::SUCCESS),
    };
    ended.unwrap_or_else(|error| {
        iolite_host::warn(&format!("error: {}", explained(&error)));
        ExitCode::FAILURE
    })
}

/// What failed, then each reason that was not told with it already.
fn explained(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |told, cause| match told {
        told if told.contains(&cause) => told,
        told if told.is_empty() => cause,
        told => format!("{told}: {cause}"),
    })
}
