//! The members of a log, as the gateway tells them.

use iolite_client::LogMember;
use iolite_logs::origin_of;
use iolite_wire::message::LogMembers;

use super::*;

fn origin(number: u128) -> Id {
    Id::from_u128(number)
}

fn tell(harness: &mut Harness, log: LogId, is_whole: bool, joined: &[Id], left: &[Id]) -> usize {
    let before = harness.other.len();
    let members =
        LogMembers { log, is_whole, joined: joined.iter().copied().collect(), left: left.iter().copied().collect() };
    harness.advance(Advance { to: harness.client.at(), members: vec![members], ..Advance::default() });
    harness.other[before..]
        .iter()
        .filter(|output| matches!(output, Output::LogMembers(log) if *log == budget()))
        .count()
}

fn members(harness: &Harness) -> Vec<Id> {
    harness.client.log_members(&budget()).into_iter().map(|member| member.origin).collect()
}

#[test]
fn members_are_those_that_the_gateway_tells_and_each_change_is_told_once() {
    let (mut harness, _) = joined();
    let own = origin_of(harness.client.identity());
    assert_eq!(members(&harness), []);
    assert_eq!(tell(&mut harness, budget(), true, &[origin(1), own], &[]), 1);
    let marked = harness.client.log_members(&budget()).into_iter().filter(|member| member.is_own).collect::<Vec<_>>();
    assert_eq!(marked, [LogMember { origin: own, is_own: true }]);
    assert_eq!(tell(&mut harness, budget(), false, &[origin(2)], &[origin(1)]), 1);
    assert_eq!(tell(&mut harness, budget(), false, &[origin(2)], &[origin(9)]), 0, "it is known already");
    // Its own client is taken out.
    assert_eq!(tell(&mut harness, budget(), false, &[], &[own]), 1);
    assert_eq!(members(&harness), [origin(2)]);
    assert_eq!(tell(&mut harness, budget(), true, &[own], &[]), 1);
    assert_eq!(members(&harness), [own], "all others are gone");
    harness.disconnect();
    assert_eq!(members(&harness), [own], "as it was told last");
}

#[test]
fn nothing_is_kept_of_the_members_of_a_log_that_is_not_joined() {
    let (mut harness, _) = joined();
    tell(&mut harness, budget(), true, &[origin(1)], &[]);
    harness.client.leave_log(&budget()).expect("nothing is pending");
    harness.settle();
    assert_eq!(tell(&mut harness, budget(), true, &[origin(1)], &[]), 0);
    harness.client.join("sheet", &Value::from("budget")).expect("the schema has it");
    assert_eq!(members(&harness), []);
}
