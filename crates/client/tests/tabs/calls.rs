//! What becomes of a follower's calls, and what each tab is told of it.

use super::*;

#[test]
fn a_call_of_a_follower_is_stored_queued_and_confirmed() {
    let (mut leader, mut tabs) = followed(2);
    let seen = tabs[1].watch(View::Optimistic, count);
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[]);
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    assert_eq!(tabs[0].up, Vec::<Vec<u8>>::new(), "the leader hears of it when it is stored");
    exchange(&mut leader, &mut tabs);
    let submits = leader.take_submits();
    assert_eq!(submits.len(), 1);
    let counter = submits[0].counter;
    assert!(leader.other.contains(&Output::Adopted { ticket, counter }));
    assert_eq!(tabs[0].calls[0], (ticket, CallStatus::Stored));
    assert!(
        matches!(tabs[0].last_call(ticket), CallStatus::Queued(own, pending) if *own == counter && pending.durable)
    );
    assert_eq!(*seen.borrow(), [0, 1], "the other tab sees it too");
    leader.decide(counter, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    exchange(&mut leader, &mut tabs);
    assert_eq!(*tabs[0].last_call(ticket), CallStatus::Ended(counter, MutationStatus::Confirmed { at: at(20) }));
    assert_eq!(tabs[0].follower.calls().count(), 0);
    assert_eq!((outbox(&leader), leader.client.pending().count()), (0, 0));
}

#[test]
fn a_call_can_be_taken_back_before_the_leader_knows_it() {
    let mut leader = counting();
    let mut tabs = vec![Tab::new(1, leader.now)];
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    tabs[0].follower.take_back(ticket);
    exchange(&mut leader, &mut tabs);
    assert!(matches!(tabs[0].last_call(ticket), CallStatus::Ended(_, MutationStatus::Cancelled { .. })));
    assert_eq!((outbox(&leader), leader.client.pending().count()), (0, 0));
}

#[test]
fn what_was_taken_back_leaves_every_tab_before_that_is_stored() {
    let (mut leader, mut tabs) = followed(1);
    leader.mutator("copy", |tx| {
        let seen = count(tx)?;
        Ok(tx.write(hits(1), Operation::Add(10 * seen))?)
    });
    let seen = tabs[0].watch(View::Optimistic, count);
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[]);
    leader.client.go_offline();
    let first = leader.mutate("hit");
    leader.mutate("copy");
    exchange(&mut leader, &mut tabs);
    assert_eq!(seen.borrow().last(), Some(&11));
    leader.stores = false;
    assert!(leader.client.cancel(first));
    exchange(&mut leader, &mut tabs);
    assert_eq!(seen.borrow().last(), Some(&0), "not 1, which the leader never had");
    let ended = |tabs: &[Tab]| {
        let told = |output: &FollowerOutput| matches!(output, FollowerOutput::Mutation { counter, status: MutationStatus::Cancelled { .. } } if *counter == first);
        tabs[0].other.iter().any(told)
    };
    assert!(!ended(&tabs));
    leader.store();
    exchange(&mut leader, &mut tabs);
    assert!(ended(&tabs));
}

#[test]
fn a_refused_call_is_listed_and_dismissed_in_every_tab() {
    let (mut leader, mut tabs) = followed(2);
    let ticket = tabs[0].mutate(leader.now, 7, "refuse");
    exchange(&mut leader, &mut tabs);
    let counter = leader.take_submits()[0].counter;
    assert_eq!(
        tabs[1].follower.pending().next().and_then(|own| own.status.would_reject.clone()).as_deref(),
        Some("no")
    );
    leader.decide(counter, 1, 20, vec![], Verdict::Aborted);
    exchange(&mut leader, &mut tabs);
    let reason = "no".to_owned();
    assert_eq!(*tabs[0].last_call(ticket), CallStatus::Ended(counter, MutationStatus::Rejected { reason }));
    let listed: Vec<_> = tabs[1].follower.refused().map(|refused| (refused.counter, refused.ticket)).collect();
    assert_eq!(listed, [(counter, Some(ticket))]);
    tabs[1].follower.dismiss(counter);
    exchange(&mut leader, &mut tabs);
    assert_eq!(tabs.iter().map(|tab| tab.follower.refused().count()).sum::<usize>(), 0);
    assert_eq!(leader.client.refused().count(), 0);
}

#[test]
fn a_promised_call_whose_mutator_is_unknown_is_kept_with_its_payload() {
    let (mut leader, mut tabs) = followed(1);
    let ticket = tabs[0].mutate(leader.now, 7, "unheard of");
    exchange(&mut leader, &mut tabs);
    assert!(matches!(tabs[0].last_call(ticket), CallStatus::Ended(_, MutationStatus::Quarantined { .. })));
    assert_eq!(tabs[0].follower.refused().next().map(|refused| &*refused.name), Some("unheard of"));
}

#[test]
fn a_call_of_a_table_that_refuses_changes_offline_is_kept_as_refused_unless_there_was_a_connection() {
    let (mut leader, mut tabs) = followed(1);
    let cell = Cell { table: TableId::of("online"), ..hits(1) };
    leader.mutator("count", move |tx| Ok(tx.write(cell.clone(), Operation::Add(1))?));
    let online = tabs[0].mutate(leader.now, 7, "count");
    exchange(&mut leader, &mut tabs);
    leader.client.go_offline();
    exchange(&mut leader, &mut tabs);
    let offline = tabs[0].mutate(leader.now, 8, "count");
    exchange(&mut leader, &mut tabs);
    let CallStatus::Ended(counter, MutationStatus::Quarantined { reason }) = tabs[0].last_call(offline) else {
        panic!("it is refused")
    };
    assert!(reason.contains("without a connection"));
    let kept: Vec<_> = tabs[0].follower.refused().map(|refused| (refused.counter, &*refused.name)).collect();
    assert_eq!(kept, [(*counter, "count")]);
    assert!(matches!(tabs[0].last_call(online), CallStatus::Queued(..)));

    // One that waits for a leader may have been made while there was a connection.
    tabs[0].mutate(leader.now, 9, "count");
    tabs[0].store(&mut leader);
    leader.other.clear();
    let mut next = taken_over(leader, &mut tabs);
    add_mutators(&mut next);
    exchange(&mut next, &mut tabs);
    assert_eq!(next.client.pending().count(), 2);
}

#[test]
fn what_was_taken_back_while_nobody_led_is_taken_back_by_the_next_leader() {
    let (mut leader, mut tabs) = followed(1);
    leader.client.go_offline();
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    tabs[0].store(&mut leader);
    let before = leader.storage.clone();
    exchange(&mut leader, &mut tabs);
    assert!(matches!(tabs[0].last_call(ticket), CallStatus::Queued(..)));
    // The leader is lost before it has stored that.
    leader.storage = before;
    let mut next = taken_over(leader, &mut tabs);
    tabs[0].follower.take_back(ticket);
    exchange(&mut next, &mut tabs);
    assert!(matches!(tabs[0].last_call(ticket), CallStatus::Ended(_, MutationStatus::Cancelled { .. })));
    assert_eq!(next.client.pending().count(), 0, "it would be sent later");
}

#[test]
fn what_a_tab_that_was_dropped_takes_back_is_taken_back_once_it_has_joined_again() {
    let (mut leader, mut tabs) = followed(1);
    leader.client.go_offline();
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    exchange(&mut leader, &mut tabs);
    leader.input(Input::TabGone(TabId(1)));
    tabs[0].follower.take_back(ticket);
    exchange(&mut leader, &mut tabs);
    assert!(matches!(tabs[0].last_call(ticket), CallStatus::Ended(_, MutationStatus::Cancelled { .. })));
}
