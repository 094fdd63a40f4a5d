//! Calls that a tab stores once more, or makes again, because it was told that it had not stored them: a browser that closes its database may have
//! stored what it says it has not.

use super::*;

type Batches = Vec<(PersistId, Vec<StorageChange>)>;

/// What the tab has on its way is stored, and the tab is told that it is not. Returns what the tab stores once more.
fn store_unheard(tab: &mut Tab, leader: &mut Harness) -> Batches {
    let again = std::mem::take(&mut tab.unstored);
    for change in again.iter().flat_map(|(_, changes)| changes) {
        let StorageChange::Put { key, value } = change else { panic!("a follower deletes nothing") };
        leader.storage.insert(key.clone(), value.clone());
    }
    again
}

/// The leader takes what it finds in the outbox.
fn look(leader: &mut Harness) {
    leader.input(Input::TabGone(TabId(99)));
    assert!(read_outbox(leader));
    leader.settle();
}

/// The mutation that was submitted takes effect at this time.
fn confirm(leader: &mut Harness, time: u64) -> Counter {
    let submits = leader.take_submits();
    let [submit] = &submits[..] else { panic!("one is submitted at a time: {submits:?}") };
    leader.decide(submit.counter, submit.attempt.0, time, vec![hit(1, 1)], Verdict::Committed(at(time)));
    submit.counter
}

fn ends(leader: &Harness) -> usize {
    leader.storage.keys().filter(|key| key[0] == b'e').count()
}

/// A leader that has found a call of a tab, which took effect, and what the tab stores once more.
fn found_and_confirmed() -> (Harness, Vec<Tab>, Ticket, Counter, Batches) {
    let (mut leader, mut tabs) = followed(1);
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    let again = store_unheard(&mut tabs[0], &mut leader);
    look(&mut leader);
    let counter = confirm(&mut leader, 20);
    (leader, tabs, ticket, counter, again)
}

fn confirmed() -> MutationStatus {
    MutationStatus::Confirmed { at: at(20) }
}

#[test]
fn a_call_that_its_tab_stores_once_more_after_it_was_confirmed_is_made_once() {
    let (mut leader, mut tabs, ticket, counter, again) = found_and_confirmed();
    // The tab hears of nothing before it has stored it once more.
    let down = std::mem::take(&mut leader.other);
    tabs[0].unstored = again;
    tabs[0].store(&mut leader);
    leader.other = down;
    exchange(&mut leader, &mut tabs);
    assert_eq!((leader.client.pending().count(), leader.take_submits().len()), (0, 0), "it took effect already");
    assert_eq!(outbox(&leader), 0);
    assert_eq!(tabs[0].last_call(ticket), &CallStatus::Ended(counter, confirmed()));
}

#[test]
fn a_call_that_its_tab_stores_once_more_after_it_heard_of_its_end_is_made_once() {
    let (mut leader, mut tabs, ticket, counter, again) = found_and_confirmed();
    exchange(&mut leader, &mut tabs);
    assert_eq!(tabs[0].last_call(ticket), &CallStatus::Ended(counter, confirmed()));
    tabs[0].unstored = again;
    // Nobody carries what the tab says of it.
    tabs[0].store(&mut leader);
    assert_eq!(outbox(&leader), 1);
    let mut next = taken_over(leader, &mut []);
    next.connect();
    assert_eq!((next.client.pending().count(), next.take_submits().len()), (0, 0), "it took effect already");
    assert_eq!(outbox(&next), 0);
}

#[test]
fn a_call_that_its_tab_stores_once_more_is_taken_out_of_the_outbox_at_once() {
    let (mut leader, mut tabs, _, _, again) = found_and_confirmed();
    exchange(&mut leader, &mut tabs);
    tabs[0].unstored = again;
    exchange(&mut leader, &mut tabs);
    assert_eq!((outbox(&leader), leader.client.pending().count()), (0, 0));
    assert_eq!(ends(&leader), 0, "its tab has said that it will not store it any more");
}

#[test]
fn a_reading_that_still_shows_a_call_whose_end_is_kept_no_more_does_not_bring_it_back() {
    let (mut leader, mut tabs, _, _, again) = found_and_confirmed();
    exchange(&mut leader, &mut tabs);
    tabs[0].unstored = again;
    tabs[0].store(&mut leader);
    leader.input(Input::TabGone(TabId(99)));
    let shown: Vec<_> = leader.storage.clone().into_iter().filter(|(key, _)| key[0] == OUTBOX).collect();
    assert_eq!(shown.len(), 1);
    for message in std::mem::take(&mut tabs[0].up) {
        leader.input(Input::FromTab(TabId(1), message));
    }
    assert_eq!(ends(&leader), 0);
    leader.input(Input::Outbox(shown));
    assert_eq!(leader.client.pending().count(), 0, "it would take effect twice");
}

#[test]
fn a_call_that_was_confirmed_is_not_made_again_by_the_tab_that_leads_now() {
    let (leader, _, ticket, counter, _) = found_and_confirmed();
    let mut next = taken_over(leader, &mut []);
    next.connect();
    assert_eq!(next.client.mutate_by_ticket(next.now.wall, ticket, "hit", "{}"), Ok(counter));
    next.settle();
    assert_eq!((next.client.pending().count(), next.take_submits().len()), (0, 0), "it took effect already");
    assert_eq!(next.last_status(counter), &confirmed(), "the app hears of its end");
}

#[test]
fn a_call_that_ended_without_effect_is_not_made_again_by_the_tab_that_leads_now() {
    let (mut leader, mut tabs) = followed(1);
    let tickets = [1, 2, 3].map(|ticket| tabs[0].mutate(leader.now, ticket, "hit"));
    store_unheard(&mut tabs[0], &mut leader);
    leader.disconnect();
    look(&mut leader);
    let counters: Vec<Counter> = leader.client.pending().map(|pending| pending.counter).collect();
    assert!(leader.client.cancel(counters[2]), "nothing of it was sent");
    leader.connect();
    for counter in &counters[..2] {
        leader.decide(*counter, 1, 20, vec![], Verdict::Rejected(Rejection::Invalid("bad".into())));
    }
    leader.client.dismiss(counters[1]);
    leader.settle();
    let mut next = taken_over(leader, &mut []);
    let again = tickets.map(|ticket| next.client.mutate_by_ticket(next.now.wall, ticket, "hit", "{}").ok());
    assert_eq!(again.to_vec(), counters.iter().map(|counter| Some(*counter)).collect::<Vec<_>>());
    next.settle();
    assert_eq!(next.client.pending().count(), 0);
    let bad = MutationStatus::Quarantined { reason: "bad".into() };
    let taken_back = MutationStatus::Cancelled { reason: "taken back".into() };
    let told = counters.iter().map(|counter| next.last_status(*counter).clone()).collect::<Vec<_>>();
    assert_eq!(told, [bad.clone(), bad, taken_back]);
}

#[test]
fn a_call_is_told_to_the_next_leader_only_once_its_tab_knows_that_it_is_stored() {
    let (mut leader, mut tabs) = followed(1);
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    let again = store_unheard(&mut tabs[0], &mut leader);
    look(&mut leader);
    exchange(&mut leader, &mut tabs);
    assert!(matches!(tabs[0].last_call(ticket), CallStatus::Queued(..)), "the leader has found it");
    let mut next = taken_over(leader, &mut tabs);
    exchange(&mut next, &mut tabs);
    next.connect();
    confirm(&mut next, 20);
    exchange(&mut next, &mut tabs);
    assert_eq!(ends(&next), 1, "its tab may store it once more");
    tabs[0].unstored = again;
    tabs[0].store(&mut next);
    let mut last = taken_over(next, &mut []);
    last.connect();
    assert_eq!((last.client.pending().count(), last.take_submits().len()), (0, 0), "it took effect already");
}

#[test]
fn a_tab_hears_that_its_call_is_stored_also_when_the_leader_had_it_before() {
    let (mut leader, mut tabs) = followed(1);
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    let again = store_unheard(&mut tabs[0], &mut leader);
    look(&mut leader);
    exchange(&mut leader, &mut tabs);
    tabs[0].calls.clear();
    tabs[0].unstored = again;
    tabs[0].store(&mut leader);
    let told: Vec<&CallStatus> = tabs[0].calls.iter().map(|(_, status)| status).collect();
    assert!(matches!(told[..], [CallStatus::Stored, CallStatus::Queued(..)]), "{told:?}");
    exchange(&mut leader, &mut tabs);
    assert!(matches!(tabs[0].last_call(ticket), CallStatus::Queued(..)));
    confirm(&mut leader, 20);
    assert_eq!((outbox(&leader), ends(&leader)), (0, 0), "its tab will not store it any more");
}

#[test]
fn of_a_confirmed_call_that_its_tab_told_of_nothing_is_kept() {
    let (mut leader, mut tabs) = followed(1);
    tabs[0].mutate(leader.now, 7, "hit");
    exchange(&mut leader, &mut tabs);
    confirm(&mut leader, 20);
    assert_eq!(ends(&leader), 0);
    // Likewise of one that the tab which leads now asks for.
    let ticket = tabs[0].mutate(leader.now, 8, "hit");
    tabs[0].store(&mut leader);
    let mut next = taken_over(leader, &mut []);
    assert!(matches!(next.client.call_status(ticket), CallStatus::Queued(..)));
    next.connect();
    confirm(&mut next, 30);
    assert_eq!(ends(&next), 0);
}

#[test]
fn the_ends_of_confirmed_calls_push_out_none_of_the_others() {
    let (mut leader, mut tabs) = followed(1);
    leader.disconnect();
    let taken_back = tabs[0].mutate(leader.now, 2000, "hit");
    tabs[0].follower.take_back(taken_back);
    exchange(&mut leader, &mut tabs);
    leader.connect();
    let mut call = |number: u64| {
        let ticket = tabs[0].mutate(leader.now, number.into(), "hit");
        store_unheard(&mut tabs[0], &mut leader);
        look(&mut leader);
        confirm(&mut leader, 20 + number);
        ticket
    };
    let calls = (1..=1001).map(&mut call).collect::<Vec<_>>();
    assert_eq!(ends(&leader), 1000 + 1);
    let mut next = leader.reopened();
    assert!(matches!(next.client.call_status(taken_back), CallStatus::Ended(_, MutationStatus::Cancelled { .. })));
    assert!(matches!(next.client.call_status(calls[1000]), CallStatus::Ended(_, MutationStatus::Confirmed { .. })));
    assert_eq!(next.client.call_status(calls[0]), CallStatus::ConfirmedEarlier);
}
