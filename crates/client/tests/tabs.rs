//! Several tabs: what a follower sees, what becomes of its calls, what a lost leader or a silent tab leaves.

mod harness;

use std::time::Duration;

use harness::tab::{Tab, exchange, read_outbox, take_down};
use harness::{Harness, SCHEMA, Stop, at, hit, hits, key, note, note_row, notes, title_put};
use iolite_client::{
    CallError, CallStatus, Connection, FollowerInput, FollowerOutput, Input, MutationStatus, OUTBOX, Output, TabId,
    Ticket, Transaction, View,
};
use iolite_machine::Machine;
use iolite_values::{Cell, CellState, Counter, Id, Operation, Row, TableId, Value};
use iolite_wire::message::{Advance, GoodbyeReason, Rejection, Verdict};

const VIEWS: [View; 3] = [View::Optimistic, View::Durable, View::Confirmed];

fn counting() -> Harness {
    let mut leader = Harness::new();
    add_mutators(&mut leader);
    leader
}

fn add_mutators(leader: &mut Harness) {
    leader.mutator("hit", |tx| Ok(tx.write(hits(1), Operation::Add(1))?));
    leader.mutator("refuse", |_| Err(Stop::Abort("no")));
    leader.mutator("shout", |tx| {
        let row = tx.row(notes(), &key(1))?.ok_or(Stop::Abort("gone"))?;
        let Some(CellState::Scalar(Value::String(title))) = row.cell(note(1, "title").column) else {
            return Err(Stop::Fail("no title"));
        };
        Ok(tx.write(note(1, "title"), Operation::Put(Value::from(format!("{title}!"))))?)
    });
}

fn count(tx: &mut Transaction<'_>) -> Result<i64, Stop> {
    Ok(match tx.cell(&hits(1))? {
        Some(CellState::Counter(count)) => count,
        _ => 0,
    })
}

fn first_note(tx: &mut Transaction<'_>) -> Result<Option<Row>, Stop> {
    Ok(tx.row(notes(), &key(1))?)
}

/// A leader that is connected, and tabs that follow it.
fn followed(tabs: u64) -> (Harness, Vec<Tab>) {
    let mut leader = counting();
    leader.connect();
    let mut tabs: Vec<Tab> = (1..=tabs).map(|id| Tab::new(id, leader.now)).collect();
    exchange(&mut leader, &mut tabs);
    (leader, tabs)
}

fn outbox(leader: &Harness) -> usize {
    leader.storage.keys().filter(|key| key[0] == OUTBOX).count()
}

/// The leading tab is closed, and another one opens the storage.
fn taken_over(leader: Harness, tabs: &mut [Tab]) -> Harness {
    let now = leader.now;
    let mut next = leader.reopened();
    next.now = now;
    for tab in tabs {
        (tab.up, tab.down) = (Vec::new(), Vec::new());
        tab.input(now, FollowerInput::LeaderChanged);
    }
    next
}

#[test]
fn a_follower_sees_each_view_as_its_leader_does() {
    let (mut leader, mut tabs) = followed(1);
    let seen = VIEWS.map(|view| tabs[0].watch(view, count));
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[]);
    exchange(&mut leader, &mut tabs);
    let last = || seen.clone().map(|seen| *seen.borrow().last().expect("it ran"));
    assert_eq!(last(), [0, 0, 0]);
    leader.stores = false;
    let counter = leader.mutate("hit");
    exchange(&mut leader, &mut tabs);
    assert_eq!(last(), [1, 0, 0], "it is not on disk yet");
    leader.store();
    exchange(&mut leader, &mut tabs);
    assert_eq!(last(), [1, 1, 0]);
    leader.decide(counter, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    exchange(&mut leader, &mut tabs);
    assert_eq!(last(), [1, 1, 1]);
    assert_eq!(tabs[0].follower.pending().count(), 0);
    assert_eq!(tabs[0].follower.at(), at(20));
    let told = FollowerOutput::Mutation { counter, status: MutationStatus::Confirmed { at: at(20) } };
    assert!(tabs[0].other.contains(&told));
}

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
    leader.input(Input::TabGone(TabId(2)));
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    tabs[0].store(&mut leader);
    let shown: Vec<_> = leader.storage.clone().into_iter().filter(|(key, _)| key[0] == OUTBOX).collect();
    assert_eq!(shown.len(), 1);
    for message in std::mem::take(&mut tabs[0].up) {
        leader.input(Input::FromTab(TabId(1), message));
    }
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
fn a_tab_of_another_schema_is_refused() {
    let (mut leader, _) = followed(0);
    let other = SCHEMA.replace("votes", "likes");
    let mut tabs = vec![Tab::with_schema(1, leader.now, &other)];
    exchange(&mut leader, &mut tabs);
    let refused = tabs[0].follower.connection();
    assert!(matches!(refused, Connection::Refused { reason: GoodbyeReason::Schema, .. }), "{refused:?}");
    let ticket = Ticket(iolite_values::Id::from_u128(1));
    assert_eq!(tabs[0].follower.mutate(leader.now.wall, ticket, "hit", "{}"), Err(CallError::OtherVersion));
    leader.client.validate();
}

#[test]
fn an_update_that_was_lost_is_found_out_and_made_good() {
    let (mut leader, mut tabs) = followed(1);
    let seen = tabs[0].watch(View::Confirmed, count);
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[]);
    exchange(&mut leader, &mut tabs);
    leader.advance(Advance { to: at(20), changes: vec![hit(1, 1)], ..Advance::default() });
    take_down(&mut leader, &mut tabs);
    tabs[0].down.clear();
    // It is silent, as it waits for an answer; so the tab is dropped, and told so when it speaks.
    for _ in 0..3 {
        leader.pass(Duration::from_secs(16));
    }
    tabs[0].follower.go_online();
    exchange(&mut leader, &mut tabs);
    assert_eq!(*seen.borrow(), [0, 1]);
}

#[test]
fn an_update_is_not_applied_over_a_gap() {
    let (mut leader, mut tabs) = followed(1);
    let seen = tabs[0].watch(View::Confirmed, count);
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[]);
    take_down(&mut leader, &mut tabs);
    let first = std::mem::take(&mut tabs[0].down);
    for message in &first {
        tabs[0].input(leader.now, FollowerInput::FromLeader(message.clone()));
    }
    for message in &first {
        tabs[0].input(leader.now, FollowerInput::FromLeader(message.clone()));
    }
    assert_eq!(tabs[0].follower.connection(), Connection::Connecting, "the number is not the next: it joins again");
    exchange(&mut leader, &mut tabs);
    assert_eq!(tabs[0].follower.connection(), Connection::Online);
    assert_eq!(seen.borrow().last(), Some(&0));
}

#[test]
fn a_tab_that_answers_stays_and_a_silent_one_is_dropped() {
    let (mut leader, mut tabs) = followed(2);
    for _ in 0..6 {
        leader.pass(Duration::from_secs(10));
        take_down(&mut leader, &mut tabs);
        tabs[1].down.clear();
        let alive = &mut tabs[..1];
        exchange(&mut leader, alive);
    }
    leader.mutate("hit");
    let told: Vec<TabId> = leader
        .other
        .iter()
        .filter_map(|output| match output {
            Output::ToTab(tab, _) => Some(*tab),
            _ => None,
        })
        .collect();
    assert_eq!(told, [TabId(1)]);
}

#[test]
fn a_tab_finds_its_leader_when_there_is_one() {
    let mut leader = counting();
    let mut tab = Tab::new(1, leader.now);
    tab.settle();
    assert_eq!(tab.up.len(), 1);
    tab.up.clear();
    leader.now.instant = leader.now.instant + Duration::from_secs(1);
    tab.follower.on_deadline(leader.now);
    let mut tabs = vec![tab];
    exchange(&mut leader, &mut tabs);
    assert_eq!(tabs[0].follower.connection(), Connection::Offline, "the leader is not connected");
    assert_eq!(tabs[0].follower.identity(), leader.client.identity());
}

#[test]
fn offline_a_follower_says_at_once_that_data_is_missing() {
    let (mut leader, mut tabs) = followed(1);
    leader.client.go_offline();
    exchange(&mut leader, &mut tabs);
    let id = tabs[0].react(View::Optimistic, |tx| count(tx).map(drop));
    exchange(&mut leader, &mut tabs);
    assert_eq!(tabs[0].other.last(), Some(&FollowerOutput::Unavailable(id)));
}

#[test]
fn a_follower_asks_for_nothing_that_the_leader_holds() {
    let (mut leader, mut tabs) = followed(1);
    leader.react(View::Confirmed, |tx| first_note(tx).map(drop));
    leader.load(10, &[(notes(), key(1), note_row("a", 2))]);
    let seen = tabs[0].watch(View::Confirmed, first_note);
    exchange(&mut leader, &mut tabs);
    assert_eq!(seen.borrow().as_slice(), [Some(note_row("a", 2))]);
    assert!(leader.take_subscribed(false).is_empty());
}

#[test]
fn what_only_a_follower_reads_stays_subscribed() {
    let (mut leader, mut tabs) = followed(1);
    let seen = tabs[0].watch(View::Confirmed, count);
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[]);
    exchange(&mut leader, &mut tabs);
    for id in 2..400 {
        let reaction = leader.react(View::Confirmed, move |tx| tx.cell(&hits(id)).map(drop).map_err(Stop::from));
        leader.load(10 + id as u64, &[]);
        leader.client.stop(reaction);
    }
    leader.advance(Advance { to: at(1000), changes: vec![hit(1, 5)], ..Advance::default() });
    exchange(&mut leader, &mut tabs);
    assert_eq!(seen.borrow().last(), Some(&5));
}

#[test]
fn an_update_in_many_parts_is_seen_at_once() {
    let (mut leader, mut tabs) = followed(1);
    let all = |tx: &mut Transaction<'_>| Ok(tx.range(notes(), &iolite_values::KeyRange::all(), None, false)?.len());
    let seen = tabs[0].watch(View::Confirmed, all);
    exchange(&mut leader, &mut tabs);
    let title = "x".repeat(10_000);
    let rows: Vec<_> = (0..100).map(|id| (notes(), key(id), note_row(&title, 0))).collect();
    leader.load(10, &rows);
    leader.settle();
    take_down(&mut leader, &mut tabs);
    assert!(tabs[0].down.len() > 5, "{} messages", tabs[0].down.len());
    exchange(&mut leader, &mut tabs);
    assert_eq!(*seen.borrow(), [100]);
}

#[test]
fn a_change_of_the_servers_history_restarts_the_tabs() {
    let (mut leader, mut tabs) = followed(1);
    let seen = tabs[0].watch(View::Confirmed, count);
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[]);
    leader.advance(Advance { to: at(20), changes: vec![hit(1, 3)], ..Advance::default() });
    exchange(&mut leader, &mut tabs);
    leader.disconnect();
    leader.link();
    leader.welcome(2);
    exchange(&mut leader, &mut tabs);
    leader.load(5, &[]);
    exchange(&mut leader, &mut tabs);
    assert_eq!((seen.borrow().as_slice(), tabs[0].follower.at()), (&[0, 3, 0][..], at(5)));
}

#[test]
fn a_follower_that_takes_over_goes_on_where_the_leader_was() {
    let (mut leader, mut tabs) = followed(1);
    let seen = tabs[0].watch(View::Optimistic, count);
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[]);
    exchange(&mut leader, &mut tabs);
    leader.mutate("hit");
    let own = tabs[0].mutate(leader.now, 7, "hit");
    exchange(&mut leader, &mut tabs);
    assert_eq!(seen.borrow().last(), Some(&2));
    let stored = tabs[0].mutate(leader.now, 8, "hit");
    tabs[0].store(&mut leader);
    let mut client = leader.reopened();
    let counts = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let log = counts.clone();
    client.react(View::Optimistic, move |tx| {
        log.borrow_mut().push(count(tx)?);
        Ok(())
    });
    assert_eq!(*counts.borrow(), [3]);
    for ticket in [own, stored] {
        assert!(matches!(client.client.call_status(ticket), CallStatus::Queued(..)));
    }
}

/// A small generator, so that a failure names its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Something happens at the leader, at a tab, or between them.
fn happen(random: &mut Random, leader: &mut Harness, tabs: &mut [Tab], clock: &mut u64) {
    let tab = random.below(tabs.len() as u64) as usize;
    *clock += 10;
    match random.below(9) {
        0 => drop(leader.mutate(["hit", "shout", "refuse"][random.below(3) as usize])),
        1 => drop(tabs[tab].mutate(leader.now, u128::from(*clock), ["hit", "shout"][random.below(2) as usize])),
        2 => leader.store(),
        3 => leader.advance(Advance { to: at(*clock), changes: vec![hit(1, 1)], ..Advance::default() }),
        4 => leader.advance(Advance { to: at(*clock), changes: vec![title_put(1, "z")], ..Advance::default() }),
        5 => {
            for submit in leader.take_submits() {
                let changes = match submit.decision {
                    iolite_values::Decision::Commit(writes) => writes,
                    iolite_values::Decision::Abort(_) => Vec::new(),
                };
                leader.decide(submit.counter, submit.attempt.0, *clock, changes, Verdict::Committed(at(*clock)));
            }
        }
        6 => take_down(leader, tabs),
        7 => {
            let down = std::mem::take(&mut tabs[tab].down);
            for message in down {
                tabs[tab].input(leader.now, FollowerInput::FromLeader(message));
            }
            tabs[tab].store(leader);
        }
        _ => {
            for message in std::mem::take(&mut tabs[tab].up) {
                leader.input(Input::FromTab(tabs[tab].id, message));
            }
        }
    }
}

#[test]
fn at_rest_every_tab_shows_what_the_leader_shows() {
    for seed in 1..=200 {
        let mut random = Random(seed);
        let (mut leader, mut tabs) = followed(2);
        let read = |tx: &mut Transaction<'_>| Ok(format!("{} {:?}", count(tx)?, first_note(tx)?));
        let seen: Vec<_> = tabs.iter_mut().flat_map(|tab| VIEWS.map(|view| tab.watch(view, read))).collect();
        exchange(&mut leader, &mut tabs);
        let mut clock = 10;
        leader.load(clock, &[(notes(), key(1), note_row("a", 0))]);
        leader.load(clock, &[(notes(), key(1), note_row("a", 0))]);
        exchange(&mut leader, &mut tabs);
        leader.load(clock, &[(notes(), key(1), note_row("a", 0))]);
        leader.stores = false;
        for _ in 0..60 {
            happen(&mut random, &mut leader, &mut tabs, &mut clock);
        }
        if random.below(2) == 0 {
            leader.store();
        }
        exchange(&mut leader, &mut tabs);
        let own = VIEWS.map(|view| {
            let shown = std::rc::Rc::new(std::cell::RefCell::new(String::new()));
            let log = shown.clone();
            leader.react(view, move |tx| {
                *log.borrow_mut() = read(tx)?;
                Ok(())
            });
            shown.take()
        });
        for (place, seen) in seen.iter().enumerate() {
            assert_eq!(seen.borrow().last(), Some(&own[place % 3]), "seed {seed}, {:?}", VIEWS[place % 3]);
        }
        let pending: Vec<_> = leader.client.pending().collect();
        for tab in &tabs {
            assert!(tab.follower.pending().eq(&pending), "seed {seed}");
        }
    }
}

#[test]
fn a_leader_that_is_silent_for_long_is_looked_for_anew() {
    let (mut leader, mut tabs) = followed(1);
    let silent = leader.now.instant + iolite_client::Follower::LEADER_SILENT_AFTER;
    assert_eq!(tabs[0].follower.deadline(), Some(silent));
    leader.now.instant = silent;
    tabs[0].follower.on_deadline(leader.now);
    tabs[0].settle();
    assert_eq!((tabs[0].follower.connection(), tabs[0].up.len()), (Connection::Connecting, 1));
    exchange(&mut leader, &mut tabs);
    assert!(tabs[0].follower.is_following());
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
    let next = leader.reopened();
    let status = |ticket| next.client.call_status(Ticket(iolite_values::Id::from_u128(ticket)));
    assert!(matches!(status(1001), CallStatus::Ended(_, MutationStatus::Cancelled { .. })));
    assert_eq!(status(1), CallStatus::ConfirmedEarlier, "the oldest is not known any more");
}

#[test]
fn a_reading_that_still_shows_a_confirmed_call_does_not_bring_it_back() {
    let (mut leader, mut tabs) = followed(2);
    leader.input(Input::TabGone(TabId(2)));
    let ticket = tabs[0].mutate(leader.now, 7, "hit");
    tabs[0].store(&mut leader);
    let shown: Vec<_> = leader.storage.clone().into_iter().filter(|(key, _)| key[0] == OUTBOX).collect();
    for message in std::mem::take(&mut tabs[0].up) {
        leader.input(Input::FromTab(TabId(1), message));
    }
    let counter = leader.take_submits()[0].counter;
    leader.decide(counter, 1, 20, vec![hit(1, 1)], Verdict::Committed(at(20)));
    assert_eq!(leader.client.call_status(ticket), CallStatus::ConfirmedEarlier, "nothing tells of it any more");
    leader.input(Input::Outbox(shown));
    assert_eq!(leader.client.pending().count(), 0, "it would take effect twice");
}
