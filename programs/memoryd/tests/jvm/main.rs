//! Real programs of the JVM that are frozen, taken from, and go on: nothing is lost, whoever dies.

mod java;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use iolite_memory::agent::{FromAgent, Reason};
use iolite_memory::message::{FromDaemon, ProgramStatus, ToDaemon};
use iolite_memoryd::{Ask, AskError};
use java::Program;
use rustix::process::Signal;

const ENTRIES: usize = 2000;

/// A daemon in a process of its own, in a folder of its own.
struct Bed {
    folder: PathBuf,
    daemon: Child,
}

impl Bed {
    fn new(name: &str) -> Bed {
        let folder = std::env::temp_dir().join(format!("iolite-memoryd-jvm-{name}-{}", std::process::id()));
        let daemon = start_daemon(&folder);
        Bed { folder, daemon }
    }

    fn kill_daemon(&mut self) {
        self.daemon.kill().expect("it is our child");
        self.daemon.wait().expect("it is our child");
    }

    fn ask(&self, message: &ToDaemon) -> Result<FromDaemon, AskError> {
        let answers = Ask::connect(&self.folder.join("socket"))?.ask(message)?;
        Ok(answers.into_iter().next().unwrap_or(FromDaemon::Done))
    }

    fn refusal(&self, message: &ToDaemon) -> String {
        self.ask(message).expect_err("it is refused").to_string()
    }

    fn adopt(&self, pid: u32) {
        let answer = self.ask(&adopt(pid));
        assert!(matches!(answer, Ok(FromDaemon::Done)), "{answer:?}");
    }

    fn freeze(&self, pid: u32) -> (u64, u64) {
        match self.ask(&ToDaemon::Background { pid }) {
            Ok(FromDaemon::Agent(FromAgent::Frozen { arrays, bytes, .. })) => (arrays, bytes),
            other => panic!("it is not frozen: {other:?}"),
        }
    }

    fn thaw(&self, pid: u32) -> (u64, u64) {
        match self.ask(&ToDaemon::Foreground { pid }) {
            Ok(FromDaemon::Agent(FromAgent::Thawed { arrays, lost, .. })) => (arrays, lost),
            other => panic!("it does not go on: {other:?}"),
        }
    }

    fn take(&self, pid: u32) -> u64 {
        match self.ask(&ToDaemon::Reclaim { pid, bytes_max: u64::MAX }) {
            Ok(FromDaemon::Reclaimed { bytes, .. }) => bytes,
            other => panic!("nothing is taken: {other:?}"),
        }
    }

    fn programs(&self) -> Vec<ProgramStatus> {
        let mut ask = Ask::connect(&self.folder.join("socket")).expect("the daemon listens");
        let answers = ask.ask(&ToDaemon::Status).expect("it answers").into_iter();
        answers
            .filter_map(|answer| if let FromDaemon::Program(program) = answer { Some(program) } else { None })
            .collect()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn start_daemon(folder: &Path) -> Child {
    // Cargo builds the library beside the tests.
    let library = std::env::current_exe().expect("it runs").with_file_name("libiolite_memory_agent.so");
    let mut command = Command::new(env!("CARGO_BIN_EXE_memoryd"));
    command.arg("--socket").arg(folder.join("socket")).arg("run").env("IOLITE_MEMORY_AGENT", library);
    let mut daemon = command.stdout(Stdio::piped()).spawn().expect("it was built");
    let mut line = String::new();
    BufReader::new(daemon.stdout.as_mut().expect("it is a pipe")).read_line(&mut line).expect("it says text");
    assert!(line.starts_with("memoryd listens at"), "{line}");
    daemon
}

fn adopt(pid: u32) -> ToDaemon {
    ToDaemon::Adopt { pid, swap_folder: std::env::temp_dir() }
}

#[test]
fn a_jvm_program_is_frozen_and_taken_from_and_has_everything_again() {
    let bed = Bed::new("cycle");
    let mut program = Program::start(ENTRIES);
    let pid = program.pid();
    bed.adopt(pid);
    let survey = match bed.ask(&ToDaemon::Survey { pid }) {
        Ok(FromDaemon::Agent(FromAgent::Surveyed(survey))) => survey,
        other => panic!("no survey: {other:?}"),
    };
    assert!(survey.eligible >= ENTRIES as u64 && survey.eligible < survey.arrays, "{survey:?}");
    let left: u64 = survey.left.iter().map(|left| left.arrays).sum();
    assert_eq!(survey.eligible + left, survey.arrays, "each array is counted once: {survey:?}");
    // Two of its arrays are in static fields, one is locked, and others are in a record, in a list, and in a running method.
    for reason in [Reason::Stack, Reason::StaticField, Reason::Element, Reason::ForeignField] {
        assert!(survey.left.iter().any(|left| left.reason == reason), "{reason:?}: {survey:?}");
    }
    let large: u64 = survey.sizes.iter().filter(|class| class.below_bytes != 64).map(|class| class.bytes).sum();
    assert!(large >= survey.array_bytes, "{survey:?}");
    let reclaim = ToDaemon::Reclaim { pid, bytes_max: u64::MAX };
    assert!(bed.refusal(&reclaim).contains("in the foreground"));
    for round in 0..3 {
        assert_eq!(program.ask("rounds"), format!("right {}", 2 * round + 1));
        let (arrays, bytes) = bed.freeze(pid);
        // Those of its entries, and those of the JDK's buffers and maps.
        assert!(arrays >= ENTRIES as u64 + 200, "{arrays}");
        assert!(bed.take(pid) >= bytes);
        let [status] = <[_; 1]>::try_from(bed.programs()).expect("there is one program");
        assert!(status.background && status.objects == arrays && status.resident_bytes == 0, "{status:?}");
        program.order("check");
        assert_eq!(bed.thaw(pid), (arrays, 0));
        assert_eq!(program.line(), format!("right {}", 2 * round + 2));
    }
}

#[test]
fn a_frozen_program_goes_on_when_its_daemon_dies_and_finds_the_next_one() {
    let mut bed = Bed::new("daemon-dies");
    let mut program = Program::start(ENTRIES);
    let pid = program.pid();
    bed.adopt(pid);
    bed.freeze(pid);
    bed.take(pid);
    bed.kill_daemon();
    assert_eq!(program.ask("rounds"), "right 1");
    bed.daemon = start_daemon(&bed.folder);
    while bed.programs().is_empty() {
        std::thread::yield_now();
    }
    bed.freeze(pid);
    bed.take(pid);
    assert_eq!(bed.thaw(pid).1, 0);
    assert_eq!(program.ask("check"), "right 2");
}

#[test]
fn a_program_that_dies_while_it_is_frozen_leaves_the_others_alone() {
    let bed = Bed::new("program-dies");
    let (mut dies, mut lives) = (Program::start(10), Program::start(10));
    for program in [&dies, &lives] {
        bed.adopt(program.pid());
        bed.freeze(program.pid());
        bed.take(program.pid());
    }
    dies.kill();
    while bed.programs().len() > 1 {
        std::thread::yield_now();
    }
    assert!(bed.refusal(&ToDaemon::Foreground { pid: dies.pid() }).contains("no region"));
    assert_eq!(bed.thaw(lives.pid()).1, 0);
    assert_eq!(lives.ask("check"), "right 1");
}

/// A test that prints what the survey of each program says, and how far the program shrinks.
#[test]
#[ignore = "minutes, and libraries from Maven Central"]
fn soak_real_programs_answer_as_before() {
    let bed = Bed::new("real");
    for real in &java::REAL {
        match (real.start(), real.start()) {
            (Some(plain), Some(frozen)) => freeze_again_and_again(&bed, real.class, plain, frozen),
            _ => eprintln!("not run: {}: Maven does not bring {:?}", real.class, real.artifacts),
        }
    }
}

/// One program is left alone, and the other one is frozen between any two answers.
fn freeze_again_and_again(bed: &Bed, name: &str, mut plain: Program, mut frozen: Program) {
    let pid = frozen.pid();
    bed.adopt(pid);
    println!("{name}: {:?}", bed.ask(&ToDaemon::Survey { pid }).expect("it answers"));
    for _ in 0..5 {
        assert_eq!(frozen.ask("more"), plain.ask("more"), "{name}");
        let before = frozen.resident_bytes();
        let (arrays, bytes) = bed.freeze(pid);
        assert!(bed.take(pid) >= bytes);
        let rests = frozen.resident_bytes();
        println!("{name}: {arrays} arrays of {bytes} bytes; {before} bytes resident, {rests} while it rests");
        assert_eq!(bed.thaw(pid), (arrays, 0), "{name}");
    }
    assert_eq!(frozen.ask("more"), plain.ask("more"), "{name}");
}

/// A walk of the heap of OpenJDK 25 leaves an identity hash in each object, so nobody can tell any more which arrays had one.
#[test]
fn a_program_of_a_later_release_is_refused_and_lives_on() {
    let Some(java) = java::later_java() else {
        eprintln!("not run: this machine has no OpenJDK 21 or later in /usr/lib/jvm");
        return;
    };
    let bed = Bed::new("later");
    let mut program = Program::start_with(&java, 10);
    assert!(bed.refusal(&adopt(program.pid())).contains("OpenJDK 17 or 18"));
    assert_eq!(program.ask("check"), "right 1");
}

/// A shutdown hook is a thread that starts.
#[test]
fn a_frozen_program_that_is_asked_to_end_has_its_arrays_first() {
    let bed = Bed::new("hook");
    let mut program = Program::start(10);
    bed.adopt(program.pid());
    bed.freeze(program.pid());
    bed.take(program.pid());
    program.signal(Signal::TERM);
    assert_eq!(program.line(), "at the end right 1");
}

#[test]
fn only_the_array_whose_saved_bytes_were_damaged_is_lost() {
    let bed = Bed::new("damaged");
    let mut program = Program::start(ENTRIES);
    let pid = program.pid();
    bed.adopt(pid);
    let (arrays, _) = bed.freeze(pid);
    bed.take(pid);
    // A record begins at a multiple of 512 bytes, and those of entries hold random bytes. Most bytes of all others are zero.
    let (file, mut block) = (program.swap_file(), [0; 512]);
    let mut is_of_an_entry = |place: &u64| {
        file.read_exact_at(&mut block, *place).expect("it can be read");
        block.iter().filter(|byte| **byte != 0).count() > 400
    };
    let place = (9000..).map(|number| 512 * number).find(&mut is_of_an_entry).expect("most records are of entries");
    file.write_all_at(&[0xa5; 512], place).expect("it can be written");
    assert_eq!(bed.thaw(pid), (arrays - 1, 1));
    assert_eq!(program.ask("check"), "wrong: 1 entries");
}

#[test]
fn what_is_no_jvm_of_this_user_is_refused_and_lives_on() {
    let bed = Bed::new("refused");
    let mut sleeper = Command::new("sleep").arg("60").spawn().expect("coreutils has sleep");
    assert!(bed.refusal(&adopt(sleeper.id())).contains("is no JVM"));
    assert!(sleeper.try_wait().expect("it is our child").is_none(), "it got no signal");
    sleeper.kill().expect("it is our child");
    sleeper.wait().expect("it is our child");
    assert!(bed.refusal(&adopt(u32::MAX)).contains("no process"));
    let program = Program::start(10);
    let pid = program.pid();
    assert!(bed.refusal(&ToDaemon::Survey { pid }).contains("memoryd adopt"));
    let nowhere = ToDaemon::Adopt { pid, swap_folder: "/nonexistent".into() };
    assert!(bed.refusal(&nowhere).contains("--swap-in"));
}

/// Only root can become another user.
#[test]
fn a_program_of_another_user_is_refused() {
    if !rustix::process::getuid().is_root() {
        eprintln!("not run: it takes root to become another user");
        return;
    }
    let bed = Bed::new("other");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", "echo up; exec sleep 60"]);
    let mut other = command.stdout(Stdio::piped()).spawn().expect("util-linux has setpriv");
    let mut line = String::new();
    BufReader::new(other.stdout.as_mut().expect("it is a pipe")).read_line(&mut line).expect("it says text");
    let said = bed.refusal(&adopt(other.id()));
    other.kill().expect("it is our child");
    other.wait().expect("it is our child");
    assert!(said.contains("of another user"), "{said}");
}
