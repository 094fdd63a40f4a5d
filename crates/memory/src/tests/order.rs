//! The order of the lock's steps: the other side goes first at a point between two of them.
//!
//! A store that a processor still delays is made by the test at the barrier, since that is when it becomes visible at the latest.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::bad_input::held_bytes;
use super::lock::{connect, daemon_of, disconnect, object, region};
use crate::region::guards::usable_place;
use crate::region::table::WRITES;
use crate::restoring::make_usable;
use crate::shared::Shared;
use crate::steps::Point;
use crate::steps::for_tests::{all_made, once_at};
use crate::{Foreign, Pool, Region, Slot};

const PAGE: usize = 4096;

fn put(pool: &Pool, count: u8) -> Vec<Slot> {
    (0..count).map(|number| pool.put(&object(number, PAGE)).expect("there is room")).collect()
}

/// Objects of a page, saved, and the daemon that may take them.
fn saved(count: u8) -> (Region, Pool, Vec<Slot>, Foreign) {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let slots = put(&pool, count);
    region.save().expect("the disk has room");
    connect(&region);
    let daemon = daemon_of(&region);
    (region, pool, slots, daemon)
}

/// A guard's store that no other processor sees before the barrier. Another pool's line has it.
fn store_at_the_barrier(region: &Region, index: u32, flags: u64) {
    let pool = region.pool().expect("there are few");
    let seen_late = move || {
        pool.line().slots[0].store((u64::from(index) + 1) | flags, Ordering::Relaxed);
        std::mem::forget(pool);
    };
    once_at(Point::Barrier, seen_late);
}

#[test]
fn the_daemon_looks_for_guards_after_the_barrier() {
    let (region, _pool, slots, daemon) = saved(3);
    store_at_the_barrier(&region, slots[1].number(), 0);
    let taken = daemon.reclaim(u64::MAX, || true).expect("holes can be made");
    assert_eq!((taken.objects, taken.given_back), (2, 1));
}

#[test]
fn the_saver_looks_for_writers_after_the_barrier() {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let slots = put(&pool, 3);
    store_at_the_barrier(&region, slots[1].number(), WRITES);
    let saved = region.save().expect("the disk has room");
    assert_eq!((saved.objects, saved.busy), (2, 1));
}

#[test]
fn an_object_that_is_only_read_is_saved() {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let slots = put(&pool, 1);
    let _guard = pool.read(&slots[0]).expect("it is in memory");
    let saved = region.save().expect("the disk has room");
    assert_eq!((saved.objects, saved.busy), (1, 0));
}

#[test]
fn claims_are_settled_after_the_barrier_and_their_memory_is_free() {
    let (region, _pool, slots, daemon) = saved(3);
    drop(daemon.claim(&daemon.candidates()));
    store_at_the_barrier(&region, slots[1].number(), 0);
    disconnect(&region);
    let table = &region.shared().table;
    let claimed: Vec<bool> = slots.iter().map(|slot| table.entry(slot.number()).word().is_claimed()).collect();
    assert_eq!(claimed, [false, true, false], "a guard is on the second one");
    assert_eq!(held_bytes(&region), PAGE as u64);
}

#[test]
fn a_place_rests_until_a_guard_could_be_seen() {
    let (region, pool, slots, daemon) = saved(1);
    let batch = daemon.claim(&daemon.candidates());
    drop(pool.read(&slots[0]).expect("it is moved"));
    batch.end();
    let free = region.shared().free_pages();
    store_at_the_barrier(&region, slots[0].number(), 0);
    region.shared().end_rests_now();
    assert_eq!(region.shared().free_pages(), free, "a guard is on the place");
}

/// A batch that a daemon died in leaves an odd number behind.
#[test]
fn the_batch_after_one_that_never_ended_has_an_odd_number_too() {
    let (region, pool, slots, daemon) = saved(1);
    drop(daemon.claim(&daemon.candidates()));
    disconnect(&region);
    drop(pool.read(&slots[0]).expect("it comes back"));
    connect(&region);
    let next = daemon_of(&region);
    let batch = next.claim(&next.candidates());
    drop(pool.read(&slots[0]).expect("it is moved"));
    let free = region.shared().free_pages();
    region.shared().end_rests_now();
    assert_eq!(region.shared().free_pages(), free, "the batch is open");
    batch.end();
    region.shared().end_rests_now();
    assert_eq!(region.shared().free_pages(), free + 1);
}

/// Between a reader's look at the word and at the place, a daemon claims the object and another thread moves it.
#[test]
fn a_reader_takes_no_place_that_its_word_was_not_of() {
    let (region, _pool, slots, daemon) = saved(1);
    let shared: Arc<Shared> = Arc::clone(region.shared());
    let index = slots[0].number();
    once_at(Point::ReaderSawWord, move || {
        let _claims = daemon.claim(&daemon.candidates());
        make_usable(&shared, index).expect("it is moved");
    });
    let entry = region.shared().table.entry(index);
    assert_eq!(usable_place(entry), None, "the object is at another place than before");
    assert_eq!(region.counts().taken_over, 1);
}

/// As before, but the bytes have not come to the new place yet.
#[test]
fn a_reader_takes_no_place_whose_bytes_have_not_come() {
    let (region, _pool, slots, daemon) = saved(1);
    let shared: Arc<Shared> = Arc::clone(region.shared());
    let index = slots[0].number();
    once_at(Point::ReaderSawWord, move || {
        let _claims = daemon.claim(&daemon.candidates());
        let entry = shared.table.entry(index);
        let claimed = entry.word();
        assert!(entry.change(claimed, claimed.restoring().expect("it is claimed")));
        let place = shared.take_place(1).expect("there is room");
        entry.offset.store(place.offset(), Ordering::Relaxed);
    });
    let entry = region.shared().table.entry(index);
    assert_eq!(usable_place(entry), None);
    let restoring = entry.word();
    assert!(entry.change(restoring, restoring.restored().expect("it is being restored")));
}

#[test]
fn a_claim_that_is_given_back_soon_is_waited_for() {
    let (region, pool, slots, daemon) = saved(1);
    let (shared, index) = (Arc::clone(region.shared()), slots[0].number());
    let batch = daemon.claim(&daemon.candidates());
    once_at(Point::ReaderWaits, move || {
        let entry = shared.table.entry(index);
        let claimed = entry.word();
        assert!(entry.change(claimed, claimed.given_back().expect("it is claimed")));
    });
    assert!(*pool.read(&slots[0]).expect("it is in memory") == object(0, PAGE)[..]);
    assert_eq!((region.counts().taken_over, all_made()), (0, true));
    drop(batch);
}

/// The saver's copy is of an object that is gone, and whose entry has another one.
#[test]
fn a_copy_of_an_object_that_was_dropped_is_thrown_away() {
    let region = region(64 << 20);
    let pool = region.pool().expect("it is the first");
    let slot = pool.put(&object(1, PAGE)).expect("there is room");
    let index = slot.number();
    let others = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (kept, second) = (Arc::clone(&others), region.pool().expect("it is the second"));
    once_at(Point::SaverWrote, move || {
        drop(slot);
        let other = second.put(&object(2, 5 * PAGE)).expect("there is room");
        kept.lock().expect("no test panics with it").push(other);
    });
    assert_eq!(region.save().expect("the disk has room").objects, 0);
    let other = others.lock().expect("no test panics with it").pop().expect("it was put");
    assert_eq!((other.number(), region.counts().swap_bytes), (index, 0));
    assert_eq!(region.save().expect("the disk has room").objects, 1);
    let taken = daemon_of(&region).reclaim(u64::MAX, || true).expect("holes can be made");
    assert_eq!(taken.objects, 1);
    assert!(*pool.read(&other).expect("it comes back") == object(2, 5 * PAGE)[..]);
    drop(other);
    assert_eq!(region.counts().swap_bytes, 0);
}

#[test]
fn an_object_is_saved_restored_settled_and_dropped_under_its_stripe() {
    let (region, pool, mut slots, daemon) = saved(1);
    let index = slots[0].number();
    let expect = |point| {
        let shared = Arc::clone(region.shared());
        once_at(point, move || assert!(shared.is_striped(index), "{point:?} without the stripe"));
    };
    expect(Point::SaverPublishes);
    pool.write(&mut slots[0]).expect("it is in memory")[0] ^= 1;
    region.save().expect("the disk has room");
    expect(Point::Settles);
    drop(daemon.claim(&daemon.candidates()));
    disconnect(&region);
    expect(Point::Restores);
    drop(pool.read(&slots[0]).expect("it comes back"));
    expect(Point::Drops);
    drop(slots);
    assert!(all_made());
}
