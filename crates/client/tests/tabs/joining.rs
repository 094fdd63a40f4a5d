//! How a tab finds its leader, loses it, and is lost.

use iolite_values::KeyRange;

use super::*;

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
fn a_tab_whose_messages_its_leader_cannot_read_is_refused_and_asks_the_next_leader() {
    let (mut leader, mut tabs) = followed(1);
    // A leader of an older version does not know what a newer tab says.
    leader.input(Input::FromTab(tabs[0].id, vec![0xff]));
    exchange(&mut leader, &mut tabs);
    let refused = tabs[0].follower.connection();
    assert!(matches!(refused, Connection::Refused { reason: GoodbyeReason::Protocol, .. }), "{refused:?}");
    tabs[0].input(leader.now, FollowerInput::LeaderChanged);
    exchange(&mut leader, &mut tabs);
    assert_eq!(tabs[0].follower.connection(), Connection::Online);
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
    let all = |tx: &mut Transaction<'_>| Ok(tx.range(notes(), &KeyRange::all(), None, false)?.len());
    let seen = tabs[0].watch(View::Confirmed, all);
    exchange(&mut leader, &mut tabs);
    let title = "x".repeat(10_000);
    let rows: Vec<_> = (0..50).map(|id| (notes(), key(id), note_row(&title, 0))).collect();
    leader.load(10, &rows);
    take_down(&mut leader, &mut tabs);
    let parts = tabs[0].down.len();
    assert!(parts > 3, "{parts} parts");
    tabs[0].down.remove(parts / 2);
    exchange(&mut leader, &mut tabs);
    assert_eq!(*seen.borrow(), [50], "it has joined again");
}

#[test]
fn an_update_that_came_twice_is_not_applied_twice() {
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
fn every_reaction_says_under_a_new_leader_what_is_true_there_also_if_its_answer_is_the_same() {
    let (mut leader, mut tabs) = followed(1);
    let seen = tabs[0].watch(View::Confirmed, count);
    let chosen = std::rc::Rc::new(std::cell::Cell::new(1));
    let of_chosen = chosen.clone();
    let chooses =
        tabs[0].react(View::Confirmed, move |tx| tx.cell(&hits(of_chosen.get())).map(drop).map_err(Stop::from));
    exchange(&mut leader, &mut tabs);
    leader.load(10, &[]);
    exchange(&mut leader, &mut tabs);
    assert_eq!(*seen.borrow(), [0]);
    let mut next = taken_over(leader, &mut tabs);
    next.client.go_offline();
    chosen.set(2);
    exchange(&mut next, &mut tabs);
    assert_eq!(*seen.borrow(), [0, 0], "its host knows that this is the new leader's answer");
    assert!(tabs[0].other.contains(&FollowerOutput::Unavailable(chooses)), "it reads something else by now");
}
