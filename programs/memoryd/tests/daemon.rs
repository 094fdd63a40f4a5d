//! The daemon over its socket: what it does for programs and people, and what it refuses.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use iolite_memory::descriptors::send_line;
use iolite_memory::message::{FromDaemon, MESSAGES_VERSION, ProgramStatus, ToDaemon, line_of, read_line};
use iolite_memory::{Link, Options, Region, Restore};
use iolite_memoryd::{Ask, AskError, Daemon, PROGRAMS_MAX};

/// A daemon in a thread of this process, in a folder of its own.
struct Bed {
    socket: PathBuf,
}

impl Bed {
    fn new(name: &str) -> Bed {
        let folder = std::env::temp_dir().join(format!("iolite-memoryd-{name}-{}", std::process::id()));
        let socket = folder.join("socket");
        let daemon = Daemon::listen(&socket).expect("the folder is new");
        std::thread::spawn(move || daemon.run());
        Bed { socket }
    }

    fn ask(&self, message: &ToDaemon) -> Result<Vec<FromDaemon>, AskError> {
        Ask::connect(&self.socket)?.ask(message)
    }

    fn region(&self, name: &str) -> Region {
        let options = Options::new(name).bytes_max(8 << 20).swap_in(std::env::temp_dir());
        let hour = Duration::from_secs(3600);
        let region = Region::create(options.memoryd_at(&self.socket).save_every(hour)).expect("this machine allows it");
        while region.link() != Link::Known {
            assert!(!matches!(region.link(), Link::Refused { .. }), "{:?}", region.link());
            std::thread::yield_now();
        }
        region
    }

    fn programs(&self) -> Vec<ProgramStatus> {
        let answers = self.ask(&ToDaemon::Status).expect("it answers");
        answers
            .into_iter()
            .map(|answer| match answer {
                FromDaemon::Program(program) => program,
                other => panic!("a list has programs, not {other:?}"),
            })
            .collect()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.socket.parent().unwrap_or(Path::new("/nonexistent")));
    }
}

fn bytes_of(answers: Result<Vec<FromDaemon>, AskError>) -> u64 {
    match answers.expect("it answers").as_slice() {
        [FromDaemon::Reclaimed { bytes, .. }] => *bytes,
        other => panic!("not an answer to reclaim: {other:?}"),
    }
}

#[test]
fn a_program_in_the_background_is_taken_from_and_has_everything_again() {
    let bed = Bed::new("background");
    let region = bed.region("thumbnails");
    let pool = region.pool().expect("it is the first");
    let slots: Vec<_> = (0..10_u8).map(|number| pool.put(&[number; 4096]).expect("there is room")).collect();
    region.save().expect("the disk has room");
    let reclaim = ToDaemon::Reclaim { pid: std::process::id(), bytes_max: 16384 };
    let refused = bed.ask(&reclaim).expect_err("it is in the foreground");
    assert!(refused.to_string().contains("in the foreground"), "{refused}");
    region.background();
    assert_eq!(bytes_of(bed.ask(&reclaim)), 16384, "no more than was asked for");
    let program = bed.programs().remove(0);
    assert_eq!((program.name.as_str(), program.background, program.objects), ("thumbnails", true, 10));
    assert_eq!((program.resident_bytes, program.reclaimed_bytes, program.lies), (6 * 4096, 16384, 0));
    assert_eq!(region.foreground(Restore::All).expect("it comes back"), 4);
    for (number, slot) in (0..).zip(&slots) {
        assert_eq!(*pool.read(slot).expect("it is there"), [number; 4096]);
    }
    assert!(bed.ask(&reclaim).is_err(), "it is in the foreground again");
    drop(region);
    while !bed.programs().is_empty() {
        std::thread::yield_now();
    }
}

#[test]
fn a_person_may_say_where_a_program_is() {
    let bed = Bed::new("person");
    let region = bed.region("editor");
    let pool = region.pool().expect("it is the first");
    let _slot = pool.put(&[1; 4096]).expect("there is room");
    region.save().expect("the disk has room");
    let pid = std::process::id();
    let reclaim = ToDaemon::Reclaim { pid, bytes_max: u64::MAX };
    bed.ask(&ToDaemon::Background { pid }).expect("it is known");
    assert_eq!(bytes_of(bed.ask(&reclaim)), 4096);
    bed.ask(&ToDaemon::Foreground { pid }).expect("it is known");
    assert!(bed.ask(&reclaim).is_err());
    let refused = bed.ask(&ToDaemon::Background { pid: 1 }).expect_err("it has no region");
    assert!(refused.to_string().contains("told memoryd of no region"), "{refused}");
}

#[test]
fn two_daemons_do_not_share_a_socket() {
    let bed = Bed::new("two");
    let error = Daemon::listen(&bed.socket).expect_err("one listens");
    assert!(error.to_string().contains("another memoryd listens"), "{error}");
    assert!(bed.programs().is_empty(), "the first one still answers");
}

#[test]
fn a_folder_that_others_write_to_is_refused() {
    let folder = std::env::temp_dir().join(format!("iolite-memoryd-open-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("the folder is new");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).expect("it is ours");
    let answer = Daemon::listen(&folder.join("socket"));
    std::fs::remove_dir_all(&folder).expect("it is ours");
    let error = answer.expect_err("everybody writes to it");
    assert!(error.to_string().contains("not a folder of this user alone"), "{error}");
}

#[test]
fn what_is_no_message_costs_only_its_sender() {
    let bed = Bed::new("garbage");
    let region = bed.region("undisturbed");
    let pool = region.pool().expect("it is the first");
    let slot = pool.put(&[7; 4096]).expect("there is room");
    region.save().expect("the disk has room");
    region.background();
    let hello = line_of(&ToDaemon::Hello { version: MESSAGES_VERSION, name: "liar".to_owned() }).expect("it is short");
    let newer = line_of(&ToDaemon::Hello { version: 2, name: "newer".to_owned() }).expect("it is short");
    let cases: [(&[u8], &str); 6] = [
        (b"x\n", "no message"),
        (&[b'x'; 10_000], "longer than 4096"),
        (b"\"status\"\n\"status\"\n", "follows the message"),
        (b"{\"reclaim\":", "ended within a message"),
        (&hello, "two descriptors"),
        (&newer, "another version"),
    ];
    for (bytes, word) in cases {
        let mut stream = UnixStream::connect(&bed.socket).expect("it listens");
        stream.write_all(bytes).expect("it reads");
        stream.shutdown(std::net::Shutdown::Write).expect("it is open");
        let answer = read_line(&mut BufReader::new(stream)).expect("it answers");
        assert!(matches!(&answer, Some(FromDaemon::Refused { reason }) if reason.contains(word)), "{word}: {answer:?}");
    }
    let reclaim = ToDaemon::Reclaim { pid: std::process::id(), bytes_max: u64::MAX };
    assert_eq!(bytes_of(bed.ask(&reclaim)), 4096);
    assert_eq!(*pool.read(&slot).expect("it comes back"), [7; 4096]);
}

/// A hello with the descriptors of a region; the answer.
fn hello_with(bed: &Bed, region: &Region) -> (UnixStream, Option<FromDaemon>) {
    let stream = UnixStream::connect(&bed.socket).expect("it listens");
    let hello = ToDaemon::Hello { version: MESSAGES_VERSION, name: "many".to_owned() };
    let (data, table) = region.files();
    send_line(&stream, &line_of(&hello).expect("it is short"), &[data, table]).expect("it reads");
    let answer = read_line(&mut BufReader::new(&stream)).expect("it answers");
    (stream, answer)
}

#[test]
fn a_daemon_has_so_many_programs() {
    let bed = Bed::new("many");
    let region = Region::create(Options::new("many").bytes_max(1 << 20).without_memoryd()).expect("it is allowed");
    let mut streams: Vec<_> = (0..PROGRAMS_MAX).map(|_| hello_with(&bed, &region)).collect();
    assert!(streams.iter().all(|(_, answer)| *answer == Some(FromDaemon::Welcome { version: 1 })));
    let (_, answer) = hello_with(&bed, &region);
    assert!(matches!(answer, Some(FromDaemon::Refused { reason }) if reason.contains("256 programs already")));
    streams.pop();
    while bed.programs().len() == PROGRAMS_MAX {
        std::thread::yield_now();
    }
    assert_eq!(hello_with(&bed, &region).1, Some(FromDaemon::Welcome { version: 1 }));
}

#[test]
fn connections_past_the_limit_are_refused() {
    let bed = Bed::new("connections");
    let held: Vec<_> =
        (0..iolite_memoryd::CONNECTIONS_MAX).map(|_| UnixStream::connect(&bed.socket).expect("it listens")).collect();
    let answer = bed.ask(&ToDaemon::Status);
    assert!(matches!(&answer, Err(AskError::Refused(reason)) if reason.contains("320 connections")), "{answer:?}");
    drop(held);
    while bed.ask(&ToDaemon::Status).is_err() {
        std::thread::yield_now();
    }
}

/// A daemon that may have 16 files open serves again as soon as one is closed.
#[test]
fn a_daemon_without_a_free_descriptor_goes_on() {
    let folder = std::env::temp_dir().join(format!("iolite-memoryd-files-{}", std::process::id()));
    let socket = folder.join("socket");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 16 && exec \"$0\" --socket \"$1\" run", env!("CARGO_BIN_EXE_memoryd")]).arg(&socket);
    let mut daemon = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("there is a shell");
    let mut line = String::new();
    BufReader::new(daemon.stdout.as_mut().expect("it is a pipe")).read_line(&mut line).expect("it says text");
    assert!(line.starts_with("memoryd listens at"), "{line}");
    let held: Vec<_> = (0..20).map(|_| UnixStream::connect(&socket).expect("it listens")).collect();
    line.clear();
    BufReader::new(daemon.stderr.as_mut().expect("it is a pipe")).read_line(&mut line).expect("it says text");
    assert!(line.contains("raise `ulimit -n`"), "{line}");
    drop(held);
    let answer = Ask::connect(&socket).and_then(|mut ask| ask.ask(&ToDaemon::Status));
    daemon.kill().expect("it runs");
    daemon.wait().expect("it is our child");
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    assert!(matches!(answer.as_deref(), Ok([FromDaemon::Memory(_)])), "no program, and the memory: {answer:?}");
}

#[test]
fn a_program_that_goes_on_talking_is_let_go() {
    let bed = Bed::new("talking");
    let region = Region::create(Options::new("talks").bytes_max(1 << 20).without_memoryd()).expect("it is allowed");
    let (mut stream, _) = hello_with(&bed, &region);
    stream.write_all(b"\"status\"\n").expect("it reads");
    let answer = read_line(&mut BufReader::new(&stream)).expect("it answers");
    assert!(matches!(answer, Some(FromDaemon::Refused { reason }) if reason.contains("nothing after its hello")));
    assert!(bed.programs().is_empty());
}

/// Only root can become another user.
#[test]
fn another_user_is_refused() {
    if !rustix::process::getuid().is_root() {
        eprintln!("not run: it takes root to become another user");
        return;
    }
    let bed = Bed::new("other");
    let folder = bed.socket.parent().expect("it has a folder");
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    std::fs::set_permissions(&bed.socket, std::fs::Permissions::from_mode(0o666)).expect("it is ours");
    std::fs::copy(env!("CARGO_BIN_EXE_memoryd"), folder.join("memoryd")).expect("it can be read");
    // Another user may not be allowed into the folders above this one, so the program is in it and is named from there.
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "./memoryd", "--socket"]);
    command.arg(std::path::Path::new(".").join(bed.socket.file_name().expect("it has a name")));
    let output = command.arg("status").current_dir(folder).output().expect("util-linux has setpriv");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("its own user only"), "{said}");
}
