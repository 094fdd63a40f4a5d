//! `memoryd`: the daemon, and the commands to it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use iolite_memory::agent::{FromAgent, Survey};
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
    /// Load the library into a running program of the JVM, so that it can be frozen
    Adopt {
        pid: u32,
        /// The folder where its arrays are saved while it is frozen: on a disk, with room for them
        #[arg(long, default_value = "/var/tmp", value_name = "FOLDER")]
        swap_in: PathBuf,
    },
    /// Count what could be taken from an adopted program
    Survey { pid: u32 },
    /// Treat a program as in the background, whatever it says. An adopted program is frozen
    Background { pid: u32 },
    /// Treat a program as in the foreground: nothing is taken from it. An adopted program goes on
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
        Command::Adopt { pid, swap_in } => ToDaemon::Adopt { pid, swap_folder: std::path::absolute(swap_in)? },
        Command::Survey { pid } => ToDaemon::Survey { pid },
        Command::Background { pid } => ToDaemon::Background { pid },
        Command::Foreground { pid } => ToDaemon::Foreground { pid },
    };
    for answer in Ask::connect(&socket)?.ask(&message)? {
        match answer {
            FromDaemon::Reclaimed { bytes, objects, given_back, holes, microseconds } => println!(
                "took {bytes} bytes of {objects} objects with {holes} holes in {microseconds} us; {given_back} were in use"
            ),
            FromDaemon::Agent(answer) => println!("{}", of_agent(&answer)),
            FromDaemon::Welcome { .. } | FromDaemon::Refused { .. } | FromDaemon::Program(_) | FromDaemon::Done => {}
        }
    }
    Ok(())
}

fn print_programs(answers: &[FromDaemon], json: bool) -> anyhow::Result<()> {
    let programs = answers.iter().filter_map(|answer| match answer {
        FromDaemon::Program(program) => Some(program),
        FromDaemon::Welcome { .. }
        | FromDaemon::Refused { .. }
        | FromDaemon::Reclaimed { .. }
        | FromDaemon::Agent(_)
        | FromDaemon::Done => None,
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

fn of_agent(answer: &FromAgent) -> String {
    match answer {
        FromAgent::Frozen { arrays, bytes, left, microseconds } => {
            format!(
                "frozen in {microseconds} us: {arrays} arrays of {bytes} bytes may be taken, {left} were left in the program"
            )
        }
        FromAgent::Thawed { arrays, lost: 0, microseconds } => {
            format!("goes on after {microseconds} us, with {arrays} arrays")
        }
        FromAgent::Thawed { arrays, lost, microseconds } => format!(
            "goes on after {microseconds} us, with {arrays} arrays; {lost} were damaged on the disk, and are null"
        ),
        FromAgent::Surveyed(survey) => {
            let Survey { arrays, array_bytes, eligible, eligible_bytes } = survey;
            format!(
                "{arrays} arrays of 2 KiB and more have {array_bytes} bytes; {eligible} of {eligible_bytes} bytes may be taken"
            )
        }
        FromAgent::Failed { reason } => reason.clone(),
    }
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
