//! `cargo xtask test`: runs every test of the repository, part by part, and sums them up.
//!
//! Invariant: a part that fails, cannot start, or runs no test counts as a failure.

mod tally;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};

use tally::{Counting, Tally};

struct Part {
    name: &'static str,
    command: &'static [&'static str],
    counting: Counting,
}

/// A simulation with one rule taken out, and the seeds of which one has to find it.
macro_rules! without {
    ($rule:literal, $seeds:literal) => {
        Part {
            name: concat!("without: ", $rule),
            command: &["target/release/iolite", "simulate", "--seeds", $seeds, "--broken", $rule],
            counting: Counting::OneCheck,
        }
    };
}

/// The parts of a lane run one after the other, and the lanes of a stage at once.
type Lane = &'static [Part];

/// A stage begins when the one before has ended. Tests of programs wait for processes, and those of browsers for pages, so these two lanes
/// take less time side by side than one after the other. What keeps all cores busy runs by itself.
const STAGES: &[&[Lane]] = &[&[BUILD], &[RUST, WEB], &[SIMULATION]];

// Unoptimised: overflows and debug assertions are checked, and from cold it takes under half the processor time of a release build. The simulation, which
// needs the speed, runs in the release binary.
const BUILD: Lane = &[Part {
    name: "rust: the tests are built",
    command: &["cargo", "test", "--locked", "--no-run"],
    counting: Counting::OneCheck,
}];

const RUST: Lane =
    &[Part { name: "rust", command: &["cargo", "test", "--locked", "--no-fail-fast"], counting: Counting::CargoTests }];

const WEB: Lane = &[
    Part { name: "types", command: &["npm", "run", "--silent", "types"], counting: Counting::OneCheck },
    Part { name: "typescript", command: &["npm", "run", "--silent", "test:unit"], counting: Counting::NodeTests },
    Part {
        name: "typescript, on a cluster",
        command: &["env", "IOLITE_CLUSTER=2x3", "scripts/node-tests", "sdks/typescript/client"],
        counting: Counting::NodeTests,
    },
    Part { name: "browser", command: &["npm", "run", "--silent", "test:browser"], counting: Counting::NodeTests },
    Part {
        name: "browser, on a cluster",
        command: &["env", "IOLITE_CLUSTER=2x3", "npm", "run", "--silent", "test:browser"],
        counting: Counting::NodeTests,
    },
];

const SIMULATION: Lane = &[
    Part {
        name: "simulation",
        command: &["target/release/iolite", "simulate", "--seeds", "1..300"],
        counting: Counting::OneCheck,
    },
    // One rule taken out at a time: the checks have to find it.
    without!("skip-read-validation", "1..300"),
    without!("let-rows-in", "1..300"),
    without!("second-committer-wins", "1..300"),
    without!("acknowledge-before-fsync", "1..300"),
    without!("no-completion-records", "1..300"),
    without!("remove-at-reply", "1..300"),
    without!("keep-taken-back", "1..300"),
    without!("forget-confirmed", "1..300"),
    without!("publish-past-resolved", "1..300"),
    without!("tell-own-later", "1..300"),
    without!("tapir-fig9", "1..60"),
    without!("tapir-fig5", "1..60"),
    without!("tapir-fig8", "1..60"),
    without!("finalise-without-view", "1..60"),
    without!("begin-from-fewer", "1..60"),
    without!("leave-unsealed", "1..60"),
    without!("take-part-behind", "1..60"),
    without!("start-empty", "1..60"),
    without!("end-undrained", "1..60"),
    without!("accept-while-ending", "1..60"),
];

struct Ended {
    name: &'static str,
    tally: Tally,
    seconds: u64,
}

/// Whether every part passed.
pub fn run(root: &Path) -> Result<bool> {
    let mut total = Tally::default();
    let mut summary = Vec::new();
    for lanes in STAGES {
        for Ended { name, tally, seconds } in run_stage(root, lanes)? {
            summary.push(format!("{name:<34}{tally} ({seconds} s)"));
            total = total + tally;
        }
    }
    println!("== summary");
    summary.iter().for_each(|line| println!("{line}"));
    println!("{total}");
    Ok(total.failed == 0)
}

/// The first lane is shown while it runs. What runs beside it is shown part by part, when each has ended.
fn run_stage(root: &Path, lanes: &[Lane]) -> Result<Vec<Ended>> {
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
    let (printed, succeeded) = run_command(root, part.command, is_shown)?;
    if !is_shown {
        writeln!(std::io::stdout(), "== what {} printed\n{printed}", part.name)?;
    }
    let tally = part.counting.count(&printed, succeeded);
    Ok(Ended { name: part.name, tally, seconds: start.elapsed().as_secs() })
}

/// What it printed, and whether it succeeded.
fn run_command(root: &Path, command: &[&str], is_shown: bool) -> Result<(String, bool)> {
    let (program, arguments) = command.split_first().expect("every part names its program");
    let child =
        Command::new(program).args(arguments).current_dir(root).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = match child {
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
