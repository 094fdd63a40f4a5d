//! `cargo xtask test`: runs every test of the repository, part by part, and sums them up. `cargo xtask test PART` runs one part.
//!
//! Invariant: a part that fails, cannot start, or runs no test counts as a failure.

mod executables;
pub mod outside;
mod pool;
mod running;
mod tally;
mod times;
mod weights;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use tally::{Counting, Tally};
use times::Timed;

struct Part {
    /// The name for `cargo xtask test PART`.
    name: &'static str,
    work: Work,
}

enum Work {
    /// The executables of the Rust tests, which are built first.
    Executables,
    Command(&'static [&'static str], Counting),
}

/// A command of the release binary that takes what others leave of the machine.
macro_rules! simulate {
    ($($word:literal),+) => { ["nice", "-n", "10", "target/release/iolite", "simulate", $($word),+] };
}

/// The parts of a lane run one after the other, and the lanes at once.
type Lane = &'static [Part];

/// Tests of programs wait for processes, and those of browsers for pages. The simulation needs no more than the release binary, so it takes what the
/// others leave (`nice`).
const LANES: &[Lane] = &[RUST, WEB, SIMULATION];

// Unoptimised: overflows and debug assertions are checked, and from cold it takes under half the processor time of a release build. The simulation, which
// needs the speed, runs in the release binary.
const RUST: Lane = &[
    Part { name: "rust", work: Work::Executables },
    command("doc", &["cargo", "test", "--locked", "--doc", "--no-fail-fast"], Counting::CargoTests),
];

const WEB: Lane = &[
    command("types", &["npm", "run", "--silent", "types"], Counting::OneCheck),
    command("typescript", &["npm", "run", "--silent", "test:unit"], Counting::NodeTests),
    command(
        "typescript-cluster",
        &["env", "IOLITE_CLUSTER=2x3", "scripts/node-tests", "sdks/typescript/client"],
        Counting::NodeTests,
    ),
    command("browser", &["npm", "run", "--silent", "test:browser"], Counting::NodeTests),
    // Only what a cluster may do otherwise than one process.
    command(
        "browser-cluster",
        &["env", "IOLITE_CLUSTER=2x3", "npm", "run", "--silent", "test:browser-cluster"],
        Counting::NodeTests,
    ),
];

const SIMULATION: Lane = &[
    command("simulation", &simulate!("--seeds", "1..300"), Counting::OneCheck),
    command("simulation-rows", &simulate!("--world", "rows", "--seeds", "1..60"), Counting::OneCheck),
    command("simulation-centres", &simulate!("--world", "centres", "--seeds", "1..24"), Counting::OneCheck),
    command("simulation-objects", &simulate!("--world", "objects", "--seeds", "1..40"), Counting::OneCheck),
    command("simulation-rights", &simulate!("--world", "rights", "--seeds", "1..20"), Counting::OneCheck),
    command("simulation-check", &simulate!("--check"), Counting::ClosingLine),
    // One rule taken out at a time: the checks have to find it.
    command("simulation-variants", &simulate!("--every-variant"), Counting::ClosingLine),
];

const fn command(name: &'static str, command: &'static [&'static str], counting: Counting) -> Part {
    Part { name, work: Work::Command(command, counting) }
}

struct Ended {
    name: &'static str,
    tally: Tally,
    seconds: u64,
    tests: Vec<Timed>,
}

/// Whether every part passed, or the one part that is asked for.
pub fn run(root: &Path, only: Option<&str>) -> Result<bool> {
    let ended = match only {
        None => run_lanes(root, LANES)?,
        Some(name) => vec![run_part(root, part(name)?, true)?],
    };
    let mut total = Tally::default();
    let mut tests = Vec::new();
    println!("== summary");
    for Ended { name, tally, seconds, tests: own } in ended {
        println!("{name:<34}{tally} ({seconds} s)");
        total = total + tally;
        tests.extend(own);
    }
    if !tests.is_empty() {
        println!("the slowest Rust tests:");
        times::slowest(tests).iter().for_each(|Timed { name, seconds }| println!("{seconds:>8.1} s  {name}"));
    }
    println!("{total}");
    Ok(total.failed == 0)
}

fn part(name: &str) -> Result<&'static Part> {
    let parts = LANES.iter().copied().flatten();
    match parts.clone().find(|part| part.name == name) {
        Some(part) => Ok(part),
        None => bail!("there is no part {name:?}: {}", parts.map(|part| part.name).collect::<Vec<_>>().join(", ")),
    }
}

/// The first lane is shown while it runs. What runs beside it is shown part by part, when each has ended.
fn run_lanes(root: &Path, lanes: &[Lane]) -> Result<Vec<Ended>> {
    let lanes = thread::scope(|scope| {
        let lanes = lanes.iter().enumerate();
        let run = |(number, lane): (usize, &Lane)| {
            let (lane, is_first) = (*lane, number == 0);
            scope.spawn(move || lane.iter().map(|part| run_part(root, part, is_first)).collect::<Result<Vec<_>>>())
        };
        let lanes: Vec<_> = lanes.map(run).collect();
        lanes.into_iter().map(|lane| lane.join().expect("a lane does not panic")).collect::<Result<Vec<_>>>()
    })?;
    Ok(lanes.into_iter().flatten().collect())
}

fn run_part(root: &Path, part: &Part, is_shown: bool) -> Result<Ended> {
    println!("== {}", part.name);
    let start = Instant::now();
    let (tally, tests) = match &part.work {
        Work::Executables => {
            let outcome = pool::run_all(root)?;
            (outcome.tally, outcome.tests)
        }
        Work::Command(command, counting) => {
            let (printed, succeeded) = run_command(root, command, is_shown)?;
            if !is_shown {
                writeln!(std::io::stdout(), "== what {} printed\n{printed}", part.name)?;
            }
            (counting.count(&printed, succeeded), Vec::new())
        }
    };
    Ok(Ended { name: part.name, tally, seconds: start.elapsed().as_secs(), tests })
}

/// What it printed, and whether it succeeded.
fn run_command(root: &Path, command: &[&str], is_shown: bool) -> Result<(String, bool)> {
    let (program, arguments) = command.split_first().expect("every part names its program");
    let mut command = Command::new(program);
    executables::without_own_variables(&mut command);
    command.args(arguments).current_dir(root).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            println!("cannot start {program}: {error}");
            return Ok((String::new(), false));
        }
    };
    let mut printed = String::new();
    let output = child.stdout.take().expect("its output was asked for");
    for line in BufReader::new(output).split(b'\n') {
        let line = line.with_context(|| format!("cannot read what {program} prints"))?;
        let line = String::from_utf8_lossy(&line);
        if is_shown {
            writeln!(std::io::stdout(), "{line}")?;
        }
        printed.push_str(&line);
        printed.push('\n');
    }
    Ok((printed, child.wait()?.success()))
}
