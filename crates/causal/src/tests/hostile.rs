//! Peers that say what they must not.

use iolite_values::{Id, StoreIncarnation};
use iolite_wire::centres::{Entries, FromCentre, OutboxEntry, Place, ShippedTransaction};

use super::store::FakeStore;
use super::world::{World, effects, id, name, table};
use crate::{LinkId, LinkInput, LinkSide, PeerState};

/// A link of which the test is the other end.
const LINK: LinkId = LinkId(999);

fn opened(world: &mut World, side: LinkSide) {
    world.link(0, LinkInput::Opened { link: LINK, peer: name(1), side });
}

/// Why the data centre closes the link on which this comes.
fn closes(world: &mut World, message: FromCentre) -> String {
    world.nodes[0].closed.clear();
    world.link(0, LinkInput::Message { link: LINK, message });
    world.settle();
    world.nodes[0].closed.join("; ")
}

fn entries(after: u64, places: &[u64]) -> FromCentre {
    let entry = |place: &u64| {
        let transaction = id(9, *place);
        let (after, writes) = (Place::START, effects(transaction, 1));
        let entry = ShippedTransaction { transaction, after, taken: None, writes };
        (Place(*place), OutboxEntry::Transaction(entry).encode().expect("small"))
    };
    FromCentre::Entries(Entries { after: Place(after), entries: places.iter().map(entry).collect() })
}

fn alone() -> World {
    let mut world = World::new(2, 1);
    world.kill(1);
    world
}

#[test]
fn an_outbox_with_a_hole_is_refused() {
    let mut world = alone();
    opened(&mut world, LinkSide::Dialled);
    assert_eq!(closes(&mut world, entries(0, &[1])), "entries came before it was said of which store they are");
    opened(&mut world, LinkSide::Dialled);
    let store = FakeStore::new(101).incarnation;
    assert_eq!(closes(&mut world, FromCentre::Following { store, last: Place::START }), "");
    assert_eq!(closes(&mut world, entries(0, &[1, 2])), "");
    assert_eq!(world.nodes[0].store.ids(table()).len(), 2);
    assert_eq!(closes(&mut world, entries(3, &[4])), "entries are missing between 2 and 3");
    for (after, places) in [(2, &[4][..]), (2, &[3, 5]), (1, &[2, 3, 5])] {
        opened(&mut world, LinkSide::Dialled);
        assert_eq!(closes(&mut world, FromCentre::Following { store, last: Place::START }), "");
        let told = closes(&mut world, entries(after, places));
        assert!(told.contains("does not follow on"), "{told}");
    }
    assert_eq!(world.nodes[0].store.ids(table()).len(), 2);
    opened(&mut world, LinkSide::Dialled);
    let other = StoreIncarnation(Id::from_u128(78));
    assert_eq!(
        closes(&mut world, FromCentre::Following { store: other, last: Place::START }),
        "us has another store than before"
    );
    let figures = world.nodes[0].centres.figures();
    assert_eq!(figures.peers[0].state, PeerState::Stopped { reason: "us has another store than before".into() });
}

#[test]
fn another_group_another_store_and_what_was_never_sent_are_refused() {
    let mut world = alone();
    let follow = |group: &str, known: Option<u128>, after: u64| FromCentre::Follow {
        group: group.into(),
        known_store: known.map(|store| StoreIncarnation(Id::from_u128(store))),
        after: Place(after),
    };
    for (message, reason) in [
        (follow("bank", None, 0), "eu is of the group \"shop\", and us of \"bank\""),
        (follow("shop", Some(5), 0), "eu has another store than the one that us has followed"),
        (follow("shop", None, 1), "eu has another store than the one that us has followed"),
        (FromCentre::Applied { through: Place(0) }, "it has not followed"),
        (entries(0, &[1]), "it says what is for the other side of the link to say"),
    ] {
        opened(&mut world, LinkSide::Accepted);
        let told = closes(&mut world, message);
        assert!(told.starts_with(reason), "{told}");
    }
    opened(&mut world, LinkSide::Accepted);
    assert_eq!(closes(&mut world, follow("shop", Some(100), 0)), "");
    let told = closes(&mut world, FromCentre::Applied { through: Place(1) });
    assert_eq!(told, "it says that it has applied 1, and there is no more than 0");
}

#[test]
fn who_is_no_peer_is_sent_away() {
    let mut world = alone();
    world.link(0, LinkInput::Opened { link: LINK, peer: name(2), side: LinkSide::Accepted });
    world.settle();
    assert!(world.nodes[0].closed[0].starts_with("asia is no data centre that eu knows"));
}

/// A client that says different things in two data centres which are cut off from each other.
#[test]
fn one_id_with_two_contents_takes_effect_once_in_each_data_centre_and_is_counted() {
    let mut world = World::new(3, 2);
    world.cut(0, 1);
    world.commit_of(0, id(1, 1), 10);
    world.commit_of(1, id(1, 1), 20);
    world.commit(0, id(2, 1));
    world.settle();
    world.heal(0, 1);
    let differing = |world: &World, node: usize| {
        world.nodes[node].centres.figures().peers.iter().map(|peer| peer.differing).sum::<u64>()
    };
    assert!(world.nodes.iter().all(|node| node.store.ids(table()).len() == 2), "each takes effect once");
    assert!(differing(&world, 2) > 0, "the third one hears of both");
    // Nobody else is disturbed, and what is sent again as it was is no second content.
    let before: Vec<u64> = (0..3).map(|node| differing(&world, node)).collect();
    world.commit(1, id(2, 1));
    world.commit(1, id(2, 2));
    world.settle();
    assert!(world.nodes.iter().all(|node| node.store.ids(table()).len() == 3));
    assert_eq!((0..3).map(|node| differing(&world, node)).collect::<Vec<_>>(), before);
}
