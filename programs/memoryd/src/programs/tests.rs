//! Tests of the programs that the daemon knows: nothing is on its way to the region of a program that has left.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use iolite_memory::descriptors::send_line;
use iolite_memory::message::{MESSAGES_VERSION, ToDaemon, line_of};
use iolite_memory::{Options, Region, Slot};

use super::*;
use crate::connection::serve;

const NUMBER: u64 = 7;

/// A region of which one object may be taken.
pub(crate) fn region() -> (Region, Slot) {
    let options = Options::new("test").bytes_max(1 << 20).swap_in(std::env::temp_dir()).without_memoryd();
    let region = Region::create(options.save_every(Duration::from_secs(3600))).expect("this machine allows it");
    let slot = region.pool().expect("it is the first").put(&[7; 4096]).expect("there is room");
    region.save().expect("the disk has room");
    region.background();
    (region, slot)
}

pub(crate) fn program_of(region: &Region) -> Program {
    let (data, table) = region.files();
    let copy = |file: std::os::fd::BorrowedFd<'_>| file.as_fd().try_clone_to_owned().expect("descriptors are there");
    Program::new(1, "test".to_owned(), Foreign::open(copy(data), copy(table)).expect("it is a region"))
}

/// Gives other threads the chance to do what they must not.
fn let_others_run() {
    for _ in 0..1000 {
        std::thread::yield_now();
    }
}

#[test]
fn a_program_that_left_while_a_command_waited_is_not_taken_from() {
    let (region, _slot) = region();
    let programs = Programs::default();
    let program = programs.add(NUMBER, program_of(&region)).expect("it is the first");
    std::thread::scope(|scope| {
        let turn = program.turn();
        let taking = scope.spawn(|| programs.reclaim_one(NUMBER, &program, u64::MAX).expect("holes can be made"));
        let_others_run();
        programs.remove(NUMBER);
        drop(turn);
        assert_eq!(taking.join().expect("it does not panic"), Reclaimed::default());
    });
    programs.known.lock().expect(LOCKED).insert(NUMBER, Arc::clone(&program));
    assert_eq!(programs.reclaim_one(NUMBER, &program, u64::MAX).expect("holes can be made").objects, 1);
}

#[test]
fn a_program_does_not_leave_while_it_is_taken_from() {
    let (region, _slot) = region();
    let programs = Programs::default();
    let (ours, daemon) = UnixStream::pair().expect("sockets may be made");
    let hello = ToDaemon::Hello { version: MESSAGES_VERSION, name: "test".to_owned() };
    let (data, table) = region.files();
    send_line(&ours, &line_of(&hello).expect("it is short"), &[data, table]).expect("the buffer has room");
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| serve(&programs, NUMBER, &daemon, std::path::Path::new("unused")));
        let program = loop {
            if let Some((_, program)) = programs.of_pid(std::process::id()).pop() {
                break program;
            }
            std::thread::yield_now();
        };
        let turn = program.turn();
        ours.shutdown(std::net::Shutdown::Write).expect("it is open");
        let_others_run();
        assert_eq!(programs.list().len(), 2, "the program and the end of the list");
        drop(turn);
        serving.join().expect("it does not panic").expect("the program has left as it may");
    });
    assert_eq!(programs.list(), [FromDaemon::Done]);
}

#[test]
fn the_limits_are_those_of_the_page() {
    let page = include_str!("../../../../docs/limits.md");
    for (name, value) in [("PROGRAMS_MAX", PROGRAMS_MAX), ("CONNECTIONS_MAX", CONNECTIONS_MAX)] {
        let row = format!("| `memoryd::{name}` | {value} |");
        assert!(page.contains(&row), "docs/limits.md has no row that begins with {row}");
    }
}
