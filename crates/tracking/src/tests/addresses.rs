//! Where servers find each other.

use iolite_values::NodeId;

use super::world::*;

fn told(world: &mut World, tracker: usize) -> Vec<(NodeId, String)> {
    std::mem::take(&mut world.trackers[tracker].servers)
}

#[test]
fn every_server_hears_the_address_of_each_that_has_one_and_again_when_it_is_another() {
    let mut world = World::new(2);
    world.answer(0, register_server_at("one:7", 1, 0));
    world.answer(1, register_server(2, 0));
    assert_eq!(told(&mut world, 1), [(server_node(1, 1), "one:7".to_owned())]);
    world.answer(0, register_server_at("one:7", 1, 1));
    assert_eq!(told(&mut world, 1), [], "it is known");
    world.answer(0, register_server_at("one:8", 1, 0));
    assert_eq!(told(&mut world, 1), [(server_node(1, 2), "one:8".to_owned())]);
    world.start_again(1);
    assert_eq!(told(&mut world, 1), [(server_node(1, 2), "one:8".to_owned())], "it reads what was before");
}
