//! Caches with little room: what failed for want of it, and what was given up.

use iolite_values::TableId;

use super::*;
use crate::history::Refusal;

const NO_ROOM: &str = "what is needed at once takes 900 bytes of the cache, which has 800";

/// A reactive transaction fails in a state with one row, and these need something.
fn refused(needed_by: Option<Vec<Watcher>>, cache_bytes_max: usize) -> History {
    let mut history = history(&[(1, CalledAs::Named)]);
    commit(&mut history, store(1), 1, 10);
    history.refusals.push(Refusal { client: CLIENT, store: Some(store(1)), at: at(10), needed_by, cache_bytes_max });
    history
}

#[test]
fn a_reactive_transaction_that_fails_although_there_is_room_for_all_that_is_needed_is_found() {
    let mut model = Model::default();
    model.apply(&[hit(1)]);
    let needed = model.footprint(TableId::of("hits"));
    let busy = Watcher::Busy { least: 0, limit: None, reverse: false };
    assert_eq!(violated(&refused(Some(vec![busy]), needed)), Some(Invariant::Room));
    assert_eq!(violated(&refused(Some(vec![busy, Watcher::Bank]), needed)), Some(Invariant::Room));
    assert_eq!(violated(&refused(Some(vec![busy]), needed - 1)), None, "it is too much");
    assert_eq!(violated(&refused(Some(vec![Watcher::Bank]), 1)), Some(Invariant::Room), "an empty table");
    assert_eq!(violated(&refused(None, needed)), None, "nobody knows what else is needed");
}

#[test]
fn what_is_given_up_for_want_of_room_takes_no_effect_and_may_be_aborted_by_its_client() {
    let given_up = |commits: bool, has_no_room| {
        let mut history = history(&[(1, CalledAs::Named)]);
        add_record(&mut history, store(1), issued(1), commits.then(|| hit(1)), 10);
        end(&mut history, Some(store(1)), 1, EndedAs::Quarantined(NO_ROOM.into()));
        history.calls.get_mut(&(CLIENT, Counter(1))).expect("it was called").has_no_room = has_no_room;
        violated(&history)
    };
    assert_eq!(given_up(false, true), None);
    assert_eq!(given_up(true, true), Some(Invariant::Durability), "it took effect");
    assert_eq!(given_up(false, false), Some(Invariant::Durability), "nobody gave it up");
}
