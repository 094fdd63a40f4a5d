//! An outbox that grows past its limit, because a data centre is away.

use super::world::{World, id, table};
use crate::PeerState;

/// Bytes that the outboxes keep: two pages and a half.
const KEPT: u64 = 320 << 10;
/// Bytes of each transaction: a page has about 120 of them.
const EACH: usize = 1 << 10;

fn commit(world: &mut World, node: usize, from: u64, to: u64) {
    for counter in from..to {
        world.commit_of(node, id(1, counter), EACH);
        world.settle();
    }
    world.pass(1000);
}

/// The state of a peer, and whether it is lost.
fn figures(world: &World, node: usize, peer: usize) -> (PeerState, bool) {
    let figures = world.nodes[node].centres.figures();
    let peer = figures.peers.iter().find(|own| own.name == super::world::name(peer)).expect("a peer");
    (peer.state.clone(), peer.is_lost)
}

fn count(world: &World, node: usize) -> usize {
    world.nodes[node].store.ids(table()).len()
}

fn heal_all(world: &mut World, node: usize) {
    (0..3).filter(|other| *other != node).for_each(|other| world.heal(node, other));
    world.pass(1000);
}

#[test]
fn an_outbox_past_its_limit_drops_its_oldest_pages_and_tells_the_peer_that_lacks_them() {
    let mut world = World::limited(3, 2, KEPT);
    world.cut(0, 2);
    world.cut(1, 2);
    world.commit(2, id(3, 1));
    commit(&mut world, 0, 1, 400);
    let kept = world.nodes[0].centres.figures().outbox_bytes;
    assert!(kept <= KEPT && kept > KEPT / 2, "{kept}");
    assert_eq!(figures(&world, 0, 2), (PeerState::Away, true));
    assert_eq!(figures(&world, 0, 1), (PeerState::Following, false));
    assert_eq!(world.nodes[1].shown.len(), 399, "commits go on");
    let shown = world.nodes[2].shown.clone();
    heal_all(&mut world, 2);
    let reason = world.nodes[2].lost.clone().expect("it serves nobody");
    assert!(reason.starts_with("data centre asia is lost: eu has deleted"), "{reason}");
    assert_eq!(figures(&world, 2, 0).0, PeerState::LostHere);
    assert_eq!((world.nodes[2].shown.clone(), count(&world, 2)), (shown, 1), "nothing more is shown there");
    assert_eq!((count(&world, 0), count(&world, 1)), (400, 400), "what only it had comes to the others");
}

#[test]
fn a_lost_peer_keeps_no_pages_and_is_still_lost_after_a_restart() {
    let mut world = World::limited(3, 2, KEPT);
    world.kill(2);
    commit(&mut world, 0, 1, 400);
    world.kill(0);
    world.restart(0);
    assert_eq!(figures(&world, 0, 2), (PeerState::Away, true), "the outbox itself remembers it");
    let at_start = world.nodes[0].centres.figures().outbox_bytes;
    assert!(at_start <= KEPT, "it is known how much there is: {at_start}");
    commit(&mut world, 0, 400, 700);
    let kept = world.nodes[0].centres.figures().outbox_bytes;
    assert!(kept < KEPT, "all others have it: {kept}");
    world.restart(2);
    assert!(world.nodes[2].lost.is_some());
    world.kill(2);
    world.restart(2);
    assert!(world.nodes[2].lost.is_some(), "it hears it again");
}

#[test]
fn who_gets_what_was_deleted_from_a_third_one_is_not_lost() {
    let mut world = World::limited(3, 2, KEPT);
    world.cut(0, 2);
    commit(&mut world, 0, 1, 400);
    assert_eq!(figures(&world, 0, 2), (PeerState::Away, true), "nothing is known of it");
    world.heal(0, 2);
    world.pass(1000);
    commit(&mut world, 0, 400, 402);
    assert_eq!((figures(&world, 0, 2), figures(&world, 2, 0).0), ((PeerState::Following, false), PeerState::Following));
    assert_eq!((world.nodes[2].lost.clone(), count(&world, 2)), (None, 401));
}

#[test]
fn a_peer_that_is_behind_gets_the_entry_after_a_page_of_the_largest_size() {
    let mut world = World::new(2, 1);
    world.kill(1);
    for (counter, bytes) in [(1, 120 << 10), (2, 250 << 10), (3, 1)] {
        world.commit_of(0, id(1, counter), bytes);
        world.settle();
    }
    // Its memory of the end is empty then.
    world.kill(0);
    world.restart(0);
    world.restart(1);
    assert_eq!(count(&world, 1), 3);
}
