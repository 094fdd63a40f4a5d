//! Queries of tabs that follow.

use harness::tab::{Tab, exchange};
use iolite_client::Input;
use iolite_machine::Machine;

use super::*;

const ASCENDING: Direction = Direction::Ascending;

fn watching(tab: &mut Tab, query: Query, limit: Option<usize>) -> Seen {
    let seen = Seen::default();
    let log = seen.clone();
    tab.react(View::Confirmed, move |tx| {
        log.borrow_mut().push(ids(tx, &query, limit)?);
        Ok(())
    });
    seen
}

fn followed() -> (Harness, Vec<Tab>) {
    let mut leader = connected();
    let mut tabs = vec![Tab::new(1, leader.now)];
    tabs[0].settle();
    exchange(&mut leader, &mut tabs);
    (leader, tabs)
}

#[test]
fn a_tab_that_follows_sees_rows_enter_leave_and_move() {
    let (mut leader, mut tabs) = followed();
    let mut gateway = Gateway::with(&[(1, "ann", 3), (2, "ben", 1), (3, "ann", 1)]);
    let all = watching(&mut tabs[0], of_owner("ann"), None);
    let few = watching(&mut tabs[0], of_owner("ann"), Some(1));
    let mut step = |leader: &mut Harness, tabs: &mut Vec<Tab>, writes: Vec<Write>| {
        gateway.commit(leader, writes);
        exchange(leader, tabs);
        while !gateway.answer(leader).is_empty() {
            exchange(leader, tabs);
        }
    };
    step(&mut leader, &mut tabs, Vec::new());
    exchange(&mut leader, &mut tabs);
    step(&mut leader, &mut tabs, Vec::new());
    assert_eq!((last(&all), last(&few)), (vec![3, 1], vec![3]));
    step(&mut leader, &mut tabs, create(5, "ann", 0));
    assert_eq!((last(&all), last(&few)), (vec![5, 3, 1], vec![5]));
    step(&mut leader, &mut tabs, vec![put(5, "stars", Value::Int(9)), put(3, "owner", "ben")]);
    assert_eq!((last(&all), last(&few)), (vec![1, 5], vec![1]));
    step(&mut leader, &mut tabs, vec![delete(1)]);
    assert_eq!((last(&all), last(&few)), (vec![5], vec![5]));
}

#[test]
fn a_tab_gets_all_of_a_query_of_which_its_leader_has_just_asked_for_the_first_rows() {
    let rows: Vec<(i64, &str, i64)> = (0..40).map(|id| (id, "ann", id)).collect();
    let (mut leader, mut tabs) = followed();
    let mut gateway = Gateway::with(&rows);
    let (_, few) = watch(&mut leader, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    let all = watching(&mut tabs[0], of_owner("ann"), None);
    exchange(&mut leader, &mut tabs);
    while !gateway.answer(&mut leader).is_empty() {
        exchange(&mut leader, &mut tabs);
    }
    assert_eq!(last(&few), [0, 1, 2, 3]);
    assert_eq!(all.borrow().last(), Some(&(0..40).collect()), "it waits for nothing");
}

#[test]
fn a_row_that_its_leader_holds_in_part_only_is_no_answer_of_a_tab() {
    let (mut leader, mut tabs) = followed();
    let mut gateway = Gateway::with(&[(1, "ann", 3), (2, "ben", 1)]);
    leader.react(View::Confirmed, |tx| tx.cell(&cell(1, "owner")).map(drop).map_err(stopped));
    let mut seen = Vec::new();
    for query in [by_stars(0, 5), with_stars(&Query::all(tasks(), false), 0)] {
        seen.push(watching(&mut tabs[0], query, None));
    }
    let mut settle = |leader: &mut Harness, tabs: &mut Vec<Tab>, writes: Vec<Write>| {
        gateway.commit(leader, writes);
        exchange(leader, tabs);
        while !gateway.answer(leader).is_empty() {
            exchange(leader, tabs);
        }
    };
    settle(&mut leader, &mut tabs, Vec::new());
    assert_eq!((last(&seen[0]), last(&seen[1])), (vec![2, 1], vec![]));
    settle(&mut leader, &mut tabs, vec![put(1, "stars", Value::Int(70))]);
    exchange(&mut leader, &mut tabs);
    assert_eq!((last(&seen[0]), last(&seen[1])), (vec![2], vec![]), "its owner alone looks like no stars");
}

/// Found by seed 922 of the simulation.
#[test]
fn a_row_that_a_tab_is_told_in_part_is_no_answer_of_what_it_is_given_with_it() {
    let (mut leader, mut tabs) = followed();
    let mut gateway = Gateway::with(&[(1, "ann", 70), (2, "ben", 1)]);
    let without_stars = with_stars(&Query::all(tasks(), false), 0);
    let reads =
        |column: &'static str| move |tx: &mut Transaction<'_>| tx.cell(&cell(1, column)).map(drop).map_err(stopped);
    leader.react(View::Confirmed, reads("owner"));
    leader.react(View::Confirmed, reads("votes"));
    watch(&mut leader, View::Confirmed, without_stars.clone(), ASCENDING, None);
    watching(&mut tabs[0], by_stars(0, 5), None);
    tabs[0].react(View::Confirmed, reads("owner"));
    exchange(&mut leader, &mut tabs);
    while !gateway.answer(&mut leader).is_empty() {
        exchange(&mut leader, &mut tabs);
    }
    // While one update is on its way, the tab asks for more, and what it is told of a row changes.
    gateway.commit(&mut leader, vec![put(2, "owner", "eve")]);
    let seen = watching(&mut tabs[0], without_stars, None);
    tabs[0].react(View::Confirmed, reads("votes"));
    tabs[0].settle();
    for message in std::mem::take(&mut tabs[0].up) {
        leader.client.handle(leader.now, Input::FromTab(tabs[0].id, message));
    }
    gateway.commit(&mut leader, vec![put(1, "owner", "eve")]);
    exchange(&mut leader, &mut tabs);
    assert_eq!(*seen.borrow(), [Vec::<i64>::new()], "its owner alone looks like no stars");
}

#[test]
fn a_row_that_a_tab_read_out_of_an_answer_is_asked_for_when_it_leaves() {
    let (mut leader, mut tabs) = followed();
    let mut gateway = Gateway::with(&[(1, "ann", 3), (2, "ben", 1)]);
    watch(&mut leader, View::Confirmed, of_owner("ann"), ASCENDING, None);
    gateway.answer(&mut leader);
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    tabs[0].react(View::Confirmed, move |tx| {
        log.borrow_mut().push(tx.row(tasks(), &key(1))?);
        Ok(())
    });
    exchange(&mut leader, &mut tabs);
    assert_eq!(*seen.borrow(), [Some(task("ann", 3))], "its leader has it");
    gateway.commit(&mut leader, vec![put(1, "owner", "ben")]);
    exchange(&mut leader, &mut tabs);
    gateway.answer(&mut leader);
    exchange(&mut leader, &mut tabs);
    assert_eq!(seen.borrow().last(), Some(&Some(task("ben", 3))));
}

#[test]
fn a_row_that_leaves_an_answer_before_a_tab_was_given_it_is_asked_for() {
    let (mut leader, mut tabs) = followed();
    let mut gateway = Gateway::with(&[(1, "ann", 3), (2, "ben", 1)]);
    watch(&mut leader, View::Confirmed, of_owner("ann"), ASCENDING, None);
    gateway.answer(&mut leader);
    let seen = tabs[0].watch(View::Confirmed, |tx| Ok(tx.row(tasks(), &key(1))?));
    // What the tab asks and what takes the row away come at once.
    for message in std::mem::take(&mut tabs[0].up) {
        leader.client.handle(leader.now, Input::FromTab(tabs[0].id, message));
    }
    gateway.commit(&mut leader, vec![put(1, "owner", "ben")]);
    exchange(&mut leader, &mut tabs);
    assert_eq!(gateway.answer(&mut leader).len(), 1, "its leader asks for it by itself");
    exchange(&mut leader, &mut tabs);
    assert_eq!(*seen.borrow(), [Some(task("ben", 3))]);
}
