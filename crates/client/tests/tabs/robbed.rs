//! Calls of a tab that led, and that another tab took the lead from: it follows now, and goes on with them.

use iolite_client::CallAgain;
use iolite_values::LogId;

use super::*;

const SHEET: &str = r#"{"logs":{"sheet":{}},"tables":{
  "cells":{"columns":{"sheet":{"type":"string"},"text":{"type":"string","default":""}},"key":["sheet"],"live":true,"consistency":"log","log":"sheet"}}}"#;

const TICKET: Ticket = Ticket(Id::from_u128(7));

fn again(leader: &Harness, stored: bool) -> CallAgain {
    let (name, arguments) = ("hit".into(), "{}".into());
    CallAgain { ticket: TICKET, called_at: leader.now.wall, name, arguments, log: None, stored }
}

fn ends(leader: &Harness) -> usize {
    leader.storage.keys().filter(|key| key[0] == b'e').count()
}

/// The tab that leads calls by ticket, as it knows that there is no copy of the call.
fn called(leader: &mut Harness) -> Counter {
    let counter = leader.client.mutate_by_ticket(leader.now.wall, TICKET, "hit", "{}").expect("there is room");
    assert!(matches!(leader.client.call_status(TICKET), CallStatus::Queued(..)));
    leader.settle();
    counter
}

#[test]
fn a_call_that_the_next_leader_found_is_not_made_once_more() {
    let (mut leader, mut tabs) = followed(1);
    let counter = called(&mut leader);
    let mut next = taken_over(leader, &mut tabs);
    tabs[0].follower.call_again(again(&next, false));
    exchange(&mut next, &mut tabs);
    assert!(matches!(tabs[0].last_call(TICKET), CallStatus::Queued(own, _) if *own == counter));
    assert_eq!((next.client.pending().count(), outbox(&next)), (1, 0));
}

#[test]
fn a_call_that_is_known_to_be_stored_is_asked_about_and_not_stored_once_more() {
    let (mut leader, mut tabs) = followed(1);
    let counter = called(&mut leader);
    leader.take_submits();
    leader.decide(counter, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    assert_eq!((leader.client.pending().count(), ends(&leader)), (0, 0), "nobody asks who was told");
    let mut next = taken_over(leader, &mut tabs);
    tabs[0].follower.call_again(again(&next, true));
    tabs[0].settle();
    assert_eq!(tabs[0].unstored, []);
    exchange(&mut next, &mut tabs);
    assert_eq!(tabs[0].last_call(TICKET), &CallStatus::ConfirmedEarlier);
    assert_eq!(next.client.pending().count(), 0);
}

#[test]
fn an_operation_of_a_log_is_adopted_as_that() {
    let mut leader = Harness::with_schema(SHEET);
    leader.mutator("sheet.count", |_| Ok(()));
    let mut tabs = [Tab::with_schema(1, leader.now, SHEET)];
    exchange(&mut leader, &mut tabs);
    let log = LogId::new("sheet", &Value::from("budget")).expect("a key");
    let call = CallAgain { name: "sheet.count".into(), log: Some(log.clone()), ..again(&leader, false) };
    tabs[0].follower.call_again(call);
    exchange(&mut leader, &mut tabs);
    let CallStatus::Queued(counter, _) = tabs[0].last_call(TICKET) else { panic!("the leader has it") };
    let adopted = leader.client.mutation(*counter).expect("it is pending");
    assert_eq!(adopted.log.as_ref().map(|call| &call.log), Some(&log));
    assert!(leader.client.logs().map(|joined| joined.log).eq([log.clone()]));
    let made = leader.client.operate_by_ticket(leader.now.wall, TICKET, &log, "count", "{}");
    assert_eq!(made, Ok(*counter), "it is the same one");
}

#[test]
fn a_call_that_was_cancelled_before_it_was_on_its_way_to_the_disk_keeps_no_end() {
    let mut leader = counting();
    leader.mutator("fail", |_| Err(Stop::Fail("a mistake")));
    leader.connect();
    let counter = leader.client.mutate_by_ticket(leader.now.wall, TICKET, "fail", "{}").expect("there is room");
    leader.settle();
    assert!(matches!(leader.last_status(counter), MutationStatus::Cancelled { .. }));
    assert_eq!(ends(&leader), 0);
}
