//! The soak: a program that checks every byte that it reads, a daemon that takes all it can, and each of them killed and stopped at random points.
//!
//! A failure prints its seed; `IOLITE_SOAK_SEED=… cargo test -p iolite-memoryd --test soak` draws the same faults and writes again.

mod program;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use iolite_memory::message::{FromDaemon, ToDaemon};
use iolite_memoryd::Ask;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use rustix::process::{Pid, Signal, kill_process};

use program::Sum;

const PROGRAM: &str = "program::program_of_the_soak";

/// About eight seconds.
#[test]
fn no_wrong_byte_when_both_sides_are_killed_and_stopped() {
    let taken = soak(seed(4711), 160);
    assert!(taken > 1 << 20, "the soak hardly did anything: {taken} bytes were taken");
}

/// About five minutes.
#[test]
#[ignore = "minutes"]
fn soak_memory_while_both_sides_are_killed_and_stopped() {
    let taken = soak(seed(1), 6000);
    assert!(taken > 100 << 20, "the soak hardly did anything: {taken} bytes were taken");
}

fn seed(otherwise: u64) -> u64 {
    std::env::var("IOLITE_SOAK_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(otherwise)
}

/// The state that the thread that reclaims and the one that makes faults share.
struct Stage {
    socket: PathBuf,
    program: AtomicU32,
    is_done: AtomicBool,
    reclaimed: AtomicU64,
}

/// Runs a soak, and returns the bytes that were taken. How much the last program did depends on when it was started, and on the machine.
fn soak(seed: u64, faults: u64) -> u64 {
    let folder = std::env::temp_dir().join(format!("iolite-soak-{}", std::process::id()));
    let socket = folder.join("socket");
    let stage = Arc::new(Stage {
        socket: socket.clone(),
        program: AtomicU32::new(0),
        is_done: AtomicBool::new(false),
        reclaimed: AtomicU64::new(0),
    });
    let mut run = Run {
        random: ChaCha8Rng::seed_from_u64(seed),
        daemon: start_daemon(&socket),
        program: start_program(&socket, seed, 0),
        starts: 0,
        seed,
        stage: Arc::clone(&stage),
        kills: [0; 2],
    };
    stage.program.store(run.program.id(), Ordering::Relaxed);
    let reclaiming = {
        let stage = Arc::clone(&stage);
        std::thread::spawn(move || reclaim_again_and_again(&stage))
    };
    for _ in 0..faults {
        run.fault();
    }
    let sum = run.end();
    reclaiming.join().expect("reclaiming does not panic");
    let _ = std::fs::remove_dir_all(&folder);
    let taken = stage.reclaimed.load(Ordering::Relaxed);
    println!(
        "seed {seed}: {faults} faults, {} daemons and {} programs killed, {taken} bytes taken; the last program: {sum:?}",
        run.kills[0], run.kills[1]
    );
    taken
}

fn reclaim_again_and_again(stage: &Stage) {
    while !stage.is_done.load(Ordering::Relaxed) {
        let pid = stage.program.load(Ordering::Relaxed);
        let answer =
            Ask::connect(&stage.socket).and_then(|mut ask| ask.ask(&ToDaemon::Reclaim { pid, bytes_max: u64::MAX }));
        // The daemon may be dead, the program not known yet: then it is asked again.
        for answer in answer.unwrap_or_default() {
            if let FromDaemon::Reclaimed { bytes, .. } = answer {
                stage.reclaimed.fetch_add(bytes, Ordering::Relaxed);
            }
        }
        sleep(Duration::from_millis(1));
    }
}

struct Run {
    random: ChaCha8Rng,
    daemon: Child,
    program: Child,
    starts: u64,
    seed: u64,
    stage: Arc<Stage>,
    kills: [u32; 2],
}

impl Run {
    fn below(&mut self, end: u64) -> u64 {
        self.random.next_u64() % end
    }

    fn fault(&mut self) {
        let wait = Duration::from_micros(1000 + self.below(60_000));
        sleep(wait);
        if let Some(status) = self.program.try_wait().expect("it is our child") {
            self.fail(&format!("the program ended by itself: {status}"));
        }
        match self.below(16) {
            0..6 => self.stop_a_while(self.daemon.id()),
            6..10 => self.stop_a_while(self.program.id()),
            10..13 => {
                end_child(&mut self.daemon);
                self.kills[0] += 1;
                self.daemon = start_daemon(&self.stage.socket);
            }
            13 => {
                end_child(&mut self.program);
                self.kills[1] += 1;
                self.starts += 1;
                self.program = start_program(&self.stage.socket, self.seed, self.starts);
                self.stage.program.store(self.program.id(), Ordering::Relaxed);
            }
            _ => {}
        }
    }

    fn stop_a_while(&mut self, process: u32) {
        signal(process, Signal::STOP);
        let wait = Duration::from_micros(self.below(20_000));
        sleep(wait);
        signal(process, Signal::CONT);
    }

    /// Lets the program that runs now end, and returns what it did.
    fn end(&mut self) -> Sum {
        // It may have been started a moment ago.
        sleep(Duration::from_millis(1500));
        self.stage.is_done.store(true, Ordering::Relaxed);
        drop(self.program.stdin.take());
        let mut said = String::new();
        let output = self.program.stdout.as_mut().expect("it is a pipe");
        output.read_to_string(&mut said).expect("it says text");
        let status = self.program.wait().expect("it is our child");
        if !status.success() {
            self.fail(&format!("{status}: {said}"));
        }
        end_child(&mut self.daemon);
        Sum::read(&said).unwrap_or_else(|| panic!("the program said {said}"))
    }

    fn fail(&mut self, what: &str) -> ! {
        end_child(&mut self.daemon);
        end_child(&mut self.program);
        self.stage.is_done.store(true, Ordering::Relaxed);
        panic!("seed {}: {what}", self.seed);
    }
}

fn signal(process: u32, signal: Signal) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).expect("it is a process");
    kill_process(pid, signal).expect("it is our child");
}

fn end_child(child: &mut Child) {
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
}

fn start_daemon(socket: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memoryd"));
    let mut daemon =
        command.arg("--socket").arg(socket).arg("run").stdout(Stdio::piped()).spawn().expect("memoryd starts");
    let mut line = String::new();
    let output = daemon.stdout.as_mut().expect("it is a pipe");
    BufReader::new(output).read_line(&mut line).expect("it says text");
    assert!(line.starts_with("memoryd listens at"), "memoryd said {line:?}");
    daemon
}

fn start_program(socket: &Path, seed: u64, number: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this test is a program"));
    command.args(["--exact", PROGRAM, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("IOLITE_SOAK_SOCKET", socket).env("IOLITE_SOAK_PROGRAM", format!("{}", seed ^ (number << 32)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("this test starts")
}
