//! The news for a process that coordinates objects: which there are, which begin, and who coordinates the others.

use std::collections::BTreeMap;
use std::time::Duration;

use iolite_values::{NodeId, ObjectEpoch, ObjectName};

use super::world::*;
use crate::buckets::Exchange;
use crate::{Ask, Bucket, Told};

fn pass(world: &mut World, seconds: u64) {
    world.pass(Duration::from_secs(seconds));
}

/// The objects of all buckets, each in its own.
fn listed(world: &mut World, tracker: usize) -> Vec<ObjectName> {
    let mut all = Vec::new();
    for bucket in Bucket::all() {
        let Told::Listed(objects) = world.answer(tracker, Ask::List(bucket)) else { panic!("they are listed") };
        assert!(objects.iter().all(|(object, _)| Bucket::of(object) == bucket), "{bucket:?}: {objects:?}");
        all.extend(objects.into_iter().map(|(object, _)| object));
    }
    all.sort();
    all
}

/// The holder of each bucket, by the last news of it.
fn holders(world: &World, tracker: usize) -> Vec<Option<NodeId>> {
    let last: BTreeMap<Bucket, Option<NodeId>> = world.trackers[tracker].holders.iter().copied().collect();
    last.into_values().collect()
}

/// The objects of which it was told that they have begun.
fn begun_at(world: &mut World, tracker: usize) -> Vec<ObjectName> {
    let begun = std::mem::take(&mut world.trackers[tracker].begun);
    begun.into_iter().map(|(object, managers)| if managers.is_empty() { panic!("{object}") } else { object }).collect()
}

/// Gateways 1 and 2, of which the first has all buckets, and device 1.
fn one_server() -> World {
    let mut world = World::with_devices(2, 1);
    world.answer(0, register_server(1, 0));
    pass(&mut world, 3);
    world
}

#[test]
fn the_objects_of_a_bucket_are_listed_also_when_their_owners_are_over() {
    let mut world = World::with_devices(1, 2);
    let ids: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    for id in &ids {
        world.answer(0, begin(id, node(1, 1)));
    }
    world.answer(0, Ask::Remove { object: object("7"), from: ObjectEpoch(1) });
    world.answer(0, register(1, 0, 7));
    let mut there: Vec<ObjectName> = ids.iter().filter(|id| *id != "7").map(|id| object(id)).collect();
    there.sort();
    assert_eq!(listed(&mut world, 0), there);
    world.answer(0, begin("a", node(2, 1)));
    let Told::Listed(objects) = world.answer(0, Ask::List(Bucket::of(&object("a")))) else { panic!("it is listed") };
    assert!(objects.contains(&(object("a"), placed(1, &[node(2, 1)]))), "{objects:?}");
}

#[test]
fn an_object_is_listed_or_its_beginning_is_news_and_only_to_who_coordinates_it() {
    let mut world = one_server();
    world.answer(1, begin("a", node(1, 1)));
    world.hold_feed(0);
    world.answer(1, begin("b", node(1, 1)));
    world.answer(1, begin_with(String::new(), "c", node(1, 1)));
    assert_eq!(listed(&mut world, 0), [object("a")], "the feed has not said more");
    assert_eq!(begun_at(&mut world, 0), [object("a")]);
    world.release_feed(0);
    assert_eq!(begun_at(&mut world, 0), [object("b")], "nobody coordinates one without managers");
    world.answer(1, Ask::Remove { object: object("b"), from: ObjectEpoch(1) });
    world.answer(1, begin("b", node(1, 1)));
    assert_eq!((begun_at(&mut world, 0), begun_at(&mut world, 1)), (vec![object("b")], vec![]));
}

#[test]
fn every_server_hears_who_holds_each_bucket_and_who_does_next() {
    let mut world = one_server();
    let servers = [server_node(1, 1), server_node(2, 1)];
    assert_eq!(holders(&world, 1), [Some(servers[0]); 64]);
    assert_eq!(world.trackers[1].holders[..64], Bucket::all().map(|bucket| (bucket, None)).collect::<Vec<_>>());
    world.answer(1, register_server(2, 0));
    pass(&mut world, 5);
    let all = holders(&world, 0);
    assert_eq!(servers.map(|own| all.iter().filter(|holder| **holder == Some(own)).count()), [32, 32]);
    assert!(world.trackers[0].holders.iter().any(|(_, holder)| holder.is_none()), "they were given up in between");
    world.start_again(0);
    assert_eq!(holders(&world, 0), all, "it reads who holds them");
}

#[test]
fn a_server_that_is_alone_coordinates_everything_once_it_has_registered_and_writes_no_row_of_that() {
    let mut world = World::with_devices(1, 1);
    world.goes_without_leases(0);
    world.answer(0, begin("a", node(1, 1)));
    assert_eq!((world.trackers[0].coordinates.len(), holders(&world, 0)), (0, vec![]));
    world.answer(0, register_server(1, 0));
    pass(&mut world, 10);
    assert_eq!(holders(&world, 0), [Some(server_node(1, 1)); 64]);
    assert_eq!(world.trackers[0].coordinates.len(), 64);
    world.answer(0, begin("b", node(1, 1)));
    assert_eq!((begun_at(&mut world, 0), world.trackers[0].leases.len()), (vec![object("b")], 0));
    world.begin_anew(0);
    assert_eq!(world.trackers[0].coordinates.len(), 0, "it is to register in this store too");
    world.trackers[0].holders.clear();
    world.answer(0, register_server(1, 0));
    assert_eq!(world.trackers[0].coordinates.len(), 64);
    assert_eq!(holders(&world, 0), [Some(server_node(1, 2)); 64]);
    for bucket in Bucket::all() {
        assert_eq!(world.row(&Exchange { bucket, from: None, to: None }.place()), None);
    }
}

#[test]
fn a_server_that_is_alone_hears_that_a_device_is_dead() {
    let mut world = World::new(1);
    world.goes_without_leases(0);
    world.answer(0, register_server(1, 0));
    world.answer(0, register(1, 0, 1));
    assert_eq!(world.answer(0, gone(1, 1)), Told::Lost);
    let dead = |world: &World| world.trackers[0].dead.iter().map(|(node, _)| *node).collect::<Vec<_>>();
    assert_eq!(dead(&world), [node(1, 1)]);
    world.answer(0, register(1, 0, 1));
    assert_eq!(dead(&world), [node(1, 1), node(1, 1)], "its first life has ended");
}
