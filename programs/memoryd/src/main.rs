//! `memoryd`: the daemon, and the commands to it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use iolite_memory::agent::{FromAgent, Left, SizeClass, Survey};
use iolite_memory::message::{Choice, FromDaemon, MemoryStatus, ProgramStatus, ToDaemon, socket_path};
use iolite_memory::policy::{Part, Verdict};
use iolite_memoryd::doctor::{Finding, findings};
use iolite_memoryd::limit::{Group, Limit};
use iolite_memoryd::{Ask, Daemon, Watch};

#[derive(Parser)]
#[command(name = "memoryd", version, about = "Takes the memory of programs that rest, and loses none of it")]
struct CommandLine {
    /// Where the daemon listens; without it `IOLITE_MEMORYD_SOCKET`, or the user's runtime folder
    #[arg(long, global = true, value_name = "PATH")]
    socket: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Args)]
struct Watched {
    /// Keep the memory of all regions together below so many bytes, instead of watching the control group or the machine
    #[arg(long, value_name = "BYTES", conflicts_with = "cgroup")]
    limit_bytes: Option<u64>,
    /// Watch the control group with this folder, instead of the daemon's own or the machine
    #[arg(long, value_name = "FOLDER")]
    cgroup: Option<PathBuf>,
    /// Take memory when less is free; without it a twentieth of the limit. 0 takes only by command
    #[arg(long, value_name = "BYTES")]
    reserve_bytes: Option<u64>,
    /// Leave so many bytes to each program
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    floor_bytes: u64,
    /// Serve the numbers of `status` at http://127.0.0.1:PORT/metrics, for Prometheus
    #[arg(long, value_name = "PORT")]
    metrics_port: Option<u16>,
}

impl Watched {
    fn watch(self) -> anyhow::Result<Watch> {
        let Watched { limit_bytes, cgroup, reserve_bytes, floor_bytes, metrics_port: _ } = self;
        let limit = match (limit_bytes, cgroup) {
            (Some(bytes), _) => Limit::Regions { bytes },
            (None, Some(folder)) => Limit::Group(Group::at(&folder)?),
            (None, None) => Limit::found()?,
        };
        Ok(Watch { limit, reserve_bytes, floor_bytes })
    }
}

#[derive(Subcommand)]
enum Command {
    /// Serve the programs of this user until it is ended, and keep a reserve of memory free
    Run(Watched),
    /// Say what this machine allows, and what each missing thing costs
    Doctor {
        /// The folder that swap files are to be in
        #[arg(long, default_value = "/var/tmp", value_name = "FOLDER")]
        swap_in: PathBuf,
        /// Print one line of JSON a finding
        #[arg(long)]
        json: bool,
    },
    /// List the programs with a region, and what the daemon took from them by itself, with its reasons
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
        Command::Run(watched) => {
            let metrics_port = watched.metrics_port;
            let watch = watched.watch()?;
            let daemon = Daemon::listen(&socket)?;
            daemon.watch(watch)?;
            let metrics = metrics_port.map(|port| daemon.serve_metrics(port)).transpose()?;
            println!("memoryd listens at {}", daemon.path().display());
            if let Some(address) = metrics {
                println!("metrics are at http://{address}/metrics");
            }
            return Ok(daemon.run()?);
        }
        Command::Doctor { swap_in, json } => return print_findings(&findings(&swap_in), json),
        Command::Status { json } => {
            let answers = Ask::connect(&socket)?.ask(&ToDaemon::Status)?;
            return print_status(&answers, json);
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
            FromDaemon::Welcome { .. }
            | FromDaemon::Refused { .. }
            | FromDaemon::Program(_)
            | FromDaemon::Memory(_)
            | FromDaemon::Choice(_)
            | FromDaemon::Done => {}
        }
    }
    Ok(())
}

fn print_findings(findings: &[Finding], json: bool) -> anyhow::Result<()> {
    for finding in findings {
        let Finding { what, found, cost } = finding;
        match cost {
            _ if json => println!("{}", serde_json::to_string(finding)?),
            None => println!("fine   {what}: {found}"),
            Some(cost) => println!("costs  {what}: {found}. {cost}"),
        }
    }
    Ok(())
}

/// A line of JSON is the program itself, or an object that names what it is.
fn print_status(answers: &[FromDaemon], json: bool) -> anyhow::Result<()> {
    for answer in answers {
        match answer {
            FromDaemon::Program(program) if json => println!("{}", serde_json::to_string(program)?),
            answer if json => println!("{}", serde_json::to_string(answer)?),
            FromDaemon::Program(program) => println!("{}", in_words(program)),
            FromDaemon::Memory(memory) => println!("{}", of_memory(memory)),
            FromDaemon::Choice(choice) => println!("{}", of_choice(choice)),
            FromDaemon::Welcome { .. }
            | FromDaemon::Refused { .. }
            | FromDaemon::Reclaimed { .. }
            | FromDaemon::Agent(_)
            | FromDaemon::Done => {}
        }
    }
    Ok(())
}

fn of_memory(memory: &MemoryStatus) -> String {
    let MemoryStatus { of, limit_bytes, free_bytes, reserve_bytes, taken_bytes, short_bytes } = memory;
    let short = if *short_bytes > 0 {
        format!("; at the last shortage {short_bytes} bytes could not be taken from anybody")
    } else {
        String::new()
    };
    format!(
        "watches {of}: {free_bytes} of {limit_bytes} bytes are free, takes below {reserve_bytes}, took {taken_bytes} bytes by itself{short}"
    )
}

fn of_choice(choice: &Choice) -> String {
    let Choice { pid, name, part, free_bytes, asked_bytes, taken_bytes, milliseconds_ago } = choice;
    let reason = match part {
        Part::Cold => "it has cold objects, and of the programs that do it has rested longest",
        Part::Everything => "no program had cold objects left, and of those that rest it has rested longest",
    };
    format!(
        "{milliseconds_ago} ms ago: {free_bytes} bytes were free, took {taken_bytes} of {asked_bytes} wanted from {pid} {name}: {reason}"
    )
}

fn of_verdict(verdict: Verdict) -> String {
    match verdict {
        Verdict::Foreground => "kept its memory, being in the foreground".to_owned(),
        Verdict::NotNeeded => "kept its memory, since others that had rested longer gave enough".to_owned(),
        Verdict::NothingSaved => "had nothing that was saved and in memory".to_owned(),
        Verdict::AtFloor => "was left at its floor".to_owned(),
        Verdict::Gives { bytes } => format!("was asked for {bytes} bytes"),
    }
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
        FromAgent::Surveyed(survey) => of_survey(survey),
        FromAgent::Failed { reason } => reason.clone(),
    }
}

/// A line for each size of objects, then one for the arrays, and one for each reason.
fn of_survey(survey: &Survey) -> String {
    let Survey { sizes, arrays, array_bytes, eligible, eligible_bytes, left } = survey;
    let heap_bytes: u64 = sizes.iter().map(|class| class.bytes).sum();
    let size = |class: &SizeClass| {
        let SizeClass { below_bytes, objects, bytes } = class;
        let percent = bytes * 100 / heap_bytes.max(1);
        let which = if *below_bytes == 0 { "larger".to_owned() } else { format!("below {below_bytes} bytes") };
        format!("{objects} objects {which}: {bytes} bytes, {percent} % of the heap")
    };
    let arrays = format!(
        "{arrays} arrays of 2 KiB and more have {array_bytes} bytes; {eligible} of {eligible_bytes} bytes may be taken"
    );
    let reason = |left: &Left| {
        let Left { reason, arrays, bytes } = left;
        format!("{arrays} arrays of {bytes} bytes stay: {}", reason.in_words())
    };
    let lines = sizes.iter().map(size).chain([arrays]).chain(left.iter().map(reason));
    lines.collect::<Vec<String>>().join("\n")
}

fn in_words(program: &ProgramStatus) -> String {
    let ProgramStatus {
        pid,
        name,
        background,
        objects,
        resident_bytes,
        reclaimable_bytes,
        reclaimed_bytes,
        lies,
        working_set_bytes,
        verdict,
    } = program;
    let place = if *background { "background" } else { "foreground" };
    let broken = if *lies > 0 { format!(", {lies} entries are broken") } else { String::new() };
    let last = verdict.map_or_else(String::new, |verdict| format!("; at the last shortage it {}", of_verdict(verdict)));
    format!(
        "{pid} {name}: {place}, {objects} objects, {resident_bytes} bytes in memory, of these {working_set_bytes} in its working set, {reclaimable_bytes} may be taken, {reclaimed_bytes} taken so far{broken}{last}"
    )
}
