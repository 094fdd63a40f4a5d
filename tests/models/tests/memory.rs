//! The lock of memoryd, searched: as it is, and with each of its rules left out.

use iolite_models::memory::{Broken, Found, Lock, NEVER, SIGHTS, explore_lock};

const WHOLE: Lock = Lock { broken: None, uses: [2, 1], writes: true, saves: 1, batches: 2, deaths: 1 };

fn search(lock: Lock) -> Found {
    let found = explore_lock(lock.clone());
    println!("{lock:?}: {} states, {:?}, met {:?}", found.states, found.violated, found.met);
    for step in &found.way {
        println!("  {step}");
    }
    found
}

#[test]
fn the_lock_lends_no_wrong_byte_and_hits_nothing_else() {
    let found = search(WHOLE);
    assert_eq!(found.violated, None);
    assert_eq!(found.met, SIGHTS);
}

#[test]
fn every_rule_that_is_left_out_is_found() {
    let [guard, other] = NEVER;
    let rules = [
        (Broken::NoBarrier, guard),
        (Broken::ClaimDirty, guard),
        (Broken::ReuseBeforeAck, other),
        (Broken::ClearDirtyAfterCopy, guard),
        (Broken::PlaceOnce, guard),
        (Broken::SettleBlindly, guard),
    ];
    for (broken, expected) in rules {
        let found = search(Lock { broken: Some(broken), ..WHOLE });
        assert_eq!(found.violated, Some(expected), "{broken:?}");
    }
}

#[test]
#[ignore = "a minute"]
fn soak_the_lock_with_one_more_use() {
    let found = search(Lock { uses: [2, 2], ..WHOLE });
    assert_eq!(found.violated, None);
    assert_eq!(found.met, SIGHTS);
}
