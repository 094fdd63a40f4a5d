//! Tests of each limit of docs/limits.md.

use super::lock::region;
use crate::limits::{ENTRIES_MAX, GUARDS_MAX, OBJECT_BYTES_MAX, POOLS_MAX, REGION_BYTES_MAX};
use crate::{AccessError, CreateError, Options, PoolError, PutError, Region};

#[test]
fn a_region_has_a_size_and_so_many_entries() {
    let made = |options: Options| Region::create(options.without_memoryd()).map(|_| ());
    let too_large = |made| matches!(made, Err(CreateError::TooLarge { .. }));
    assert!(too_large(made(Options::new("test").bytes_max(REGION_BYTES_MAX + 1))));
    assert!(too_large(made(Options::new("test").bytes_max(1 << 20).entries_max(ENTRIES_MAX + 1))));
    made(Options::new("test").bytes_max(REGION_BYTES_MAX).entries_max(ENTRIES_MAX)).expect("it takes no memory yet");
}

#[test]
fn an_object_has_a_length() {
    let region = region(3 * OBJECT_BYTES_MAX);
    let pool = region.pool().expect("it is the first");
    let most = usize::try_from(OBJECT_BYTES_MAX).expect("it has an address");
    let mut bytes = vec![7; most + 1];
    let refused = pool.put(&bytes).map(|_| ());
    assert_eq!(refused, Err(PutError::TooLarge { bytes: OBJECT_BYTES_MAX + 1, most: OBJECT_BYTES_MAX }));
    bytes.pop();
    let slot = pool.put(&bytes).expect("it just fits");
    region.save().expect("the disk has room");
    super::lock::daemon_of(&region).reclaim(u64::MAX, || true).expect("holes can be made");
    assert_eq!(region.counts().resident, 0);
    assert!(*pool.read(&slot).expect("it comes back") == bytes[..]);
}

#[test]
fn a_region_has_so_many_pools() {
    let region = region(1 << 20);
    let mut pools: Vec<_> = (0..POOLS_MAX).map(|_| region.pool().expect("there is a line")).collect();
    assert_eq!(region.pool().map(|_| ()).expect_err("there is none"), PoolError::TooMany { most: POOLS_MAX });
    pools.pop();
    region.pool().expect("one was dropped");
}

#[test]
fn a_pool_lends_so_many_objects_at_a_time() {
    let region = region(1 << 20);
    let pool = region.pool().expect("it is the first");
    let slots: Vec<_> = (0..5).map(|_| pool.put(b"x").expect("there is room")).collect();
    let mut guards: Vec<_> = slots[..GUARDS_MAX].iter().map(|slot| pool.read(slot).expect("it is free")).collect();
    assert!(matches!(pool.read(&slots[4]), Err(AccessError::TooManyGuards { most: GUARDS_MAX })));
    guards.remove(1);
    pool.read(&slots[4]).expect("one was dropped");
}
