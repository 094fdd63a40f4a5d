//! Bundles: that objects share no byte, that room is used again, and that all of it survives being taken.

use std::rc::Rc;

use proptest::prelude::*;

use super::*;
use crate::steps::{Point, for_tests};
use crate::tests::lock::{daemon_of, object};
use crate::{AccessError, Options, Pool, Region, Slot};

fn region() -> Region {
    let hour = std::time::Duration::from_secs(3600);
    let options = Options::new("bundles").bytes_max(4 << 20).swap_in(std::env::temp_dir()).without_memoryd();
    Region::create(options.save_every(hour)).expect("this machine allows it")
}

fn put(pool: &Pool, numbers: std::ops::Range<u8>, bytes: usize) -> Vec<Slot> {
    numbers.map(|number| pool.put(&object(number, bytes)).expect("there is room")).collect()
}

fn take_all(region: &Region) -> u64 {
    region.save().expect("the disk has room");
    daemon_of(region).reclaim(u64::MAX, || true).expect("holes can be made").objects
}

#[track_caller]
fn assert_reads(pool: &Pool, slot: &Slot, number: u8) {
    let bytes = usize::try_from(slot.bytes()).expect("it is small");
    assert!(*pool.read(slot).expect("it can be read") == object(number, bytes)[..], "object {number} has other bytes");
}

#[test]
fn small_objects_share_an_entry_and_come_back_with_it() {
    let region = region();
    let pool = region.pool().expect("it is the first");
    let sizes = [0, 1, 15, 16, 17, 100, 2047];
    let small: Vec<Slot> = sizes.map(|bytes| pool.put(&object(3, bytes)).expect("there is room")).into();
    let large = pool.put(&object(4, 2048)).expect("there is room");
    assert!(small.iter().all(|slot| slot.number() == small[0].number()) && large.number() != small[0].number());
    assert_eq!((region.counts().objects, take_all(&region)), (8, 2));
    assert_eq!((region.counts().resident, region.counts().objects), (0, 8));
    small.iter().for_each(|slot| assert_reads(&pool, slot, 3));
    assert_reads(&pool, &large, 4);
    assert_eq!((region.counts().restored, region.counts().resident), (2, 8));
}

#[test]
fn a_write_to_an_object_keeps_its_neighbours_and_is_saved() {
    let region = region();
    let pool = region.pool().expect("it is the first");
    let mut slots = put(&pool, 0..5, 33);
    assert_eq!(take_all(&region), 1);
    pool.write(&mut slots[2]).expect("it comes back").copy_from_slice(&object(9, 33));
    assert_eq!(daemon_of(&region).reclaim(u64::MAX, || true).expect("holes can be made").objects, 0, "it is dirty");
    assert_eq!(take_all(&region), 1);
    for (number, slot) in [0, 1, 9, 3, 4].into_iter().zip(&slots) {
        assert_reads(&pool, slot, number);
    }
}

#[test]
fn a_put_restores_nothing_and_uses_room_in_memory_again() {
    let region = region();
    let pool = region.pool().expect("it is the first");
    let mut slots = put(&pool, 0..60, 2000);
    let (first, last) = (slots[0].number(), slots[59].number());
    assert_ne!(first, last, "a bundle has 64 KiB");
    assert_eq!(take_all(&region), 2);
    let fresh = put(&pool, 60..61, 2000);
    assert!(region.counts().restored == 0 && ![first, last].contains(&fresh[0].number()));
    // The first bundle is in memory again, and most of it is free.
    assert_reads(&pool, &slots[0], 0);
    slots.drain(1..30).for_each(drop);
    let again = put(&pool, 100..140, 2000);
    assert!(again.iter().any(|slot| slot.number() == first), "its room is used again");
    assert_reads(&pool, &slots[0], 0);
    again.iter().zip(100..).for_each(|(slot, number)| assert_reads(&pool, slot, number));
}

#[test]
fn the_last_object_of_a_bundle_gives_everything_back_unread() {
    let region = region();
    let free_before = region.shared().free_pages();
    let pool = region.pool().expect("it is the first");
    let slots = put(&pool, 0..100, 500);
    assert_eq!(take_all(&region), 1);
    drop(slots);
    let counts = region.counts();
    assert_eq!((counts.objects, counts.restored, counts.swap_bytes), (0, 0, 0));
    assert_eq!(region.shared().free_pages(), free_before);
    assert_reads(&pool, &put(&pool, 7..8, 500)[0], 7);
}

#[test]
fn a_put_needs_no_guard_of_the_pool() {
    let region = region();
    let pool = region.pool().expect("it is the first");
    let slots = put(&pool, 0..4, 100);
    let guards: Vec<_> = slots.iter().map(|slot| pool.read(slot).expect("four may be lent")).collect();
    let fifth = put(&pool, 4..5, 100);
    assert!(matches!(pool.read(&fifth[0]), Err(AccessError::TooManyGuards { .. })));
    drop(guards);
    assert_reads(&pool, &fifth[0], 4);
}

/// The saver clears the mark first: a put that fills the bundle meanwhile is not left out of what is saved.
#[test]
fn a_put_while_its_bundle_is_saved_is_saved_the_next_time() {
    let region = region();
    let pool = region.pool().expect("it is the first");
    let first = pool.put(&object(1, 100)).expect("there is room");
    let late = Rc::new(std::cell::OnceCell::new());
    let (other, put_late) = (region.pool().expect("it is the second"), Rc::clone(&late));
    for_tests::once_at(Point::SaverWrote, move || {
        put_late.set(other.put(&object(2, 100)).expect("there is room")).expect("it is the first");
    });
    assert_eq!(region.save().expect("the disk has room").objects, 0, "the copy lacks the second object");
    assert!(for_tests::all_made());
    assert_eq!(take_all(&region), 1);
    assert_reads(&pool, &first, 1);
    assert_reads(&pool, late.get().expect("it was put"), 2);
}

/// Makes the step when the next put comes to the point, and returns the object that was put.
fn put_with(pool: &Pool, point: Point, step: impl FnOnce() + 'static) -> Slot {
    for_tests::once_at(point, step);
    let slot = pool.put(&object(2, 100)).expect("there is room");
    assert!(for_tests::all_made());
    slot
}

#[test]
fn a_bundle_that_is_being_filled_is_not_saved() {
    let region = Rc::new(region());
    let pool = region.pool().expect("it is the first");
    let first = pool.put(&object(1, 100)).expect("there is room");
    let saves = Rc::clone(&region);
    let second = put_with(&pool, Point::PutFills, move || {
        assert_eq!(saves.save().expect("the disk has room").busy, 1);
        assert_eq!(daemon_of(&saves).reclaim(u64::MAX, || true).expect("holes can be made").objects, 0);
    });
    assert_eq!(take_all(&region), 1);
    assert_reads(&pool, &first, 1);
    assert_reads(&pool, &second, 2);
}

#[test]
fn a_put_whose_bundle_is_taken_meanwhile_goes_elsewhere() {
    let region = Rc::new(region());
    let pool = region.pool().expect("it is the first");
    let first = pool.put(&object(1, 100)).expect("there is room");
    let takes = Rc::clone(&region);
    let second = put_with(&pool, Point::PutTookRoom, move || assert_eq!(take_all(&takes), 1));
    assert!(second.number() != first.number() && region.counts().restored == 0);
    assert_eq!(region.counts().objects, 2);
    assert_reads(&pool, &first, 1);
    assert_reads(&pool, &second, 2);
}

proptest! {
    #[test]
    fn objects_share_no_byte_and_no_room_is_lost(steps in proptest::collection::vec((any::<bool>(), 0_u64..2048, any::<prop::sample::Index>()), 1..300)) {
        let mut bundles = Bundles::default();
        let mut next = 0;
        let mut live: Vec<(Spot, u64)> = Vec::new();
        for (is_put, bytes, which) in steps {
            if is_put || live.is_empty() {
                let spot = bundles.take(bytes, |_| true).unwrap_or_else(|| {
                    next += 1;
                    bundles.add(next, bytes)
                });
                let end = spot.offset() + bytes;
                prop_assert!(end <= BUNDLE_BYTES);
                let apart = |(other, its): &(Spot, u64)| other.entry != spot.entry || other.offset() + its.max(&1) <= spot.offset() || end.max(spot.offset() + 1) <= other.offset();
                prop_assert!(live.iter().all(apart));
                live.push((spot, bytes));
            } else {
                let (spot, bytes) = live.swap_remove(which.index(live.len()));
                let is_last = live.iter().all(|(other, _)| other.entry != spot.entry);
                prop_assert_eq!(bundles.give(spot, bytes), is_last);
            }
        }
        prop_assert_eq!(bundles.known.len(), live.iter().map(|(spot, _)| spot.entry).collect::<BTreeSet<u32>>().len());
        for (spot, bytes) in live {
            bundles.give(spot, bytes);
        }
        prop_assert!(bundles.known.is_empty() && bundles.roomy.is_empty() && bundles.open.is_none());
    }
}
