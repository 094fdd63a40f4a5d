//! Runs one test executable to its end, whatever it does.
//!
//! Invariant: it ends within the limits, and nothing that it started runs afterwards. An executable that crashes, hangs, prints without end, leaves
//! processes behind or has no test is a failure.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::executables::Executable;
use super::tally::{Counting, Tally};

/// How long an executable may run, and how much it may print.
#[derive(Clone, Copy)]
pub struct Limits {
    pub time: Duration,
    pub output_bytes: u64,
}

pub const LIMITS: Limits = Limits { time: Duration::from_secs(1200), output_bytes: 10 << 20 };

/// How long a process that was killed a moment ago may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The variable by which processes are known that an executable started, whoever their parent is now.
const MARK: &str = "IOLITE_TEST_EXECUTABLE";

/// How an executable ended.
pub struct Ended {
    pub tally: Tally,
    pub printed: String,
    pub took: Duration,
    /// The reason for a failure, in words.
    pub wrong: Option<String>,
}

/// Runs it in its package's folder, as cargo does. What it prints goes through a file below `logs`.
pub fn run(executable: &Executable, limits: Limits, logs: &Path) -> Result<Ended> {
    let path = logs.join(executable.name().replace('/', ".") + ".log");
    let log = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mark = format!("{}-{}", std::process::id(), executable.name());
    let began = Instant::now();
    let mut command = Command::new(&executable.path);
    // The time of each test is shown by an option that the test harness of a stable compiler has only with this variable.
    command.args(["-Zunstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
    command.current_dir(&executable.folder).env("CARGO_MANIFEST_DIR", &executable.folder).env(MARK, &mark);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let stopped = match command.spawn() {
        Ok(mut child) => wait(&mut child, limits, began, &path)?,
        Err(error) => Some(format!("it cannot be started: {error}")),
    };
    let took = began.elapsed();
    // After a failure there is nothing to wait for, and what was started may still print without end.
    let left = end_those_left(&mark, if stopped.is_none() { GONE_WITHIN } else { Duration::ZERO })?;
    let printed = read_to(&path, limits.output_bytes)?;
    let tally = Counting::CargoTests.sum(&printed, true);
    let wrong = stopped
        .or_else(|| {
            (tally == Tally::default()).then(|| "it has no test: say `test = false` in its Cargo.toml".to_owned())
        })
        .or_else(|| (left > 0).then(|| format!("it left {left} processes behind, which were ended")));
    let tally = Tally { failed: tally.failed.max(u64::from(wrong.is_some())), ..tally };
    Ok(Ended { tally, printed, took, wrong })
}

/// Waits for its end, or ends it at a limit. Returns the reason for a failure.
fn wait(child: &mut Child, limits: Limits, began: Instant, log: &Path) -> Result<Option<String>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(match status.code() {
                Some(0) => None,
                // The test harness ends so.
                Some(101) => Some("tests failed".to_owned()),
                Some(_) | None => Some(format!("it ended with {status}")),
            });
        }
        let wrong = if began.elapsed() > limits.time {
            Some(format!("it still ran after {} s", limits.time.as_secs()))
        } else if fs::metadata(log)?.len() > limits.output_bytes {
            Some(format!("it printed more than {} bytes", limits.output_bytes))
        } else {
            None
        };
        if wrong.is_some() {
            child.kill()?;
            child.wait()?;
            return Ok(wrong);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Ends the processes that have the mark, and returns how many did not end by themselves.
fn end_those_left(mark: &str, grace: Duration) -> Result<usize> {
    let left = wait_until_gone(mark, grace);
    if !left.is_empty() {
        Command::new("kill").arg("-KILL").args(&left).stderr(Stdio::null()).status().context("cannot start kill")?;
        wait_until_gone(mark, GONE_WITHIN);
    }
    Ok(left.len())
}

/// Waits for the end of the processes that have the mark, and returns those that are still there at the limit.
fn wait_until_gone(mark: &str, within: Duration) -> Vec<String> {
    let began = Instant::now();
    loop {
        let Left { marked, unclear } = look(mark);
        if (marked.is_empty() && !unclear) || began.elapsed() >= within {
            return marked;
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// One look at all processes. Where the system does not show environments, it shows none.
struct Left {
    /// The numbers of the processes that have the mark in their environment.
    marked: Vec<String>,
    /// A process runs a program and shows no environment. Each one does for a moment while it goes from one program to the next, so nobody can
    /// tell then whether it has the mark.
    unclear: bool,
}

/// Reads each process's environment once: with two looks, one for each question, a process that starts a program between them is missed.
fn look(mark: &str) -> Left {
    let line = format!("{MARK}={mark}").into_bytes();
    let mut left = Left { marked: Vec::new(), unclear: false };
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = process.file_name().to_string_lossy().into_owned();
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|one| one == line) {
            left.marked.push(number);
        } else if environment.is_empty() && fs::read_link(process.path().join("exe")).is_ok() {
            left.unclear = true;
        }
    }
    left
}

/// The file's text, as far as the limit.
fn read_to(path: &Path, bytes_most: u64) -> Result<String> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(File::open(path)?, bytes_most), &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    const GOOD: &str =
        "echo 'test a ... ok'; echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out'";

    /// A shell script in place of an executable, in a folder of its own.
    fn run_script(name: &str, script: &str, limits: Limits) -> Ended {
        let folder: PathBuf = std::env::temp_dir().join(format!("iolite-pool-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let path = folder.join("executable");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("its own folder");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its own file");
        let choice = "--lib".to_owned();
        let executable =
            Executable { package: name.into(), target: "lib".into(), choice, folder: folder.clone(), path };
        let ended = run(&executable, limits, &folder).expect("it can be run");
        fs::remove_dir_all(&folder).expect("it is there");
        ended
    }

    /// A command that runs for long, and that no other run of the tests has.
    fn own_sleep(number: u32) -> String {
        format!("sleep {number}0{}", std::process::id() + 1_000_000)
    }

    fn is_running(command: &str) -> bool {
        let found = Command::new("pgrep").args(["-f", command]).status();
        found.expect("there is a pgrep command").success()
    }

    fn one_failure(name: &str, script: &str, limits: Limits, words: &str) {
        let ended = run_script(name, script, limits);
        assert_eq!(ended.tally.failed, 1, "{:?}", ended.printed);
        assert!(ended.wrong.as_ref().is_some_and(|wrong| wrong.contains(words)), "{:?}", ended.wrong);
    }

    #[test]
    fn a_good_executable_passes() {
        let ended = run_script("good", GOOD, LIMITS);
        assert_eq!((ended.tally, ended.wrong), (Tally { passed: 1, failed: 0, skipped: 0 }, None));
    }

    #[test]
    fn failed_tests_are_counted_one_by_one() {
        let script = "echo 'test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured'; exit 101";
        let ended = run_script("failed", script, LIMITS);
        let counted = Tally { passed: 4, failed: 2, skipped: 0 };
        assert_eq!((ended.tally, ended.wrong.as_deref()), (counted, Some("tests failed")));
    }

    #[test]
    fn one_that_fails_before_it_counts_is_one_failure() {
        one_failure("early", &format!("{GOOD}; exit 101"), LIMITS, "tests failed");
    }

    #[test]
    fn one_whose_tests_are_all_ignored_passes() {
        let script = "echo 'test result: ok. 0 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out'";
        let ended = run_script("ignored", script, LIMITS);
        assert_eq!((ended.tally, ended.wrong), (Tally { skipped: 2, ..Tally::default() }, None));
    }

    #[test]
    fn one_that_crashes_is_one_failure() {
        one_failure("crash", &format!("{GOOD}; kill -SEGV $$"), LIMITS, "ended with");
    }

    #[test]
    fn one_that_hangs_is_ended_with_all_that_it_started() {
        let limits = Limits { time: Duration::from_millis(300), ..LIMITS };
        let sleep = own_sleep(1);
        one_failure("hang", &format!("{sleep} & wait"), limits, "still ran");
        assert!(!is_running(&sleep));
    }

    #[test]
    fn one_that_prints_without_end_is_ended() {
        one_failure("loud", "yes", Limits { output_bytes: 100_000, ..LIMITS }, "printed more than 100000 bytes");
    }

    #[test]
    fn one_that_leaves_a_process_behind_is_a_failure_and_the_process_is_ended() {
        let sleep = own_sleep(2);
        one_failure("child", &format!("setsid {sleep} & {GOOD}"), LIMITS, "left 1 processes");
        assert!(!is_running(&sleep));
    }

    #[test]
    fn a_process_that_shows_no_environment_is_waited_for() {
        let mut shows_none = Command::new("sleep").arg("60").env_clear().spawn().expect("there is a sleep command");
        let within = Duration::from_millis(50);
        let began = Instant::now();
        let left = wait_until_gone("no process has this mark", within);
        let waited = began.elapsed();
        shows_none.kill().expect("it is our own");
        shows_none.wait().expect("it was started");
        assert!(left.is_empty(), "it does not count as left behind: {left:?}");
        assert!(waited >= within, "it was not waited for");
    }

    #[test]
    fn one_without_a_test_is_a_failure() {
        let script = "echo 'test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out'";
        one_failure("empty", script, LIMITS, "has no test");
    }
}
