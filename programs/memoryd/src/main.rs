//! `memoryd`: the daemon, and the commands to it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use iolite_memory::message::{FromDaemon, ProgramStatus, ToDaemon, socket_path};
use iolite_memoryd::{Ask, Daemon};

#[derive(Parser)]
#[command(name = "memoryd", version, about = "Takes the memory of programs that rest, and loses none of it")]
struct CommandLine {
    /// Where the daemon listens; without it `IOLITE_MEMORYD_SOCKET`, or the user's runtime folder
    #[arg(long, global = true, value_name = "PATH")]
    socket: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the programs of this user until it is ended
    Run,
    /// List the programs with a region
    Status {
        /// Print one line of JSON a program
        #[arg(long)]
        json: bool,
    },
    /// Take memory from a program that is in the background
    Reclaim {
        pid: u32,
        /// At most so many bytes; without it all that is saved
        #[arg(long, default_value_t = u64::MAX, value_name = "BYTES", hide_default_value = true)]
        bytes: u64,
    },
    /// Treat a program as in the background, whatever it says
    Background { pid: u32 },
    /// Treat a program as in the foreground: nothing is taken from it
    Foreground { pid: u32 },
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let CommandLine { socket, command } = CommandLine::parse();
    let socket = socket.unwrap_or_else(socket_path);
    let message = match command {
        Command::Run => {
            let daemon = Daemon::listen(&socket)?;
            println!("memoryd listens at {}", daemon.path().display());
            return Ok(daemon.run()?);
        }
        Command::Status { json } => {
            let answers = Ask::connect(&socket)?.ask(&ToDaemon::Status)?;
            return print_programs(&answers, json);
        }
        Command::Reclaim { pid, bytes } => ToDaemon::Reclaim { pid, bytes_max: bytes },
        Command::Background { pid } => ToDaemon::Background { pid },
        Command::Foreground { pid } => ToDaemon::Foreground { pid },
    };
    for answer in Ask::connect(&socket)?.ask(&message)? {
        if let FromDaemon::Reclaimed { bytes, objects, given_back, holes, microseconds } = answer {
            println!(
                "took {bytes} bytes of {objects} objects with {holes} holes in {microseconds} us; {given_back} were in use"
            );
        }
    }
    Ok(())
}

fn print_programs(answers: &[FromDaemon], json: bool) -> anyhow::Result<()> {
    let programs = answers.iter().filter_map(|answer| match answer {
        FromDaemon::Program(program) => Some(program),
        FromDaemon::Welcome { .. } | FromDaemon::Refused { .. } | FromDaemon::Reclaimed { .. } | FromDaemon::Done => {
            None
        }
    });
    for program in programs {
        if json {
            println!("{}", serde_json::to_string(program)?);
        } else {
            println!("{}", in_words(program));
        }
    }
    Ok(())
}

fn in_words(program: &ProgramStatus) -> String {
    let ProgramStatus { pid, name, background, objects, resident_bytes, reclaimable_bytes, reclaimed_bytes, lies } =
        program;
    let place = if *background { "background" } else { "foreground" };
    let broken = if *lies > 0 { format!(", {lies} entries are broken") } else { String::new() };
    format!(
        "{pid} {name}: {place}, {objects} objects, {resident_bytes} bytes in memory, of these {reclaimable_bytes} may be taken, {reclaimed_bytes} taken so far{broken}"
    )
}
