//! The command line of Iolite. Its words and options are stable: scripts depend on them.

mod access;
mod backup;
mod bench;
mod beside;
mod blobs;
mod centres;
mod certificate;
mod cluster;
mod description;
mod dev;
mod durability;
mod emulate;
mod logs;
mod members;
mod object_runner;
mod objects;
mod operator;
mod rights_file;
mod rights_runner;
mod schema;
mod seconds;
mod serve;
mod shard;
mod simulate;
mod target;
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
    /// Several data centres on this machine, which have the same tables that merge
    #[command(subcommand)]
    Centres(centres::Command),
    /// Who keeps the shards of a cluster, on whichever machines it is
    #[command(subcommand)]
    Shard(shard::Command),
    /// Copy all that a cluster holds at one moment, while clients go on
    Backup(backup::Backup),
    /// Fill a new cluster from a backup
    Restore(backup::Restore),
    /// Read a backup, and compare every file with its checksum
    CheckBackup(backup::CheckBackup),
    /// The users of a running server: end the sessions of one, and explain what one may do
    #[command(subcommand)]
    Access(access::Command),
    /// The schema and the rights of a running server: look at what a deployment would change, and put it into effect
    #[command(subcommand)]
    Schema(schema::Command),
    /// The store of blobs of a running server: how full it is, whether all is there, and a sweep
    #[command(subcommand)]
    Blobs(blobs::Command),
    /// Objects of a running server: which there are, where they live, and another node for one
    #[command(subcommand)]
    Objects(objects::Command),
    /// Certificates, by which nodes of a cluster know each other
    #[command(subcommand)]
    Certificate(certificate::Command),
    /// Measure a workload; each client is a process of its own
    #[command(disable_help_flag = true)]
    Bench(bench::Arguments),
    /// Run published designs of object stores under your workload on modelled hardware
    #[command(disable_help_flag = true)]
    Emulate(emulate::Arguments),
    /// Run whole clusters in one thread, from seeds, with faults, and check everything
    Simulate(simulate::Arguments),
    /// Kill, pause, cut off and confuse the processes of a cluster while clients use it, and judge what they saw
    Torture(torture::Arguments),
}

fn main() -> ExitCode {
    let CommandLine { command } = CommandLine::parse();
    let ended = match command {
        Command::Dev(arguments) => dev::run(arguments).map(|()| ExitCode::SUCCESS),
        Command::Serve(arguments) => serve::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Cluster(command) => cluster::run(&command),
        Command::Centres(command) => centres::run(&command),
        Command::Shard(command) => shard::run(&command),
        Command::Backup(arguments) => backup::take(&arguments),
        Command::Restore(arguments) => backup::restore(&arguments).map(|()| ExitCode::SUCCESS),
        Command::CheckBackup(arguments) => backup::check(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Access(command) => access::run(&command).map(|()| ExitCode::SUCCESS),
        Command::Schema(command) => schema::run(&command).map(|()| ExitCode::SUCCESS),
        Command::Blobs(command) => blobs::run(&command),
        Command::Objects(command) => objects::run(&command).map(|()| ExitCode::SUCCESS),
        Command::Certificate(command) => certificate::run(&command).map(|()| ExitCode::SUCCESS),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Emulate(arguments) => emulate::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Torture(arguments) => torture::run(&arguments),
    };
    ended.unwrap_or_else(|error| {
        iolite_host::warn(&format!("error: {}", iolite_host::explained(error.as_ref())));
        ExitCode::FAILURE
    })
}
