//! The members of a log: who counts, who is told, and what is said to one too many.

use std::collections::BTreeSet;

use iolite_logs::origin_of;
use iolite_values::{Id, Interest, LogId, Value};
use iolite_wire::message::{Advance, Declination, FromClient, FromGateway, LogMembers};

use super::world::*;
use crate::limits::{DELIVERED_WITHIN, LOG_MEMBERS_MAX, LOG_MEMBERS_TOLD_WITHIN};
use crate::{Input, SessionId};

fn world() -> World {
    World::with_table(
        r#""cells":{"columns":{"sheet":{"type":"string"},"n":{"type":"counter"}},"key":["sheet"],"live":true,"consistency":"log","log":"sheet"}"#,
    )
}

fn log(instance: &str) -> LogId {
    LogId::new("sheet", &Value::from(instance)).expect("short")
}

fn pages(instance: &str, from: u64) -> Interest {
    log(instance).pages(from, 8).expect("short")
}

/// As a client does it: two blocks.
fn join(world: &mut World, session: u64, instance: &str) {
    world.open(session);
    world.say(session, FromClient::Hello(hello(session)));
    world.subscribe(session, vec![(1, pages(instance, 0)), (2, pages(instance, 8))]);
    world.answer_all();
}

fn origins(sessions: &[u64]) -> BTreeSet<Id> {
    sessions.iter().map(|session| origin_of(client(*session))).collect()
}

fn whole(sessions: &[u64]) -> LogMembers {
    LogMembers { log: log("budget"), is_whole: true, joined: origins(sessions), left: BTreeSet::new() }
}

fn changed(joined: &[u64], left: &[u64]) -> LogMembers {
    LogMembers { log: log("budget"), is_whole: false, joined: origins(joined), left: origins(left) }
}

/// The news of members that sessions were told, once it was time for it.
fn told(world: &mut World) -> Vec<(u64, LogMembers)> {
    world.wait(LOG_MEMBERS_TOLD_WITHIN);
    let advances = world.take().into_iter().filter_map(|said| match said {
        Said::To(to, FromGateway::Advance(advance)) => Some((to, advance.members)),
        Said::To(..) | Said::Closed(_) => None,
    });
    let mut told: Vec<_> = advances.flat_map(|(to, members)| members.into_iter().map(move |own| (to, own))).collect();
    told.sort_by_key(|(to, _)| *to);
    told
}

/// Two members, of whom all is told.
fn two() -> World {
    let mut world = world();
    join(&mut world, 1, "budget");
    join(&mut world, 2, "budget");
    told(&mut world);
    world
}

#[test]
fn who_joins_is_told_of_all_and_the_others_of_who_joins() {
    let mut world = world();
    join(&mut world, 1, "budget");
    assert_eq!(told(&mut world), [(1, whole(&[1]))]);
    join(&mut world, 2, "budget");
    assert_eq!(told(&mut world), [(1, changed(&[2], &[])), (2, whole(&[1, 2]))]);
    join(&mut world, 3, "plan");
    let of_plan = told(&mut world);
    assert!(of_plan.iter().all(|(to, own)| *to == 3 && own.log == log("plan")), "{of_plan:?}");
}

#[test]
fn who_follows_the_next_pages_is_a_member_as_before_and_who_follows_none_is_not() {
    let mut world = two();
    world.subscribe(2, vec![(3, pages("budget", 16))]);
    world.answer_all();
    world.say(2, unsubscribe(&[1]));
    assert_eq!(told(&mut world), []);
    world.say(2, unsubscribe(&[2, 3]));
    assert_eq!(told(&mut world), [(1, changed(&[], &[2]))]);
    world.input(Input::SessionClosed(SessionId(1)));
    assert_eq!(told(&mut world), [], "nobody is left");
}

#[test]
fn who_is_gone_is_told_to_the_others_and_who_is_back_at_once_is_not() {
    let mut world = two();
    world.input(Input::SessionClosed(SessionId(2)));
    assert_eq!(told(&mut world), [(1, changed(&[], &[2]))]);
    world.open(4);
    world.say(4, FromClient::Hello(hello(2)));
    world.subscribe(4, vec![(1, pages("budget", 0))]);
    world.answer_all();
    assert_eq!(told(&mut world), [(1, changed(&[2], &[])), (4, whole(&[1, 2]))]);
}

#[test]
fn who_owes_an_operation_for_too_long_is_a_member_no_more_and_told_so_until_it_has_caught_up() {
    let mut world = two();
    let at = world.commit(vec![super::logs::first_append("budget")]);
    world.publish();
    world.take();
    world.say(1, FromClient::Applied(at));
    world.wait(DELIVERED_WITHIN);
    assert_eq!(told(&mut world), [(1, changed(&[], &[2])), (2, changed(&[], &[2]))]);
    join(&mut world, 3, "budget");
    let to_third = told(&mut world).into_iter().find(|(to, _)| *to == 3);
    assert_eq!(to_third, Some((3, whole(&[1, 3]))));
    world.say(2, FromClient::Applied(world.position()));
    assert_eq!(told(&mut world), [1, 2, 3].map(|to| (to, changed(&[2], &[]))));
}

#[test]
fn an_advance_that_goes_out_anyway_tells_it_and_none_goes_out_for_it_alone() {
    let mut world = two();
    world.input(Input::SessionClosed(SessionId(2)));
    world.commit(vec![super::logs::first_append("budget")]);
    world.publish();
    let said = world.take();
    let with = said.iter().any(|said| match said {
        Said::To(1, FromGateway::Advance(Advance { members, .. })) => *members == [changed(&[], &[2])],
        _ => false,
    });
    assert!(with, "{said:?}");
    assert_eq!(told(&mut world), []);
}

#[test]
fn one_too_many_is_refused_with_what_to_do_and_has_a_place_once_somebody_leaves() {
    let mut world = world();
    let most = LOG_MEMBERS_MAX as u64;
    (1..=most).for_each(|session| join(&mut world, session, "budget"));
    world.wait(LOG_MEMBERS_TOLD_WITHIN);
    world.take();
    join(&mut world, most + 1, "budget");
    let said = world.take();
    let declined = said.iter().find_map(|said| match said {
        Said::To(to, FromGateway::Advance(advance)) if *to == most + 1 => advance.declined.first().cloned(),
        Said::To(..) | Said::Closed(_) => None,
    });
    match declined.map(|declined| declined.why) {
        Some(Declination::TooLarge(why)) => assert!(why.contains("256 members") && why.contains("leave it"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(told(&mut world), [], "nobody is told of it");
    world.input(Input::SessionClosed(SessionId(1)));
    world.subscribe(most + 1, vec![(7, pages("budget", 0))]);
    world.answer_all();
    let told = told(&mut world);
    assert!(told.iter().any(|(to, own)| *to == most + 1 && own.is_whole && own.joined.len() == LOG_MEMBERS_MAX));
}
