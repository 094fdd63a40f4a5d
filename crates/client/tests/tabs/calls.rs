//! What becomes of a follower's calls, and what each tab is told of it.

use iolite_client::{Client, LIVE, ReactionTurn, Splice};
use iolite_machine::{Now, WallTime};
use iolite_values::ColumnId;
use iolite_wire::tabs::{JoinNumber, TabConnection, TabMutation, TabNotice, TabUpdate, ToTab, UpdateNumber};

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
fn reactions_of_a_follower_that_are_held_back_run_in_the_turn_that_its_host_gives_them() {
    let (mut leader, mut tabs) = followed(1);
    let seen = tabs[0].watch(View::Optimistic, count);
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[]);
    exchange(&mut leader, &mut tabs);
    tabs[0].follower.set_reaction_turn(ReactionTurn::Waits);
    leader.mutate("hit");
    leader.mutate("hit");
    exchange(&mut leader, &mut tabs);
    assert_eq!((seen.borrow().as_slice(), tabs[0].follower.reactions_wait()), (&[0][..], true));
    tabs[0].follower.set_reaction_turn(ReactionTurn::All);
    tabs[0].settle();
    assert_eq!((seen.borrow().as_slice(), tabs[0].follower.reactions_wait()), (&[0, 2][..], false));
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

#[test]
fn a_call_that_the_leader_has_counts_once_among_what_may_be_pending() {
    let (leader, mut tabs) = followed(1);
    let call = |tab: &mut Tab, ticket: usize| {
        tab.follower.mutate(leader.now.wall, Ticket(Id::from_u128(ticket as u128)), "hit", "{}")
    };
    let own = Client::PENDING_MAX / 2;
    for ticket in 1..=own {
        call(&mut tabs[0], ticket).expect("there is room");
    }
    // The leader has run them, and others: said in one update, as doing it takes a while.
    let pending = (1..Client::PENDING_MAX).map(|ticket| TabMutation {
        counter: Counter(ticket as u64),
        ticket: (ticket <= own).then(|| Id::from_u128(ticket as u128)),
        name: Some("hit".into()),
        arguments: "{}".into(),
        called_at_micros: 0,
        durable: true,
        sent: false,
        in_conflict: false,
        centres: 0,
        waits_for_data: false,
        would_reject: None,
        writes: Vec::new(),
    });
    let empty = TabUpdate::empty(UpdateNumber(2), at(10), TabConnection::Offline);
    let notice = TabNotice::Update(Box::new(TabUpdate { pending: pending.collect(), ..empty }));
    let message = ToTab { join: JoinNumber(1), notice }.encode().expect("it fits");
    tabs[0].follower.handle(leader.now, FollowerInput::FromLeader(message));
    assert_eq!(tabs[0].follower.pending().count(), Client::PENDING_MAX - 1);
    assert_eq!(call(&mut tabs[0], own + 1), Ok(()), "there is room for one");
    let full = Err(CallError::QueueFull { of: "mutations", limit: Client::PENDING_MAX });
    assert_eq!(call(&mut tabs[0], own + 2), full);
}

#[test]
fn an_edit_that_was_taken_back_is_not_typed_into() {
    let page = Cell { table: TableId::of("pages"), row: key(1), column: ColumnId::of("value") };
    let (mut leader, mut tabs) = followed(1);
    let read = page.clone();
    tabs[0].react(View::Optimistic, move |tx| Ok(tx.text(&read).map(drop)?));
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[]);
    leader.client.go_offline();
    exchange(&mut leader, &mut tabs);
    let ticket = Ticket(Id::from_u128(7));
    let typed = tabs[0].follower.live_edit(ticket, &page, &Splice { at: 0, removed: 0, inserted: "a" });
    tabs[0].follower.mutate(leader.now.wall, ticket, LIVE, &typed.expect("it fits")).expect("there is room");
    assert_eq!(tabs[0].follower.live_text(&page), Ok("a".into()), "the leader does not have it yet");
    exchange(&mut leader, &mut tabs);
    assert_eq!(tabs[0].follower.live_text(&page), Ok("a".into()));
    leader.stores = false;
    tabs[0].follower.take_back(ticket);
    exchange(&mut leader, &mut tabs);
    assert!(matches!(tabs[0].last_call(ticket), CallStatus::Queued(..)), "its end is not stored yet");
    assert_eq!(tabs[0].follower.live_text(&page), Ok(String::new()));
}

#[test]
fn a_clock_that_is_set_back_counts_once_the_leader_has_the_calls_before() {
    let (mut leader, mut tabs) = followed(1);
    leader.client.go_offline();
    let tomorrow = WallTime::from_micros(leader.now.wall.as_micros() + 86_400_000_000);
    let after = WallTime::from_micros(tomorrow.as_micros() + 1);
    tabs[0].mutate(Now { wall: tomorrow, ..leader.now }, 7, "hit");
    tabs[0].mutate(leader.now, 8, "hit");
    exchange(&mut leader, &mut tabs);
    tabs[0].mutate(leader.now, 9, "hit");
    exchange(&mut leader, &mut tabs);
    let called: Vec<WallTime> = leader.client.pending().map(|pending| pending.called_at).collect();
    assert_eq!(called, [tomorrow, after, leader.now.wall], "only what waits in the outbox is put in order by it");
}

#[test]
fn calls_keep_their_order_when_the_clock_is_set_back_and_the_leader_is_lost_before_it_stored_any() {
    let (mut leader, mut tabs) = followed(1);
    leader.holds_back = true;
    let tomorrow = WallTime::from_micros(leader.now.wall.as_micros() + 86_400_000_000);
    let first = tabs[0].mutate(Now { wall: tomorrow, ..leader.now }, 7, "hit");
    exchange(&mut leader, &mut tabs);
    assert!(matches!(tabs[0].last_call(first), CallStatus::Queued(_, pending) if !pending.durable));
    let second = tabs[0].mutate(leader.now, 8, "hit");
    exchange(&mut leader, &mut tabs);
    assert_eq!(outbox(&leader), 2);
    let next = taken_over(leader, &mut tabs);
    let adopted: Vec<Option<Ticket>> = next.client.pending().map(|pending| pending.ticket).collect();
    assert_eq!(adopted, [Some(first), Some(second)]);
}
