//! How calls get from the outbox into the queue, whatever leaders and tabs are lost.

use super::*;

#[test]
fn a_call_is_in_the_outbox_or_in_the_queue_after_any_crash() {
    let (mut leader, mut tabs) = followed(1);
    tabs[0].mutate(leader.now, 7, "hit");
    tabs[0].store(&mut leader);
    let before = leader.storage.clone();
    exchange(&mut leader, &mut tabs);
    let queued = |storage: &std::collections::BTreeMap<Vec<u8>, Vec<u8>>| {
        let of = |kind| storage.keys().filter(|key| key[0] == kind).count();
        (of(OUTBOX), of(b'q'))
    };
    assert_eq!((queued(&before), queued(&leader.storage)), ((1, 0), (0, 1)));
    leader.storage = before;
    let mut next = taken_over(leader, &mut tabs);
    next.connect();
    exchange(&mut next, &mut tabs);
    assert_eq!(queued(&next.storage), (0, 1));
    assert_eq!((next.client.pending().count(), next.take_submits().len()), (1, 1));
    assert!(matches!(tabs[0].calls.last(), Some((_, CallStatus::Queued(..)))));
}

#[test]
fn a_follower_learns_what_became_of_its_call_under_a_leader_that_is_gone() {
    let (mut leader, mut tabs) = followed(1);
    let confirmed = tabs[0].mutate(leader.now, 1, "hit");
    let rejected = tabs[0].mutate(leader.now, 2, "hit");
    let dismissed = tabs[0].mutate(leader.now, 3, "hit");
    let waits = tabs[0].mutate(leader.now, 4, "hit");
    exchange(&mut leader, &mut tabs);
    let counters: Vec<Counter> = leader.client.pending().map(|pending| pending.counter).collect();
    let bad = || Verdict::Rejected(Rejection::Invalid("bad".into()));
    leader.decide(counters[0], 1, 20, vec![], Verdict::Committed(at(20)));
    leader.decide(counters[1], 1, 30, vec![], bad());
    leader.decide(counters[2], 1, 40, vec![], bad());
    leader.client.dismiss(counters[2]);
    leader.settle();
    // The leader is gone before it told anybody.
    leader.other.clear();
    let mut next = taken_over(leader, &mut tabs);
    exchange(&mut next, &mut tabs);
    let bad = || MutationStatus::Quarantined { reason: "bad".into() };
    assert_eq!(*tabs[0].last_call(confirmed), CallStatus::ConfirmedEarlier);
    assert_eq!(*tabs[0].last_call(rejected), CallStatus::Ended(counters[1], bad()));
    assert_eq!(*tabs[0].last_call(dismissed), CallStatus::Ended(counters[2], bad()));
    assert!(matches!(tabs[0].last_call(waits), CallStatus::Queued(counter, _) if *counter == counters[3]));
    assert_eq!(next.client.call_status(confirmed), CallStatus::ConfirmedEarlier);
    assert!(matches!(next.client.call_status(waits), CallStatus::Queued(..)));
    assert_eq!(tabs[0].follower.refused().count(), 1);
}

#[test]
fn a_call_stored_between_two_leaders_is_adopted_once() {
    let (mut leader, mut tabs) = followed(1);
    tabs[0].mutate(leader.now, 7, "hit");
    // The next leader opens the storage, and only then the call is stored.
    leader.other.clear();
    let mut next = taken_over(leader, &mut tabs);
    next.connect();
    tabs[0].store(&mut next);
    exchange(&mut next, &mut tabs);
    assert_eq!((outbox(&next), next.client.pending().count()), (0, 1));
    // The one after it finds a call in the outbox, and the tab asks about it.
    tabs[0].mutate(next.now, 8, "hit");
    tabs[0].store(&mut next);
    let mut last = taken_over(next, &mut tabs);
    assert_eq!(last.client.pending().count(), 2);
    exchange(&mut last, &mut tabs);
    assert_eq!(last.client.pending().count(), 2);
}

#[test]
fn what_a_closed_tab_stored_and_did_not_tell_is_adopted() {
    let (mut leader, mut tabs) = followed(1);
    tabs[0].mutate(leader.now, 7, "hit");
    tabs[0].store(&mut leader);
    leader.input(Input::TabGone(TabId(1)));
    assert!(read_outbox(&mut leader));
    assert_eq!((outbox(&leader), leader.client.pending().count()), (0, 1));
}

/// A leader that has another schema than a tab, which has stored a call.
fn refused() -> (Harness, Tab) {
    let mut leader = counting();
    leader.connect();
    let json = SCHEMA.replace("\"live\":true", "\"live\":false");
    let mut tab = Tab::with_schema(1, leader.now, &json);
    tab.mutate(leader.now, 1, "hit");
    tab.store(&mut leader);
    (leader, tab)
}

#[test]
fn what_a_tab_stored_that_the_leader_never_knew_is_adopted() {
    let (mut leader, _) = refused();
    leader.input(Input::TabGone(TabId(1)));
    assert!(read_outbox(&mut leader));
    assert_eq!((leader.client.pending().count(), outbox(&leader)), (1, 0));
}

#[test]
fn what_a_refused_tab_stored_is_adopted() {
    let (mut leader, tab) = refused();
    let mut tabs = [tab];
    exchange(&mut leader, &mut tabs);
    assert!(matches!(tabs[0].follower.connection(), Connection::Refused { .. }));
    assert_eq!((leader.client.pending().count(), outbox(&leader)), (1, 0));
}

#[test]
fn a_call_that_its_tab_could_not_store_is_made_by_that_tab_once_it_leads() {
    let (mut leader, mut tabs) = followed(1);
    let ticket = Ticket(Id::from_u128(7));
    let counter = leader.client.mutate_by_ticket(leader.now.wall, ticket, "hit", "{}").expect("there is room");
    exchange(&mut leader, &mut tabs);
    assert!(matches!(leader.client.call_status(ticket), CallStatus::Queued(queued, _) if queued == counter));
    let shown = tabs[0].follower.mutation(counter).expect("it is pending");
    assert_eq!((shown.ticket, shown.name.as_deref(), shown.status.durable), (Some(ticket), Some("hit"), true));
    assert_eq!(leader.take_submits().len(), 1);
}

#[test]
fn a_reading_that_still_shows_an_adopted_call_does_not_bring_it_back() {
    let (mut leader, mut tabs) = followed(2);
    leader.disconnect();
    // One reading runs, and another one follows it.
    leader.input(Input::TabGone(TabId(2)));
    leader.input(Input::TabGone(TabId(2)));
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    tabs[0].store(&mut leader);
    let shown: Vec<_> = leader.storage.clone().into_iter().filter(|(key, _)| key[0] == OUTBOX).collect();
    assert_eq!(shown.len(), 1);
    leader.input(Input::Outbox(shown.clone()));
    let CallStatus::Queued(counter, _) = leader.client.call_status(ticket) else { panic!("it is queued") };
    assert!(leader.client.cancel(counter));
    leader.settle();
    leader.input(Input::Outbox(shown));
    assert_eq!(leader.client.pending().count(), 0);
    leader.other.retain(|output| *output != Output::ReadOutbox);
    exchange(&mut leader, &mut tabs);
    assert!(matches!(tabs[0].last_call(ticket), CallStatus::Ended(_, MutationStatus::Cancelled { .. })));
    assert!(matches!(leader.reopened().client.call_status(ticket), CallStatus::Ended(..)), "it is known for good");
}

#[test]
fn adopting_a_ticket_twice_does_nothing() {
    let (mut leader, mut tabs) = followed(1);
    tabs[0].mutate(leader.now, 7, "hit");
    tabs[0].store(&mut leader);
    let announced = tabs[0].up.clone();
    for message in announced.iter().chain(&announced) {
        leader.input(Input::FromTab(TabId(1), message.clone()));
    }
    assert_eq!(leader.client.pending().count(), 1);
}

#[test]
fn so_many_ends_are_kept_for_tabs_that_were_not_there() {
    let (mut leader, mut tabs) = followed(1);
    leader.disconnect();
    let ends = |leader: &Harness| leader.storage.keys().filter(|key| key[0] == b'e').count();
    for ticket in 1..=1001 {
        let ticket = tabs[0].mutate(leader.now, ticket, "hit");
        tabs[0].follower.take_back(ticket);
        exchange(&mut leader, &mut tabs);
    }
    assert_eq!(ends(&leader), 1000);
    let mut next = leader.reopened();
    let mut status = |ticket| next.client.call_status(Ticket(iolite_values::Id::from_u128(ticket)));
    assert!(matches!(status(1001), CallStatus::Ended(_, MutationStatus::Cancelled { .. })));
    assert_eq!(status(1), CallStatus::ConfirmedEarlier, "the oldest is not known any more");
}

#[test]
fn a_reading_that_still_shows_a_confirmed_call_does_not_bring_it_back() {
    let (mut leader, mut tabs) = followed(2);
    // One reading runs, and another one follows it.
    leader.input(Input::TabGone(TabId(2)));
    leader.input(Input::TabGone(TabId(2)));
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    tabs[0].store(&mut leader);
    let shown: Vec<_> = leader.storage.clone().into_iter().filter(|(key, _)| key[0] == OUTBOX).collect();
    leader.input(Input::Outbox(shown.clone()));
    let counter = leader.take_submits()[0].counter;
    leader.decide(counter, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    let confirmed = MutationStatus::Confirmed { at: at(20) };
    assert_eq!(leader.client.call_status(ticket), CallStatus::Ended(counter, confirmed));
    leader.input(Input::Outbox(shown));
    assert_eq!(leader.client.pending().count(), 0, "it would take effect twice");
}

/// The last call of a tab is on the disk, and the page is too busy to hear of that.
fn store_unheard(tab: &mut Tab, leader: &mut Harness) -> PersistId {
    let (id, changes) = tab.unstored.pop().expect("a batch");
    for change in changes {
        let StorageChange::Put { key, value } = change else { panic!("a call is put") };
        leader.storage.insert(key, value);
    }
    id
}

#[test]
fn a_call_that_the_next_leader_found_before_its_tab_knew_it_stored_is_made_once() {
    let (mut leader, mut tabs) = followed(1);
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    let id = store_unheard(&mut tabs[0], &mut leader);
    leader.other.clear();
    let mut next = taken_over(leader, &mut tabs);
    next.connect();
    let counter = next.take_submits()[0].counter;
    next.decide(counter, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    exchange(&mut next, &mut tabs);
    tabs[0].input(next.now, FollowerInput::Persisted(id));
    exchange(&mut next, &mut tabs);
    assert_eq!((next.client.pending().count(), next.take_submits().len()), (0, 0), "it took effect already");
    assert_eq!(tabs[0].last_call(ticket), &CallStatus::Ended(counter, MutationStatus::Confirmed { at: at(20) }));
}

#[test]
fn whoever_asks_about_a_call_hears_of_its_end_once_a_restart_cannot_bring_it_back() {
    let (mut leader, mut tabs) = followed(1);
    leader.stores = false;
    let ticket = tabs[0].mutate(leader.now, 7, "unknown");
    exchange(&mut leader, &mut tabs);
    tabs[0].input(leader.now, FollowerInput::LeaderChanged);
    exchange(&mut leader, &mut tabs);
    assert!(!matches!(tabs[0].last_call(ticket), CallStatus::Ended(..)), "a crash brings it back");
    leader.store();
    exchange(&mut leader, &mut tabs);
    assert!(matches!(tabs[0].last_call(ticket), CallStatus::Ended(_, MutationStatus::Quarantined { .. })));
}

#[test]
fn a_call_that_a_reading_found_before_its_tab_told_of_it_is_made_once() {
    let (mut leader, mut tabs) = followed(1);
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    let id = store_unheard(&mut tabs[0], &mut leader);
    leader.input(Input::TabGone(TabId(9)));
    assert!(read_outbox(&mut leader));
    leader.settle();
    let counter = leader.take_submits()[0].counter;
    leader.decide(counter, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    assert_eq!(leader.client.pending().count(), 0);
    tabs[0].input(leader.now, FollowerInput::Persisted(id));
    exchange(&mut leader, &mut tabs);
    assert_eq!((leader.client.pending().count(), leader.take_submits().len()), (0, 0), "it took effect already");
    assert!(matches!(tabs[0].last_call(ticket), CallStatus::Ended(..) | CallStatus::ConfirmedEarlier));
}

#[test]
fn a_call_that_was_found_stored_is_not_made_again_by_its_ticket() {
    let (mut leader, mut tabs) = followed(1);
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    tabs[0].store(&mut leader);
    let mut next = taken_over(leader, &mut []);
    let adopted = next.client.pending().next().expect("it was adopted").counter;
    assert_eq!(next.client.mutate_by_ticket(next.now.wall, ticket, "hit", "{}"), Ok(adopted));
    assert_eq!(next.client.pending().count(), 1);
}

/// A browser that closes its database may have stored what it says it has not: then the tab stores it once more.
#[test]
fn a_call_that_is_stored_once_more_after_it_was_adopted_is_made_once() {
    let (mut leader, mut tabs) = followed(1);
    tabs[0].mutate(leader.now, 7, "hit");
    let once_more = tabs[0].unstored.clone();
    store_unheard(&mut tabs[0], &mut leader);
    leader.input(Input::TabGone(TabId(9)));
    assert!(read_outbox(&mut leader));
    leader.settle();
    let counter = leader.take_submits()[0].counter;
    tabs[0].unstored = once_more;
    exchange(&mut leader, &mut tabs);
    leader.decide(counter, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    exchange(&mut leader, &mut tabs);
    assert_eq!(leader.storage.keys().filter(|key| key[0] == OUTBOX).count(), 0);
    let mut next = taken_over(leader, &mut tabs);
    next.connect();
    assert_eq!((next.client.pending().count(), next.take_submits().len()), (0, 0), "it took effect already");
}
