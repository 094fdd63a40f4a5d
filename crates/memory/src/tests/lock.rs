//! The lock between a program and a daemon, step by step: both sides are in this process, each with its own mapping of the table.

use std::os::fd::AsFd;

use crate::{AccessError, Counts, Foreign, Options, Pool, Region, Slot};

const PAGE: usize = 4096;

/// A region that nobody but the test saves or takes from.
pub(crate) fn region(bytes_max: u64) -> Region {
    let hour = std::time::Duration::from_secs(3600);
    let options = Options::new("test").bytes_max(bytes_max).entries_max(4000).swap_in(std::env::temp_dir());
    Region::create(options.without_memoryd().without_bundles().save_every(hour)).expect("this machine allows it")
}

/// The daemon's view of it, as over a socket.
pub(crate) fn daemon_of(region: &Region) -> Foreign {
    let (data, table) = region.files();
    let copy = |file: std::os::fd::BorrowedFd<'_>| file.as_fd().try_clone_to_owned().expect("descriptors are there");
    Foreign::open(copy(data), copy(table)).expect("it is a region")
}

pub(crate) fn object(number: u8, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| number ^ at.to_le_bytes()[0] ^ at.to_le_bytes()[1]).collect()
}

fn put(pool: &Pool, count: u8, bytes: usize) -> Vec<Slot> {
    (0..count).map(|number| pool.put(&object(number, bytes)).expect("there is room")).collect()
}

#[track_caller]
fn assert_reads(pool: &Pool, slot: &Slot, number: u8, bytes: usize) {
    assert!(*pool.read(slot).expect("it can be read") == object(number, bytes)[..], "object {number} has other bytes");
}

pub(crate) fn connect(region: &Region) {
    let mut daemon = region.shared().daemon.lock().expect("no test panics with it");
    daemon.connections += 1;
    daemon.connected = Some(daemon.connections);
}

/// As the link does when the daemon's side has closed.
pub(crate) fn disconnect(region: &Region) {
    {
        let mut daemon = region.shared().daemon.lock().expect("no test panics with it");
        daemon.ended = daemon.connections;
        daemon.connected = None;
    }
    crate::restoring::settle_claims(region.shared());
    region.shared().end_rests_now();
}

fn all(_: &Region, daemon: &Foreign) -> crate::Reclaimed {
    daemon.reclaim(u64::MAX, || true).expect("holes can be made")
}

#[test]
fn what_was_taken_comes_back_as_it_was() {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let sizes = [0, 1, PAGE - 1, PAGE, PAGE + 1, 3 << 20];
    let slots: Vec<Slot> = sizes.map(|bytes| pool.put(&object(7, bytes)).expect("there is room")).into();
    assert_eq!(region.save().expect("the disk has room").objects, 6);
    let daemon = daemon_of(&region);
    let reclaimed = all(&region, &daemon);
    assert_eq!((reclaimed.objects, reclaimed.given_back), (6, 0));
    assert_eq!(region.counts().resident, 0);
    assert_eq!(blocks(&region), 0, "the kernel has the pages back");
    for (slot, bytes) in slots.iter().zip(sizes) {
        assert_reads(&pool, slot, 7, bytes);
    }
    assert_eq!(region.counts().restored, 6);
}

/// The memory that the region has, in blocks of 512 bytes.
fn blocks(region: &Region) -> i64 {
    rustix::fs::fstat(region.files().0).expect("the file is open").st_blocks
}

#[test]
fn neighbours_are_taken_with_one_hole() {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let mut slots = put(&pool, 200, PAGE);
    region.save().expect("the disk has room");
    pool.write(&mut slots[100]).expect("it is in memory")[0] = 1;
    let reclaimed = all(&region, &daemon_of(&region));
    assert_eq!((reclaimed.objects, reclaimed.holes), (199, 2));
}

#[test]
fn what_is_dirty_is_not_taken() {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let mut slots = put(&pool, 2, PAGE);
    let daemon = daemon_of(&region);
    assert_eq!(all(&region, &daemon).objects, 0, "nothing is saved yet");
    region.save().expect("the disk has room");
    pool.write(&mut slots[0]).expect("it is in memory")[..4].copy_from_slice(b"seen");
    assert_eq!(all(&region, &daemon).objects, 1);
    assert_eq!(&pool.read(&slots[0]).expect("it is in memory")[..4], b"seen");
    region.save().expect("the disk has room");
    assert_eq!(all(&region, &daemon).objects, 1);
    assert_eq!(&pool.read(&slots[0]).expect("it comes back")[..4], b"seen");
}

#[test]
fn what_is_in_use_is_given_back() {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let slots = put(&pool, 3, PAGE);
    region.save().expect("the disk has room");
    let guard = pool.read(&slots[1]).expect("it is in memory");
    let reclaimed = all(&region, &daemon_of(&region));
    assert_eq!((reclaimed.objects, reclaimed.given_back, reclaimed.holes), (2, 1, 2));
    assert!(*guard == object(1, PAGE)[..]);
    drop(guard);
    let in_foreground = daemon_of(&region).reclaim(u64::MAX, || false).expect("holes can be made");
    assert_eq!(in_foreground, crate::Reclaimed::default());
    assert_eq!(all(&region, &daemon_of(&region)).objects, 1, "its claim was given back");
}

#[test]
fn a_write_during_a_save_is_not_lost() {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let mut slots = put(&pool, 2, PAGE);
    let mut guard = pool.write(&mut slots[0]).expect("it is in memory");
    guard[0] = 0xaa;
    let saved = region.save().expect("the disk has room");
    assert_eq!((saved.objects, saved.busy), (1, 1));
    guard[1] = 0xbb;
    drop(guard);
    let daemon = daemon_of(&region);
    assert_eq!(all(&region, &daemon).objects, 1);
    assert_eq!(region.save().expect("the disk has room").objects, 1);
    assert_eq!(all(&region, &daemon).objects, 1);
    assert_eq!(pool.read(&slots[0]).expect("it comes back")[..2], [0xaa, 0xbb]);
}

/// How far a daemon comes before it is stopped or dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    Claimed,
    Looked,
    Punched,
}

const STAGES: [Stopped; 3] = [Stopped::Claimed, Stopped::Looked, Stopped::Punched];

#[test]
fn a_stopped_daemon_takes_nothing_that_the_program_uses_meanwhile() {
    for stage in STAGES {
        let region = region(64 << 20);
        let pool = region.pool().expect("it is the first");
        let mut slots = put(&pool, 6, PAGE);
        region.save().expect("the disk has room");
        connect(&region);
        let daemon = daemon_of(&region);
        let mut batch = daemon.claim(&daemon.candidates());
        if stage != Stopped::Claimed {
            batch.give_back_what_is_used();
        }
        if stage == Stopped::Punched {
            batch.punch().expect("holes can be made");
        }
        // The daemon is stopped now. The program reads, writes, drops, and puts something else.
        assert_reads(&pool, &slots[0], 0, PAGE);
        pool.write(&mut slots[1]).expect("it is moved")[0] = 0xcc;
        drop(slots.pop());
        let fresh = put(&pool, 100, PAGE);
        // It goes on.
        if stage == Stopped::Claimed {
            batch.give_back_what_is_used();
        }
        if stage != Stopped::Punched {
            batch.punch().expect("holes can be made");
        }
        assert_eq!(batch.end().objects, 3, "{stage:?}: two were moved, one dropped");
        assert_reads(&pool, &slots[0], 0, PAGE);
        assert_eq!(pool.read(&slots[1]).expect("it is in memory")[0], 0xcc);
        for (number, slot) in (0..).zip(&fresh) {
            assert_reads(&pool, slot, number, PAGE);
        }
        for (number, slot) in (2..).zip(&slots[2..]) {
            assert_reads(&pool, slot, number, PAGE);
        }
        assert_eq!(region.counts().taken_over, 2, "{stage:?}");
    }
}

#[test]
fn a_guard_from_before_the_claim_keeps_its_place_while_others_move() {
    let region = region(64 << 20);
    let (first, second) = (region.pool().expect("it is the first"), region.pool().expect("it is the second"));
    let slots = put(&first, 1, PAGE);
    region.save().expect("the disk has room");
    connect(&region);
    let daemon = daemon_of(&region);
    let guard = first.read(&slots[0]).expect("it is in memory");
    let mut batch = daemon.claim(&daemon.candidates());
    assert_reads(&second, &slots[0], 0, PAGE);
    assert_eq!(region.counts().taken_over, 1);
    batch.give_back_what_is_used();
    batch.punch().expect("holes can be made");
    assert_eq!(batch.end().objects, 0);
    let free = region.shared().free_pages();
    region.shared().end_rests_now();
    assert_eq!(region.shared().free_pages(), free, "a guard is on the place");
    assert!(*guard == object(0, PAGE)[..]);
    drop(guard);
    region.shared().end_rests_now();
    assert_eq!(region.shared().free_pages(), free + 1);
}

#[test]
fn an_old_place_rests_until_its_daemon_is_done_or_gone() {
    for dies in [false, true] {
        let region = region(64 << 20);
        let pool = region.pool().expect("it is the first");
        let slots = put(&pool, 2, PAGE);
        region.save().expect("the disk has room");
        connect(&region);
        let daemon = daemon_of(&region);
        let mut batch = daemon.claim(&daemon.candidates());
        assert_reads(&pool, &slots[0], 0, PAGE);
        let free = region.shared().free_pages();
        region.shared().end_rests_now();
        assert_eq!(region.shared().free_pages(), free);
        if dies {
            drop(batch);
            disconnect(&region);
        } else {
            batch.give_back_what_is_used();
            batch.punch().expect("holes can be made");
            batch.end();
            region.shared().end_rests_now();
        }
        assert_eq!(region.shared().free_pages(), free + 1, "dies: {dies}");
    }
}

#[test]
fn the_claims_of_a_dead_daemon_are_settled_and_the_next_one_takes_up() {
    for stage in STAGES {
        let region = region(64 << 20);
        let pool = region.pool().expect("it is the first");
        let slots = put(&pool, 4, PAGE);
        region.save().expect("the disk has room");
        connect(&region);
        let daemon = daemon_of(&region);
        let guard = pool.read(&slots[3]).expect("it is in memory");
        let mut batch = daemon.claim(&daemon.candidates());
        if stage != Stopped::Claimed {
            batch.give_back_what_is_used();
        }
        if stage == Stopped::Punched {
            batch.punch().expect("holes can be made");
        }
        drop(batch);
        disconnect(&region);
        assert!(*guard == object(3, PAGE)[..]);
        drop(guard);
        connect(&region);
        let next = daemon_of(&region);
        all(&region, &next);
        for (number, slot) in (0..).zip(&slots) {
            assert_reads(&pool, slot, number, PAGE);
        }
        region.save().expect("the disk has room");
        let Counts { reclaimable, objects, .. } = region.counts();
        assert_eq!((reclaimable, objects), (4, 4), "{stage:?}: nothing keeps a claim");
    }
}

#[test]
fn a_full_region_says_so_and_takes_over_nothing() {
    let region = region(1 << 20);
    let pool = region.pool().expect("it is the first");
    let slot = pool.put(&object(1, PAGE)).expect("there is room");
    region.save().expect("the disk has room");
    connect(&region);
    let mut rest = Vec::new();
    while let Ok(slot) = pool.put(&object(2, PAGE)) {
        rest.push(slot);
    }
    assert_eq!(pool.put(b"").map(|_| ()), Err(crate::PutError::RegionFull));
    let daemon = daemon_of(&region);
    let batch = daemon.claim(&daemon.candidates());
    assert_eq!(region.shared().free_pages(), 0);
    assert!(matches!(pool.read(&slot), Err(AccessError::RegionFull)));
    drop(rest);
    assert_reads(&pool, &slot, 1, PAGE);
    drop(batch);
}
