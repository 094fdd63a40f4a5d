//! A feed that is held back for long.

use super::world::{World, id};
use crate::limits::HELD_FOR_MAX;

#[test]
fn what_is_held_for_too_long_is_dropped_and_read_anew_once_k_have_it() {
    let mut world = World::new(2, 2);
    world.cut(0, 1);
    world.commit(0, id(1, 1));
    world.settle();
    for _ in 0..=HELD_FOR_MAX.as_secs() / 10 + 1 {
        world.pass(10_000);
    }
    assert!(world.nodes[0].shown.is_empty() && world.nodes[0].centres.figures().held_bytes == 0);
    world.commit(0, id(1, 2));
    world.heal(0, 1);
    assert_eq!(world.nodes[0].shown, [id(1, 1), id(1, 2)]);
    assert_eq!(world.nodes[1].shown, [id(1, 1), id(1, 2)]);
}

#[test]
fn a_data_centre_that_starts_shows_nothing_before_k_have_its_outbox() {
    let mut world = World::new(2, 2);
    world.kill(1);
    world.commit(0, id(1, 1));
    world.settle();
    world.kill(0);
    world.restart(0);
    assert_eq!(world.nodes[0].position, iolite_values::Timestamp::ZERO, "it is not there for its gateway");
    world.restart(1);
    assert_eq!(world.nodes[0].shown, [id(1, 1)]);
}

#[test]
fn under_steady_load_something_is_always_held_and_nothing_is_stuck() {
    let mut world = World::new(2, 2);
    let rounds = HELD_FOR_MAX.as_secs() / 10 + 5;
    for counter in 1..=rounds {
        world.pass_under_load(10_000, 0, 1, id(1, counter));
        assert!(counter == 1 || world.nodes[0].centres.figures().held_bytes > 0, "the last one is on its way");
    }
    assert!(world.nodes[0].shown.len() as u64 >= rounds - 1, "{}", world.nodes[0].shown.len());
    assert_eq!(world.nodes[0].begun, 1, "no session ends");
}
