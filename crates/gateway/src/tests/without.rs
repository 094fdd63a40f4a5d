//! What gateways do when they are made to do without data push or data types, to be measured.

use iolite_values::{Element, Interest, Operation, Read, Write};
use iolite_wire::message::{Declination, Declined, FromClient, Submit, SubscriptionId, Verdict};

use super::queries::{create_task, in_state, state};
use super::real_world::{RealWorld, verdicts};
use super::world::*;
use crate::Without;

fn world(without: Without) -> RealWorld {
    let mut world = RealWorld::without(without, SCHEMA);
    world.join(2, hello(2));
    world.say(1, submit(1, vec![Write { cell: cell(1, "n"), operation: Operation::Add(1) }]));
    world.take();
    world
}

/// Whether another client's addition commits that ran on the snapshot before one.
fn both_add(without: Without) -> bool {
    let mut world = world(without);
    let snapshot = world.gateway.position();
    for (session, counter) in [(1, 2), (2, 1)] {
        let own = Submit { snapshot, ..blind(counter, vec![add(1, 1)]) };
        world.say(session, FromClient::Submit(own));
    }
    let verdicts = verdicts(&world.advances(2));
    let [(1, verdict)] = &verdicts[..] else { panic!("{verdicts:?}") };
    matches!(verdict, Verdict::Committed(_))
}

#[test]
fn additions_conflict_without_data_types_only() {
    assert!(both_add(Without::Nothing));
    assert!(both_add(Without::DataPush));
    assert!(!both_add(Without::DataTypes));
}

#[test]
fn a_put_reads_nothing_without_data_types_either() {
    let mut world = world(Without::DataTypes);
    let snapshot = world.gateway.position();
    for (session, counter) in [(1, 2), (2, 1)] {
        let own = Submit { snapshot, ..blind(counter, vec![put(1, "text")]) };
        world.say(session, FromClient::Submit(own));
    }
    assert!(matches!(&verdicts(&world.advances(2))[..], [(1, Verdict::Committed(_))]));
}

#[test]
fn a_session_is_told_what_to_ask_for_again_without_data_push() {
    let mut world = world(Without::DataPush);
    world.say(2, subscribe(false, vec![(1, one_cell(1)), (2, one_cell(2)), (3, one_row(1))]));
    world.take();
    world.say(1, submit(2, vec![add(1, 5)]));
    let told = world.advances(2);
    let all: Vec<_> = told.iter().flat_map(|advance| advance.declined.clone()).collect();
    let later = |name| Declined { subscription: SubscriptionId(name), why: Declination::Later };
    assert_eq!(all, [later(1), later(3)]);
    assert!(told.iter().all(|advance| advance.changes.is_empty()), "{told:?}");

    world.say(2, subscribe(false, vec![(4, one_cell(1))]));
    let snapshots: Vec<_> = world.advances(2).into_iter().flat_map(|advance| advance.snapshots).collect();
    let [snapshot] = &snapshots[..] else { panic!("{snapshots:?}") };
    assert!(format!("{snapshot:?}").contains("Counter(6)"), "{snapshot:?}");
}

#[test]
fn only_cells_of_merging_operations_are_read() {
    let written = [add(1, 1), Write { cell: cell(2, "n"), operation: Operation::PutTotal(3) }, put(3, "x")];
    let reads: Vec<_> = crate::without::plain_reads(&written).collect();
    assert_eq!(reads, [Read::Cell { cell: written[0].cell.clone(), element: Element::Whole }]);
}

#[test]
fn a_session_is_told_to_ask_a_query_again_of_which_a_row_came_or_went_without_data_push() {
    for (meanwhile, expected) in [
        (create_task(2, "open", 1), vec![1]),
        (create_task(2, "done", 1), vec![2]),
        (vec![state(1, "done")], vec![1, 2]),
        (vec![add(1, 1)], vec![]),
    ] {
        let mut world = RealWorld::without(Without::DataPush, SCHEMA);
        world.join(2, hello(2));
        world.say(1, submit(1, create_task(1, "open", 1)));
        let queries = (1..).zip(["open", "done"]).map(|(name, own)| (name, Interest::Query(in_state(own).into())));
        world.say(2, subscribe(false, queries.collect()));
        world.take();
        world.say(1, submit(2, meanwhile));
        let told = world.advances(2);
        let declined: Vec<_> = told.iter().flat_map(|own| own.declined.iter().map(|own| own.subscription.0)).collect();
        assert_eq!(declined, expected);
        assert!(told.iter().all(|own| own.changes.is_empty() && own.entered.is_empty()), "{told:?}");
    }
}
