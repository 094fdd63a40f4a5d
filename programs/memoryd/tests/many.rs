//! Ten programs below a limit that holds five: none is killed, each has its bytes, and `memoryd status` says who gave memory, and why.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use iolite_memory::message::{Choice, FromDaemon, MemoryStatus, ProgramStatus, ToDaemon};
use iolite_memory::policy::{Part, Verdict};
use iolite_memory::{Link, Options, Region, Restore, Slot};
use iolite_memoryd::Ask;

const PROGRAMS: usize = 10;
const OBJECT_BYTES: usize = 64 << 10;
const OBJECTS: usize = 256;
const PROGRAM_BYTES: u64 = (OBJECT_BYTES * OBJECTS) as u64;
/// Five programs, each with its table and heap.
const LIMIT_BYTES: u64 = 5 * (PROGRAM_BYTES + (2 << 20));
/// The program that comes next fits into it.
const RESERVE_BYTES: u64 = PROGRAM_BYTES + PROGRAM_BYTES / 2;

#[test]
#[ignore = "another process of the tests below"]
fn child_with_a_region() {
    let Some(socket) = std::env::var_os("IOLITE_MANY_SOCKET") else { return };
    let mut lines = std::io::stdin().lines();
    let mut next = || lines.next().and_then(Result::ok);
    if next().is_none() {
        return;
    }
    let options = Options::new("many").bytes_max(PROGRAM_BYTES).swap_in(std::env::temp_dir()).memoryd_at(socket);
    let region = Region::create(options).expect("this machine allows it");
    let pool = region.pool().expect("it is the first");
    let mut stamps: Vec<u8> = (0..=u8::MAX).cycle().take(OBJECTS).collect();
    let put = |&stamp: &u8| pool.put(&[stamp; OBJECT_BYTES]).expect("there is room");
    let mut slots: Vec<Slot> = stamps.iter().map(put).collect();
    let is_alone = std::env::var_os("IOLITE_MANY_ALONE").is_some();
    while !is_alone && region.link() != Link::Known {
        std::thread::yield_now();
    }
    println!("\nready");
    while let Some(command) = next() {
        if command == "rest" {
            region.background();
            region.save().expect("the disk has room");
        } else {
            region.foreground(Restore::All).expect("it comes back");
            for (stamp, slot) in stamps.iter_mut().zip(&mut slots) {
                assert!(pool.read(slot).expect("it is there").iter().all(|byte| byte == stamp), "a wrong byte");
                if stamp.is_multiple_of(8) {
                    *stamp = stamp.wrapping_add(8);
                    pool.write(slot).expect("it is there").fill(*stamp);
                }
            }
        }
        println!("\nready");
    }
}

/// Another process, which does what it is told.
struct Program {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Program {
    fn start(socket: &Path, is_alone: bool) -> Program {
        let mut command = Command::new(std::env::current_exe().expect("it is a program"));
        command.args(["--ignored", "--exact", "--nocapture", "child_with_a_region"]).env("IOLITE_MANY_SOCKET", socket);
        if is_alone {
            command.env("IOLITE_MANY_ALONE", "1");
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it is a program");
        let commands = child.stdin.take().expect("it is a pipe");
        let answers = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Program { child, commands, answers }
    }

    /// Whether it did what it was told.
    fn tell(&mut self, command: &str) -> bool {
        if writeln!(self.commands, "{command}").is_err() {
            return false;
        }
        let mut line = String::new();
        while self.answers.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            if line == "ready\n" {
                return true;
            }
            line.clear();
        }
        false
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // If it has ended, that is seen elsewhere.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A control group with the limit, gone when this is dropped.
struct Group {
    folder: PathBuf,
}

impl Group {
    /// `None` where this user may make none.
    fn make(name: &str) -> Option<Group> {
        let name = format!("iolite-many-{name}-{}", std::process::id());
        let made = [("memory", "memory.limit_in_bytes"), ("", "memory.max")].into_iter().find_map(|(root, file)| {
            let group = Group { folder: Path::new("/sys/fs/cgroup").join(root).join(&name) };
            fs::create_dir(&group.folder).ok()?;
            fs::OpenOptions::new().write(true).open(group.folder.join(file)).ok()?;
            fs::write(group.folder.join(file), LIMIT_BYTES.to_string()).ok()?;
            Some(group)
        });
        if made.is_none() {
            eprintln!("not run: this user makes no control group with a limit of memory");
        }
        made
    }

    fn add(&self, program: &Program) {
        fs::write(self.folder.join("cgroup.procs"), program.child.id().to_string()).expect("the group is ours");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It is empty when the last of its processes has ended: until then the kernel says no.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// memoryd as a process, with a folder of its own.
struct Daemon {
    child: Child,
    socket: PathBuf,
}

impl Daemon {
    fn start(name: &str, limit: [&str; 2]) -> Daemon {
        let folder = std::env::temp_dir().join(format!("iolite-many-{name}-{}", std::process::id()));
        let socket = folder.join("socket");
        let mut command = Command::new(env!("CARGO_BIN_EXE_memoryd"));
        command.arg("--socket").arg(&socket).arg("run").args(limit);
        command.args(["--reserve-bytes", &RESERVE_BYTES.to_string()]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("Cargo has built it");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("it is a pipe")).read_line(&mut line).expect("it says text");
        assert!(line.starts_with("memoryd listens at"), "{line}");
        Daemon { child, socket }
    }

    fn status(&self) -> Status {
        let answers = Ask::connect(&self.socket).and_then(|mut ask| ask.ask(&ToDaemon::Status)).expect("it answers");
        let mut status = Status::default();
        for answer in answers {
            match answer {
                FromDaemon::Program(program) => status.programs.push(program),
                FromDaemon::Memory(memory) => status.memory = Some(memory),
                FromDaemon::Choice(choice) => status.choices.push(choice),
                other => panic!("a list has no {other:?}"),
            }
        }
        status
    }

    /// Waits until the next program has room.
    fn reserve_is_there(&self) -> Status {
        loop {
            let status = self.status();
            if status.memory.as_ref().is_some_and(|memory| memory.free_bytes >= memory.reserve_bytes) {
                return status;
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(self.socket.parent().unwrap_or(Path::new("/nonexistent")));
    }
}

#[derive(Default)]
struct Status {
    programs: Vec<ProgramStatus>,
    memory: Option<MemoryStatus>,
    choices: Vec<Choice>,
}

impl Status {
    fn of(&self, program: &Program) -> &ProgramStatus {
        self.programs.iter().find(|known| known.pid == program.child.id()).expect("memoryd knows it")
    }
}

/// Starts ten programs one after the other, and uses each again.
fn ten_programs(daemon: &Daemon, group: Option<&Group>) {
    let mut programs: Vec<Program> = (0..PROGRAMS).map(|_| Program::start(&daemon.socket, false)).collect();
    for command in ["fill", "use"] {
        for program in &mut programs {
            if let (Some(group), "fill") = (group, command) {
                group.add(program);
            }
            assert!(program.tell(command), "a program was killed, or found a wrong byte");
            let status = daemon.reserve_is_there();
            let its = status.of(program);
            assert_eq!((its.background, its.resident_bytes), (false, PROGRAM_BYTES), "it has all of its memory");
            assert!(program.tell("rest"), "a program was killed");
        }
    }
    let status = daemon.reserve_is_there();
    assert_eq!(status.programs.len(), PROGRAMS);
    let resident: u64 = status.programs.iter().map(|program| program.resident_bytes).sum();
    assert!(resident <= LIMIT_BYTES - RESERVE_BYTES, "{resident} bytes are in memory");
    assert!(status.memory.is_some_and(|memory| memory.taken_bytes >= 10 * PROGRAM_BYTES));
    assert!(status.programs.iter().any(|program| matches!(program.verdict, Some(Verdict::Gives { .. }))));
    assert!(status.programs.iter().all(|program| program.reclaimed_bytes > 0), "each gave");
    let last = status.choices.last().expect("memoryd has chosen");
    assert!(last.part == Part::Everything && last.free_bytes < RESERVE_BYTES, "{last:?}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_memoryd"));
    let said = command.arg("--socket").arg(&daemon.socket).arg("status").output().expect("Cargo has built it").stdout;
    let said = String::from_utf8(said).expect("it says text");
    assert!(said.contains("no program had cold objects left"), "{said}");
}

#[test]
fn ten_programs_share_a_limit_that_holds_five() {
    let daemon = Daemon::start("number", ["--limit-bytes", &LIMIT_BYTES.to_string()]);
    ten_programs(&daemon, None);
}

#[test]
fn ten_programs_share_a_control_group_that_holds_five() {
    let Some(group) = Group::make("group") else { return };
    let daemon = Daemon::start("group", ["--cgroup", group.folder.to_str().expect("it is text")]);
    ten_programs(&daemon, Some(&group));
}

/// The arm beside the test above.
#[test]
fn without_memoryd_the_kernel_kills_one() {
    let Some(group) = Group::make("alone") else { return };
    let mut programs: Vec<Program> =
        (0..PROGRAMS).map(|_| Program::start(Path::new("/nonexistent/socket"), true)).collect();
    for program in &mut programs {
        group.add(program);
        program.tell("fill");
        program.tell("rest");
    }
    let killed = programs.iter_mut().map(|program| program.tell("use")).filter(|told| !told).count();
    drop(programs);
    assert!(killed > 0, "ten programs fit into the limit");
}
