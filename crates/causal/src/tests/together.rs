//! Data centres that are linked, cut off, ended and started again.

use iolite_wire::centres::Place;

use super::world::{World, id, name, table};
use crate::PeerState;
use crate::tables;

#[test]
fn what_a_client_commits_in_one_data_centre_is_in_all_and_shown_in_all() {
    let mut world = World::new(3, 2);
    let request = world.commit(0, id(1, 1));
    world.settle();
    assert!(world.nodes[0].committed(request).is_some());
    for node in &world.nodes {
        assert_eq!(node.store.ids(table()), [id(1, 1)], "once, under the client's own id");
        assert_eq!(node.shown, [id(1, 1)]);
    }
    assert!((1..3).all(|node| world.names(node) == world.names(0)));
}

#[test]
fn nothing_is_shown_before_k_data_centres_have_it_and_own_outcomes_come_all_the_same() {
    let mut world = World::new(3, 2);
    for other in [1, 2] {
        world.cut(0, other);
    }
    let request = world.commit(0, id(1, 1));
    world.settle();
    let position = world.nodes[0].position;
    assert!(world.nodes[0].committed(request).is_some_and(|completion| completion.at > position));
    assert!(world.nodes.iter().all(|node| node.shown.is_empty()));
    assert!(world.nodes[0].centres.figures().held_bytes > 0);
    world.heal(0, 2);
    assert!(world.nodes[0].shown == [id(1, 1)] && world.nodes[0].centres.figures().held_bytes == 0);
    assert_eq!(world.nodes[1].shown, [id(1, 1)], "by way of the other one");
}

#[test]
fn with_k_of_three_what_two_have_is_not_shown() {
    let mut world = World::new(3, 3);
    world.cut(2, 0);
    world.cut(2, 1);
    world.commit(0, id(1, 1));
    world.settle();
    assert_eq!(world.nodes[1].store.ids(table()), [id(1, 1)]);
    assert!(world.nodes.iter().all(|node| node.shown.is_empty()));
    world.heal(2, 0);
    world.heal(2, 1);
    assert!(world.nodes.iter().all(|node| node.shown == [id(1, 1)]));
}

#[test]
fn a_data_centre_that_was_away_gets_what_memory_has_no_more_from_the_pages() {
    let mut world = World::new(3, 2);
    world.kill(2);
    // More than a page has, and more than memory keeps after a restart.
    for counter in 1..=300 {
        world.commit(0, id(1, counter));
        world.settle();
    }
    world.kill(0);
    world.restart(0);
    world.restart(2);
    assert_eq!(world.nodes[2].store.ids(table()).len(), 300);
    assert_eq!(world.nodes[2].shown, (1..=300).map(|counter| id(1, counter)).collect::<Vec<_>>(), "in order");
}

#[test]
fn many_commits_at_once_turn_pages_and_each_is_in_the_outbox_once() {
    let mut world = World::new(2, 2);
    for counter in 1..=400 {
        world.commit(0, id(u128::from(counter % 7), counter));
    }
    world.settle();
    let last = world.nodes[0].centres.figures().last;
    assert!(last >= Place::new(3, 0), "{last:?}");
    let mut taken = world.nodes[1].store.ids(table());
    taken.sort();
    taken.dedup();
    assert_eq!(taken.len(), 400);
    assert_eq!(world.nodes[1].store.ids(table()).len(), 400);
    assert_eq!(world.nodes[0].shown.len(), 400);
}

#[test]
fn one_transaction_that_comes_by_its_client_and_by_a_courier_takes_effect_once() {
    let mut world = World::new(3, 2);
    world.commit(0, id(1, 1));
    world.commit(1, id(1, 1));
    world.settle();
    for node in &world.nodes {
        assert_eq!(node.store.ids(table()), [id(1, 1)]);
        assert_eq!(node.shown, [id(1, 1)]);
    }
}

#[test]
fn a_conflict_is_repeated_and_nobody_hears_of_it() {
    let mut world = World::new(2, 1);
    world.nodes[0].store.conflicts = 3;
    let request = world.commit(0, id(1, 1));
    world.settle();
    let completion = world.nodes[0].committed(request).expect("it was repeated");
    assert_eq!(completion.attempt, iolite_values::Attempt(1), "the attempt that was asked for");
    assert_eq!(world.nodes[1].shown, [id(1, 1)]);
}

#[test]
fn a_restart_in_the_middle_of_everything_loses_and_doubles_nothing() {
    let mut world = World::new(3, 2);
    for round in 0..6 {
        for client in 1..=3 {
            world.commit(round % 3, id(client, 1 + round as u64));
        }
        // Some of it is on its way.
        world.on_their_way.truncate(2);
        let node = (round + 1) % 3;
        world.kill(node);
        world.settle();
        world.restart(node);
    }
    world.settle();
    let sorted = |node: usize| {
        let mut ids = world.nodes[node].store.ids(table());
        ids.sort();
        ids
    };
    assert_eq!(sorted(0).len(), 18);
    assert!(sorted(1) == sorted(0) && sorted(2) == sorted(0));
    assert!((1..3).all(|node| world.names(node) == world.names(0)));
}

#[test]
fn rows_about_peers_leave_one_record_and_no_endless_work() {
    let mut world = World::new(2, 2);
    for counter in 1..=20 {
        world.commit(0, id(1, counter));
        world.settle();
    }
    // The client's own records stay until it acknowledges them.
    assert!(world.nodes[0].store.records() <= 21 && world.nodes[1].store.records() <= 21);
    world.pass(1000);
    let before = world.nodes[1].store.commits.len();
    world.pass(60_000);
    assert_eq!(world.nodes[1].store.commits.len(), before, "nothing is written while nothing happens");
    let figures = world.nodes[1].centres.figures();
    assert_eq!(figures.peers[0].state, PeerState::Following);
    assert_eq!(figures.peers[0].taken, world.nodes[0].centres.figures().last);
}

#[test]
fn a_third_data_centre_tells_what_there_is_of_one_that_is_gone() {
    let mut world = World::new(3, 2);
    world.cut(0, 1);
    world.commit(0, id(1, 1));
    world.settle();
    world.pass(200);
    world.kill(0);
    world.pass(200);
    let peers = world.nodes[1].centres.figures().peers;
    let first = peers.iter().find(|peer| peer.name == name(0)).expect("a peer");
    assert_eq!((&first.state, first.taken), (&PeerState::Away, Place::new(0, 0)), "by a mark");
    world.restart(0);
    world.pass(1000);
    for node in 0..3 {
        assert_eq!(world.nodes[node].store.ids(table()), [id(1, 1)]);
    }
}

#[test]
fn what_a_client_acknowledges_is_forgotten_everywhere_after_it_has_come() {
    let mut world = World::new(3, 2);
    world.cut(0, 1);
    for counter in 1..=3 {
        world.commit(0, id(1, counter));
    }
    world.settle();
    world.acknowledge(0, id(1, 3));
    world.pass(200);
    world.pass(200);
    assert!(world.nodes.iter().all(|node| node.store.records() == 0), "also by way of the third one");
    world.heal(0, 1);
    world.pass(1000);
    for node in &world.nodes {
        assert_eq!((node.store.records(), node.store.ids(table()).len()), (0, 3), "what is forgotten is known");
    }
}

#[test]
fn pages_that_all_have_are_trimmed_and_who_was_away_finds_what_it_lacks() {
    let mut world = World::new(3, 2);
    let pages = |world: &World| world.nodes[0].store.rows(&tables::all_pages(), iolite_values::Timestamp::MAX);
    let first = |world: &World| pages(world).iter().find(|row| row.row.exists()).map(|row| row.key.clone());
    let commit = |world: &mut World, from: u64, to: u64| {
        for counter in from..to {
            world.commit(0, id(1, counter));
            world.settle();
        }
        world.pass(1000);
    };
    world.kill(2);
    commit(&mut world, 1, 300);
    assert_eq!(first(&world), Some(tables::page(0)), "one lacks them");
    world.restart(2);
    commit(&mut world, 300, 302);
    assert!(first(&world) >= Some(tables::page(1)), "{:?}", first(&world));
    for node in [0, 1] {
        world.kill(node);
        world.restart(node);
    }
    commit(&mut world, 302, 305);
    assert!(world.nodes.iter().all(|node| node.store.ids(table()).len() == 304));
}
