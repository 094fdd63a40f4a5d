//! A read without a guard, of memory that was taken, ends the program instead of giving zeros.
#![allow(unsafe_code, reason = "the test does what no program may do")]

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use super::lock::{daemon_of, object, region};

const CHILD: &str = "tests::trap::child_that_reads_behind_the_guards";
const SIGBUS: i32 = 7;

#[test]
fn a_read_without_a_guard_traps() {
    let run = |unguarded: &str| {
        let mut command = Command::new(std::env::current_exe().expect("this test is a program"));
        command.args(["--exact", CHILD, "--ignored", "--nocapture"]).env("IOLITE_MEMORY_UNGUARDED", unguarded);
        command.output().expect("it starts")
    };
    let guarded = run("no");
    let said = String::from_utf8_lossy(&guarded.stdout).into_owned();
    if said.contains("the kernel allows no trap") {
        eprintln!("not run: {said}");
        return;
    }
    assert!(guarded.status.success() && said.contains("guarded: right"), "{said}");
    let unguarded = run("yes");
    let said = String::from_utf8_lossy(&unguarded.stdout);
    assert_eq!(unguarded.status.signal(), Some(SIGBUS), "{said}");
    assert!(said.contains("guarded: right") && !said.contains("unguarded:"), "{said}");
}

#[test]
#[ignore = "another process of the test above"]
fn child_that_reads_behind_the_guards() {
    let Ok(unguarded) = std::env::var("IOLITE_MEMORY_UNGUARDED") else { return };
    let region = region(4 << 20);
    let Ok(_trap) = region.trap_unguarded_reads() else {
        println!("the kernel allows no trap");
        return;
    };
    let pool = region.pool().expect("it is the first");
    let slot = pool.put(&object(1, 4096)).expect("there is room");
    region.save().expect("the disk has room");
    let behind = {
        let guard = pool.read(&slot).expect("it is in memory");
        guard.as_ptr()
    };
    let take = || daemon_of(&region).reclaim(u64::MAX, || true).expect("holes can be made").objects;
    assert_eq!(take(), 1);
    assert!(*pool.read(&slot).expect("it comes back") == object(1, 4096)[..]);
    println!("guarded: right");
    assert_eq!(take(), 1);
    if unguarded == "yes" {
        // SAFETY: none: the address is still mapped, but nobody keeps the daemon away. That is what must trap.
        let byte = unsafe { behind.read_volatile() };
        println!("unguarded: {byte}");
    }
}
