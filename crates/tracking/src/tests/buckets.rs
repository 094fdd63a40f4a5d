//! Servers that share the buckets of objects. [`World::pass`] checks after each step that no bucket has two coordinators.

use std::collections::BTreeSet;
use std::time::Duration;

use iolite_machine::Instant;

use super::world::*;
use crate::Bucket;
use crate::buckets::Exchange;
use crate::leases::Leases;
use crate::nodes;
use crate::tables::Place;

fn counts(world: &World) -> Vec<usize> {
    world.trackers.iter().map(|tracker| tracker.coordinates.len()).collect()
}

fn pass(world: &mut World, seconds: u64) {
    world.pass(Duration::from_secs(seconds));
}

#[test]
fn servers_share_the_buckets_evenly_as_they_come_stop_and_come_back() {
    let mut world = World::new(3);
    world.answer(0, register_server(1, 0));
    pass(&mut world, 3);
    assert_eq!(counts(&world), [64, 0, 0]);
    world.answer(1, register_server(2, 0));
    world.answer(2, register_server(3, 0));
    pass(&mut world, 5);
    let shared = counts(&world);
    assert!(shared.iter().sum::<usize>() == 64 && shared.iter().all(|own| *own >= 20), "{shared:?}");
    world.trackers[0].is_stopped = true;
    world.hold_feed(0);
    pass(&mut world, 12);
    assert_eq!(counts(&world)[1..], [32, 32], "they have those of the one that stopped");
    world.trackers[0].is_stopped = false;
    world.release_feed(0);
    pass(&mut world, 8);
    let shared = counts(&world);
    assert!(shared.iter().sum::<usize>() == 64 && shared.iter().all(|own| *own >= 20), "{shared:?}");
}

/// Gateway 1, which has all buckets.
fn one_server(trackers: u128) -> World {
    let mut world = World::new(trackers);
    world.answer(0, register_server(1, 0));
    pass(&mut world, 3);
    world
}

#[test]
fn nobody_takes_the_buckets_of_a_server_that_has_a_lease() {
    let mut world = one_server(3);
    world.hold_feed(0);
    world.answer(1, register_server(2, 0));
    pass(&mut world, 3);
    assert_eq!(counts(&world), [64, 0, 0], "it has not heard that there is another one");
}

#[test]
fn a_server_stops_coordinating_before_it_gives_a_bucket_up() {
    let mut world = one_server(2);
    world.answer(1, register_server(2, 0));
    world.hold_feed(0);
    pass(&mut world, 3);
    assert_eq!(counts(&world), [32, 32], "though it does not hear of its own commit");
}

#[test]
fn a_server_without_a_lease_coordinates_nothing() {
    let mut world = one_server(1);
    world.hold_commits(0);
    pass(&mut world, 6);
    assert_eq!(counts(&world), [0]);
}

#[test]
fn a_server_that_gets_a_lease_again_hears_first_what_became_of_its_buckets() {
    let mut world = one_server(2);
    world.answer(1, register_server(2, 0));
    pass(&mut world, 3);
    world.trackers[0].is_stopped = true;
    world.hold_feed(0);
    pass(&mut world, 12);
    let leases = world.trackers[0].leases.len();
    world.release_feed_until_death(0);
    world.trackers[0].is_stopped = false;
    pass(&mut world, 2);
    assert!(world.trackers[0].leases.len() > leases, "it has a lease");
    assert_eq!(counts(&world)[0], 0, "and has not heard who has them");
}

/// Gateway 1 has stopped and is marked, and the commits by which gateway 2 takes its buckets are on their way.
fn buckets_are_being_taken() -> World {
    let mut world = one_server(2);
    world.answer(1, register_server(2, 0));
    pass(&mut world, 3);
    world.trackers[0].is_stopped = true;
    world.hold_feed(0);
    while world.trackers[1].dead.is_empty() {
        world.pass(Duration::from_millis(100));
    }
    world.hold_commits(1);
    pass(&mut world, 1);
    world
}

#[test]
fn a_bucket_that_is_being_taken_stays_with_a_server_that_renews_its_lease_meanwhile() {
    let mut world = buckets_are_being_taken();
    world.trackers[0].is_stopped = false;
    world.release_feed(0);
    pass(&mut world, 1);
    assert_eq!(counts(&world)[0], 32, "it has its lease again, and its buckets");
    world.hold_feed(0);
    world.release_commits(1);
    assert_eq!(counts(&world), [32, 32], "they are not taken");
}

#[test]
fn a_server_that_is_marked_while_it_takes_buckets_plans_anew() {
    let mut world = World::new(2);
    world.answer(0, register_server(1, 0));
    world.hold_commits(0);
    pass(&mut world, 10);
    assert_eq!(world.trackers[1].dead.len(), 1);
    world.release_commits(0);
    assert_eq!(counts(&world), [0, 0]);
    pass(&mut world, 2);
    assert_eq!(counts(&world), [64, 0]);
}

#[test]
fn nobody_knows_which_servers_have_leases_while_their_rows_are_read() {
    let mut leases = Leases::default();
    leases.begin_reading();
    assert_eq!(leases.alive(), None);
    leases.load(Instant::default(), Vec::new());
    assert_eq!(leases.alive(), Some(BTreeSet::new()));
}

#[test]
fn an_exchange_rests_on_the_holder_and_on_the_leases_of_both() {
    let servers = [server_node(1, 1), server_node(2, 1)];
    let (from, to) = (Some(servers[0]), Some(servers[1]));
    let exchange = Exchange { bucket: Bucket::FIRST, from, to };
    let marks = servers.map(|node| nodes::mark_cell(&Place::of_node(node.name)));
    assert_eq!(exchange.guards()[1..], marks);
    assert_eq!(exchange.guards()[0], exchange.place().cell("holder"));
}
