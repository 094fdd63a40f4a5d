//! Leases of servers, and nodes that are lost.

use std::time::Duration;

use iolite_machine::{Instant, Machine};
use iolite_values::{NodeId, NodeName};

use super::world::*;
use crate::tables::{self, Place};
use crate::{LEASE, Told, nodes};

/// Gateways 1 and 2, which have registered.
fn two_servers() -> World {
    let mut world = World::new(2);
    world.answer(0, register_server(1, 0));
    world.answer(1, register_server(2, 0));
    world
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn last_lease(world: &World, tracker: usize) -> Instant {
    *world.trackers[tracker].leases.last().expect("it has had a lease")
}

fn dead(world: &World, tracker: usize) -> Vec<NodeId> {
    world.trackers[tracker].dead.iter().map(|(node, _)| *node).collect()
}

/// Gateway 1 stops: it renews nothing, and hears nothing.
fn stop_first(world: &mut World) {
    world.trackers[0].is_stopped = true;
    world.hold_feed(0);
}

#[test]
fn servers_that_renew_their_leases_have_them_and_are_not_taken_for_dead() {
    let mut world = two_servers();
    world.pass(seconds(20));
    for tracker in [0, 1] {
        assert!(last_lease(&world, tracker) > world.now.instant + seconds(3), "it is renewed each second");
        assert_eq!(dead(&world, tracker), []);
    }
}

#[test]
fn a_server_that_stops_is_dead_once_its_lease_has_ended_and_alive_again_when_it_renews() {
    let mut world = two_servers();
    world.pass(seconds(3));
    stop_first(&mut world);
    world.pass(seconds(10));
    let [(node, at)] = world.trackers[1].dead[..] else { panic!("{:?}", world.trackers[1].dead) };
    assert_eq!(node, server_node(1, 1));
    assert!(at > last_lease(&world, 0) && at < last_lease(&world, 0) + seconds(1), "{at:?}");
    world.trackers[0].is_stopped = false;
    world.release_feed(0);
    assert_eq!(dead(&world, 0), [node], "it hears so itself");
    world.pass(seconds(10));
    assert!(last_lease(&world, 0) > world.now.instant);
    assert_eq!(dead(&world, 1), [node], "and nobody says so again");
    stop_first(&mut world);
    world.pass(seconds(10));
    assert_eq!(dead(&world, 1), [node, node], "until it stops again");
    assert_eq!(world.answer(1, register_server(1, 1)), registered(node, 2), "its lapses count over its renewals");
}

#[test]
fn a_lease_counts_from_when_its_renewal_was_sent() {
    let mut world = two_servers();
    world.pass(Duration::from_millis(900));
    world.hold_commits(0);
    world.pass(Duration::from_millis(100));
    let sent = world.now.instant;
    world.pass(seconds(3));
    world.release_commits(0);
    assert_eq!(last_lease(&world, 0), sent + LEASE);
}

#[test]
fn a_renewal_that_was_under_way_when_its_server_was_marked_as_dead_gives_no_lease() {
    let mut world = two_servers();
    world.hold_commits(0);
    world.pass(seconds(10));
    assert_eq!(dead(&world, 1), [server_node(1, 1)]);
    let before = world.trackers[0].leases.len();
    world.release_commits(0);
    let leases = &world.trackers[0].leases[before..];
    assert_eq!(leases, [world.now.instant + LEASE], "it is sent again, and counts from then");
}

#[test]
fn a_process_that_takes_the_number_of_a_server_ends_its_leases() {
    let mut world = World::new(2);
    world.answer(0, register_server(1, 0));
    assert_eq!(world.answer(1, register_server(1, 0)), registered(server_node(1, 2), 0));
    world.pass(seconds(10));
    let end = last_lease(&world, 0);
    assert!(end < world.now.instant, "it renews nothing");
    assert!(matches!(world.trackers[1].dead[..], [(node, at)] if node == server_node(1, 1) && at > end));
}

/// How often gateway 1 has renewed its lease.
fn renewed(world: &mut World) -> Result<u64, tables::Unreadable> {
    let row = world.row(&Place::of_node(NodeName::Server(server(1)))).expect("it has registered");
    tables::number(&row, nodes::RENEWED)
}

#[test]
fn renewals_are_counted_over_lives_so_that_no_lease_is_taken_for_an_earlier_one() {
    let mut world = World::new(1);
    for (known, count) in [(0, 0), (1, 1), (0, 2)] {
        world.answer(0, register_server(1, known));
        assert_eq!(renewed(&mut world), Ok(count));
    }
}

#[test]
fn a_registration_during_a_renewal_counts_as_one_more() {
    let mut world = two_servers();
    world.hold_commits(1);
    world.ask(1, 1, register_server(1, 1));
    world.settle();
    world.pass(seconds(1));
    world.release_commits(1);
    assert_eq!(renewed(&mut world), Ok(2));
}

#[test]
fn a_device_that_its_server_has_lost_is_dead_for_all_unless_it_came_back() {
    let mut world = World::with_devices(2, 1);
    assert_eq!(world.answer(1, gone(1, 8)), Told::Elsewhere);
    assert_eq!(world.answer(0, gone(1, 7)), Told::Lost);
    assert_eq!((dead(&world, 0), dead(&world, 1)), (vec![node(1, 1)], vec![node(1, 1)]));
    assert_eq!(world.answer(0, gone(1, 7)), Told::Lost, "it is lost already");
    world.answer(1, register_on(2, 1, 1, 7));
    assert_eq!(world.answer(0, gone(1, 7)), Told::Elsewhere, "it came on another connection");
    world.answer(1, register_on(3, 1, 1, 8));
    assert_eq!(world.answer(0, gone(1, 7)), Told::Elsewhere);
    assert_eq!(dead(&world, 0).len(), 1);
    world.answer(1, register(1, 0, 8));
    assert_eq!(dead(&world, 0), [node(1, 1), node(1, 1)], "its first life is over");
    assert_eq!(world.answer(1, gone(1, 8)), Told::Elsewhere);
}

#[test]
fn a_server_that_has_stopped_before_another_one_started_is_dead_too() {
    let mut world = World::new(2);
    world.answer(0, register_server(1, 0));
    stop_first(&mut world);
    world.start_again(1);
    world.pass(seconds(6));
    assert_eq!(dead(&world, 1), [server_node(1, 1)]);
}

#[test]
fn a_server_whose_lease_is_over_waits_for_its_next_renewal_and_not_for_what_has_been() {
    let mut world = two_servers();
    world.hold_commits(0);
    world.pass(seconds(8));
    assert!(last_lease(&world, 0) < world.now.instant, "its lease is over");
    let next = world.trackers[0].tracking.deadline().expect("it renews its lease");
    assert!(next > world.now.instant, "its host would come to it again and again");
}

#[test]
fn a_server_that_is_alone_is_not_marked_whenever_its_host_comes() {
    let mut world = World::new(1);
    world.goes_without_leases(0);
    world.answer(0, register_server(1, 0));
    for _ in 0..20 {
        world.now.instant = world.now.instant + seconds(1);
        world.trackers[0].tracking.on_deadline(world.now);
        world.settle();
    }
    let row = world.row(&Place::of_node(server_node(1, 1).name)).expect("it has registered");
    assert!(!nodes::is_lost(&row), "{row:?}");
}
