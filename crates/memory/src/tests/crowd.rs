//! Many threads and a daemon at once, for a number of steps: no wrong byte.

use std::sync::atomic::{AtomicBool, Ordering};

use super::lock::{daemon_of, region};
use crate::{Pool, Region, Slot};

const OBJECTS: usize = 64;
const STEPS: u64 = 20_000;

/// The bytes of an object after so many writes: every word is the same, so that a torn copy shows.
fn content(object: usize, version: u64) -> u64 {
    ((object as u64) << 32) | version
}

fn check(bytes: &[u8], expected: u64) {
    let (words, _) = bytes.as_chunks::<8>();
    assert!(words.iter().all(|word| u64::from_le_bytes(*word) == expected), "wrong bytes, not {expected:#x}");
}

fn fill(bytes: &mut [u8], value: u64) {
    let (words, _) = bytes.as_chunks_mut::<8>();
    words.fill(value.to_le_bytes());
}

/// Reads, writes and drops by a plain sequence of numbers.
fn use_objects(pool: &Pool, thread: usize) {
    let made = |object: usize, version: u64| -> Slot {
        let mut bytes = vec![0; 4096 << (object % 3)];
        fill(&mut bytes, content(object + thread * OBJECTS, version));
        pool.put(&bytes).expect("there is room")
    };
    let mut slots: Vec<(Slot, u64)> = (0..OBJECTS).map(|object| (made(object, 0), 0)).collect();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(thread as u64 + 1);
    for _ in 0..STEPS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let object = usize::try_from(random >> 40).expect("24 bits fit") % OBJECTS;
        let (slot, version) = &mut slots[object];
        let expected = content(object + thread * OBJECTS, *version);
        match random % 8 {
            0 => {
                let mut guard = pool.write(slot).expect("it is there");
                check(&guard, expected);
                *version += 1;
                fill(&mut guard, content(object + thread * OBJECTS, *version));
            }
            1 if random.is_multiple_of(64) => slots[object] = (made(object, 0), 0),
            _ => check(&pool.read(slot).expect("it is there"), expected),
        }
    }
}

fn save_and_take(region: &Region, is_done: &AtomicBool) -> u64 {
    let daemon = daemon_of(region);
    let mut taken = 0;
    while !is_done.load(Ordering::Relaxed) {
        region.save().expect("the disk has room");
        taken += daemon.reclaim(u64::MAX, || true).expect("holes can be made").objects;
    }
    taken
}

#[test]
fn threads_that_read_and_write_while_a_daemon_takes_see_no_wrong_byte() {
    let region = region(64 << 20);
    {
        let mut daemon = region.shared().daemon.lock().expect("no test panics with it");
        daemon.connections = 1;
        daemon.connected = Some(1);
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let taker = scope.spawn(|| save_and_take(&region, &is_done));
        let users = [0, 1, 2].map(|thread| {
            let pool = region.pool().expect("there are few");
            scope.spawn(move || use_objects(&pool, thread))
        });
        let ended = users.map(|user| user.join().is_ok());
        is_done.store(true, Ordering::Relaxed);
        let taken = taker.join().expect("the daemon finds nothing wrong");
        assert_eq!(ended, [true; 3]);
        assert!(taken > 0, "nothing was ever taken");
    });
    let counts = region.counts();
    assert_eq!((counts.objects, counts.corrupt), (0, 0), "everything was dropped");
    region.shared().end_rests_now();
    assert_eq!(region.shared().free_pages() * 4096, region.shared().data.len(), "every page is free again");
    assert_eq!(counts.swap_bytes, 0, "every record is free again");
}
