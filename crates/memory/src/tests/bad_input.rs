//! Programs that lie, swap files that are damaged, disks that are full: an error with a remedy, and nothing else is lost.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;

use rustix::fs::{MemfdFlags, SealFlags};

use super::lock::{daemon_of, object, region};
use crate::error::ForeignError;
use crate::limits::OBJECT_BYTES_MAX;
use crate::region::memory_file::make;
use crate::region::table::Table;
use crate::{AccessError, Foreign, Options, Region, SaveError};

const PAGE: usize = 4096;

#[test]
fn a_place_beyond_the_region_is_never_punched() {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let slots: Vec<_> = (0..7).map(|number| pool.put(&object(number, PAGE)).expect("there is room")).collect();
    region.save().expect("the disk has room");
    let daemon = daemon_of(&region);
    let table = &region.shared().table;
    let places = slots.iter().map(|slot| table.entry(slot.number()).offset.load(Ordering::Relaxed));
    let places: Vec<u64> = places.collect();
    let lies = [
        (u64::MAX, 4096),
        (1 << 63, 1),
        (places[2] + 1, 4096),
        (0, 1 << 63),
        (region.shared().data.len(), 0),
        (0, OBJECT_BYTES_MAX + 1),
    ];
    for (slot, (offset, bytes)) in slots.iter().zip(lies) {
        table.entry(slot.number()).offset.store(offset, Ordering::Relaxed);
        table.entry(slot.number()).bytes.store(bytes, Ordering::Relaxed);
    }
    assert_eq!(daemon.survey().lies, 6);
    let reclaimed = daemon.reclaim(u64::MAX, || true).expect("holes can be made");
    assert_eq!((reclaimed.objects, reclaimed.bytes), (1, 4096), "the one that tells the truth");
    for (slot, offset) in slots.iter().zip(places) {
        table.entry(slot.number()).offset.store(offset, Ordering::Relaxed);
        table.entry(slot.number()).bytes.store(PAGE as u64, Ordering::Relaxed);
    }
    for (number, slot) in (0..).zip(&slots) {
        assert!(*pool.read(slot).expect("it is there") == object(number, PAGE)[..]);
    }
}

#[test]
fn a_table_that_says_more_than_it_has_is_read_to_its_end() {
    let region = region(64 << 20);
    let table = &region.shared().table;
    let daemon = daemon_of(&region);
    table.header().entries_used.store(u32::MAX, Ordering::Relaxed);
    table.header().lines_used.store(u32::MAX, Ordering::Relaxed);
    assert_eq!((daemon.candidates().len(), daemon.survey().objects, table.hazards().len()), (0, 0, 0));
}

#[test]
fn generations_that_jump_make_a_claim_fail() {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let slot = pool.put(&object(1, PAGE)).expect("there is room");
    region.save().expect("the disk has room");
    let daemon = daemon_of(&region);
    let candidates = daemon.candidates();
    let entry = region.shared().table.entry(slot.number());
    let jumped = entry.word().freed().and_then(|word| word.put()).expect("it held an object");
    assert!(entry.change(entry.word(), jumped));
    assert_eq!(daemon.claim(&candidates).end().objects, 0);
}

#[test]
fn descriptors_that_are_no_region_are_refused_with_a_word() {
    let region = region(1 << 20);
    let (data, table) = region.files();
    let own = |file: std::os::fd::BorrowedFd<'_>| file.as_fd().try_clone_to_owned().expect("descriptors are there");
    let refused = |data: OwnedFd, table: OwnedFd| Foreign::open(data, table).expect_err("it is no region");
    let file = || OwnedFd::from(std::fs::File::open("/dev/null").expect("it is there"));
    assert!(matches!(refused(file(), own(table)), ForeignError::NotSealed { which: "region" }));
    assert!(matches!(refused(own(data), file()), ForeignError::NotSealed { which: "table" }));
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let open = rustix::fs::memfd_create("open", flags).expect("it may be made");
    rustix::fs::fcntl_add_seals(&open, SealFlags::GROW).expect("it may be sealed");
    assert!(matches!(refused(open, own(table)), ForeignError::NotSealed { which: "region" }));
    assert!(matches!(refused(own(table), own(table)), ForeignError::Sizes { .. }));
    assert!(matches!(refused(own(data), own(data)), ForeignError::NotATable { .. }));
    let small = make("small", 4096).expect("it may be made");
    assert!(matches!(refused(own(data), small), ForeignError::NotATable { .. }));
    let zeros = make("zeros", Table::bytes_for(4000)).expect("it may be made");
    assert!(matches!(refused(own(data), zeros), ForeignError::NotATable { .. }));
    region.shared().table.header().entries_max.store(u32::MAX, Ordering::Relaxed);
    assert!(matches!(refused(own(data), own(table)), ForeignError::Sizes { .. }));
}

#[test]
fn only_the_object_whose_saved_bytes_changed_is_lost() {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let slots: Vec<_> = (0..3).map(|number| pool.put(&object(number, PAGE)).expect("there is room")).collect();
    region.save().expect("the disk has room");
    daemon_of(&region).reclaim(u64::MAX, || true).expect("holes can be made");
    let swap = region.swap_file().expect("it has one");
    let at = region.shared().table.entry(slots[1].number()).swap_at.load(Ordering::Relaxed);
    let mut byte = [0];
    swap.read_exact_at(&mut byte, at + 100).expect("it is there");
    swap.write_all_at(&[byte[0] ^ 0x10], at + 100).expect("the test flips a bit");
    let held = held_bytes(&region);
    for _ in 0..2 {
        let error = pool.read(&slots[1]).expect_err("a bit is wrong");
        assert!(matches!(error, AccessError::Corrupt { slot } if slot == slots[1].number()), "{error}");
    }
    assert_eq!(region.counts().corrupt, 2);
    assert_eq!(held_bytes(&region), held, "an object that is not right takes no memory");
    swap.write_all_at(&byte, at + 100).expect("the test puts it back");
    for (number, slot) in (0..).zip(&slots) {
        assert!(*pool.read(slot).expect("it is there") == object(number, PAGE)[..]);
    }
}

/// The bytes that the kernel has for the region.
pub(super) fn held_bytes(region: &Region) -> u64 {
    let status = rustix::fs::fstat(region.files().0).expect("it is open");
    u64::try_from(status.st_blocks).expect("it is a count") * 512
}

#[test]
fn a_swap_file_that_cannot_be_read_loses_nothing() {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let slot = pool.put(&object(1, PAGE)).expect("there is room");
    region.save().expect("the disk has room");
    daemon_of(&region).reclaim(u64::MAX, || true).expect("holes can be made");
    let at = &region.shared().table.entry(slot.number()).swap_at;
    // The kernel reads at no such place.
    let right = at.swap(1 << 63, Ordering::Relaxed);
    for _ in 0..2 {
        assert!(matches!(pool.read(&slot), Err(AccessError::SwapIo(_))));
    }
    at.store(right, Ordering::Relaxed);
    assert!(*pool.read(&slot).expect("it is there") == object(1, PAGE)[..]);
}

#[test]
fn a_swap_file_that_is_cut_short_loses_what_was_cut() {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let slots: Vec<_> = (0..2).map(|number| pool.put(&object(number, PAGE)).expect("there is room")).collect();
    region.save().expect("the disk has room");
    daemon_of(&region).reclaim(u64::MAX, || true).expect("holes can be made");
    let at = region.shared().table.entry(slots[1].number()).swap_at.load(Ordering::Relaxed);
    region.swap_file().expect("it has one").set_len(at + 10).expect("the test cuts it");
    assert!(pool.read(&slots[0]).is_ok());
    assert!(matches!(pool.read(&slots[1]), Err(AccessError::Corrupt { .. })));
}

#[test]
fn what_finds_no_room_in_the_swap_file_stays_in_memory() {
    let options = Options::new("test").bytes_max(1 << 20).swap_in(std::env::temp_dir()).swap_bytes_max(3 * 4096);
    let hour = std::time::Duration::from_secs(3600);
    let region = Region::create(options.without_memoryd().save_every(hour)).expect("this machine allows it");
    let pool = region.pool().expect("it is the first");
    let mut slots: Vec<_> = (0..5).map(|number| pool.put(&object(number, PAGE)).expect("there is room")).collect();
    assert!(matches!(region.save(), Err(SaveError::SwapFull)));
    let daemon = daemon_of(&region);
    assert_eq!(daemon.reclaim(u64::MAX, || true).expect("holes can be made").objects, 3);
    for (number, slot) in (0..).zip(&slots) {
        assert!(*pool.read(slot).expect("it is there") == object(number, PAGE)[..]);
    }
    slots.drain(..2);
    assert_eq!(region.save().expect("there is room now").objects, 2, "what found no room is saved now");
}

#[test]
fn a_full_disk_is_told_and_costs_nothing() {
    // The kernel's device for this: reading gives zeros, writing fails with ENOSPC.
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let error = rustix::io::pwrite(&full, b"x", 0).expect_err("it is full");
    assert!(matches!(crate::swap::error_of(error.into()), SaveError::SwapFull));
    let other = std::io::Error::from(rustix::io::Errno::IO);
    assert!(matches!(crate::swap::error_of(other), SaveError::SwapIo(_)));
}

#[test]
fn a_region_without_a_swap_file_keeps_everything() {
    let region = Region::create(Options::new("test").bytes_max(1 << 20)).expect("this machine allows it");
    let pool = region.pool().expect("it is the first");
    let slot = pool.put(&object(1, PAGE)).expect("there is room");
    assert!(!region.is_reclaimable());
    assert!(matches!(region.save(), Err(SaveError::NoSwap)));
    region.background();
    assert_eq!(daemon_of(&region).reclaim(u64::MAX, || true).expect("holes can be made").objects, 0);
    assert!(*pool.read(&slot).expect("it is there") == object(1, PAGE)[..]);
}

#[test]
#[should_panic(expected = "the slot is of another region")]
fn a_slot_of_another_region_is_a_broken_invariant() {
    let (one, other) = (region(1 << 20), region(1 << 20));
    let slot = one.pool().expect("it is the first").put(b"one").expect("there is room");
    let _ = other.pool().expect("it is the first").read(&slot);
}
