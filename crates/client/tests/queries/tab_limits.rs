//! Queries with a limit in tabs that follow: their leader holds for them what it would hold for itself, and gives them so much.

use harness::tab::{Tab, exchange};
use iolite_client::{FollowerInput, FollowerOutput, Limits, Question};

use super::*;

const ASCENDING: Direction = Direction::Ascending;
const DESCENDING: Direction = Direction::Descending;
/// As many rows as are asked for where four are needed.
const FOUR: usize = 4 + 2 + Transaction::SPARE_ROWS;

/// A leader, the tabs that follow it, and the gateway.
struct Desk {
    leader: Harness,
    tabs: Vec<Tab>,
    gateway: Gateway,
}

impl Desk {
    /// With so many tasks of ann, of as many stars each as its id says.
    fn with(rows: i64, tabs: u64) -> Desk {
        let rows: Vec<(i64, &str, i64)> = (0..rows).map(|id| (id, "ann", id)).collect();
        let leader = connected();
        let tabs = (1..=tabs).map(|id| Tab::new(id, leader.now)).collect();
        let mut desk = Desk { leader, tabs, gateway: Gateway::with(&rows) };
        desk.settle();
        desk
    }

    /// Carries everything to and fro until nothing moves. Returns what the gateway was asked.
    fn settle(&mut self) -> Vec<(Interest, Option<First>)> {
        let mut all = Vec::new();
        loop {
            exchange(&mut self.leader, &mut self.tabs);
            let asked = self.gateway.answer(&mut self.leader);
            if asked.is_empty() {
                return all;
            }
            all.extend(asked);
        }
    }

    fn commit(&mut self, writes: Vec<Write>) -> Vec<(Interest, Option<First>)> {
        self.gateway.commit(&mut self.leader, writes);
        self.settle()
    }

    /// How many rows the leader holds, and how many queries it is subscribed to.
    fn held(&self) -> (usize, usize) {
        (stored(&self.leader).len(), self.gateway.subscribed.len())
    }

    /// The rows that a tab was told of since this was last asked, with their content.
    fn given(&mut self, tab: usize) -> BTreeSet<i64> {
        let given = std::mem::take(&mut self.tabs[tab].given);
        given.iter().filter(|row| !row.row.is_empty()).map(|row| id_of(&row.key)).collect()
    }
}

fn watching(tab: &mut Tab, query: Query, direction: Direction, limit: Option<usize>) -> (ReactionId, Seen) {
    let seen = Seen::default();
    let log = seen.clone();
    let id = tab.react(View::Optimistic, move |tx| {
        let rows = tx.query(&query, direction, limit).map_err(stopped)?;
        log.borrow_mut().push(rows.iter().map(|(key, _)| id_of(key)).collect());
        Ok(())
    });
    (id, seen)
}

fn first_of(query: Query, rows: usize) -> (Interest, Option<First>) {
    (Interest::Query(Arc::new(query)), Some(First { rows: rows as u32, direction: ASCENDING }))
}

#[test]
fn a_tabs_limit_is_asked_of_the_gateway_and_no_more_is_held_or_given() {
    let mut desk = Desk::with(100, 1);
    let (_, seen) = watching(&mut desk.tabs[0], of_owner("ann"), ASCENDING, Some(4));
    assert_eq!(desk.settle(), [first_of(of_owner("ann"), FOUR)]);
    assert_eq!(last(&seen), [0, 1, 2, 3]);
    assert_eq!((desk.gateway.sent_rows, desk.held()), (FOUR, (FOUR, 1)));
    assert_eq!(desk.given(0), (0..FOUR as i64).collect());
}

#[test]
fn a_tabs_range_with_a_limit_is_asked_of_the_gateway_up_to_that_and_then_for_what_is_missing() {
    let mut desk = Desk::with(100, 1);
    let (limit, seen) = (Rc::new(std::cell::Cell::new(4)), Seen::default());
    let (most, log) = (limit.clone(), seen.clone());
    desk.tabs[0].react(View::Optimistic, move |tx| {
        let rows = tx.range(tasks(), &KeyRange::all(), Some(most.get()), false).map_err(stopped)?;
        log.borrow_mut().push(rows.iter().map(|(key, _)| id_of(key)).collect());
        Ok(())
    });
    let all = Query::of_keys(tasks(), false, &KeyRange::all());
    assert_eq!(desk.settle(), [first_of(all, FOUR)]);
    assert_eq!((last(&seen), desk.gateway.sent_rows, desk.given(0).len()), (vec![0, 1, 2, 3], FOUR, FOUR));
    limit.set(FOUR + 4);
    desk.commit(vec![put(0, "stars", Value::Int(-1))]);
    assert_eq!((last(&seen).len(), desk.gateway.sent_rows), (FOUR + 4, FOUR + FOUR));
    assert!(desk.commit(vec![put(90, "stars", Value::Int(91))]).is_empty());
    assert_eq!(desk.given(0).len(), FOUR + 1, "the second piece, and the row that changed in the first one");
}

#[test]
fn what_its_leader_has_farther_a_tab_is_given_up_to_its_limit_and_told_of_no_farther() {
    let mut desk = Desk::with(100, 1);
    watch(&mut desk.leader, View::Confirmed, of_owner("ann"), ASCENDING, None);
    desk.settle();
    let (_, seen) = watching(&mut desk.tabs[0], of_owner("ann"), ASCENDING, Some(4));
    assert_eq!(desk.settle(), [], "its leader has it");
    assert_eq!((last(&seen), desk.given(0).len()), (vec![0, 1, 2, 3], FOUR));
    desk.commit(vec![put(90, "stars", Value::Int(91))]);
    assert!(desk.given(0).is_empty(), "it is past what the tab has");
    desk.commit(vec![put(90, "stars", Value::Int(1))]);
    assert_eq!(desk.given(0), BTreeSet::from([90]));
    desk.commit(vec![put(90, "stars", Value::Int(0)), put(0, "owner", "ben")]);
    assert_eq!(last(&seen), [90, 1, 2, 3]);
}

#[test]
fn a_tab_whose_rows_leave_asks_for_more_and_never_shows_too_few() {
    let mut desk = Desk::with(100, 1);
    let (_, seen) = watching(&mut desk.tabs[0], of_owner("ann"), ASCENDING, Some(4));
    desk.settle();
    let mut asked = 0;
    for id in 0..60 {
        let more = desk.commit(vec![delete(id)]);
        asked += more.len();
        assert!(more.iter().all(|more| *more == first_of(of_owner("ann"), FOUR)), "{more:?}");
        assert_eq!(last(&seen), [id + 1, id + 2, id + 3, id + 4]);
        assert!(desk.held() <= (2 * FOUR, 1), "{:?}", desk.held());
    }
    assert!(seen.borrow().iter().all(|shown| shown.len() == 4), "{seen:?}");
    assert!(asked <= 60 / (FOUR - 4), "it was asked {asked} times");
    (60..100).for_each(|id| drop(desk.commit(vec![delete(id)])));
    assert!(last(&seen).is_empty(), "at the end there are no more");
}

#[test]
fn what_a_tab_runs_short_of_is_made_up_for_by_what_its_leader_has_farther() {
    let mut desk = Desk::with(100, 1);
    watch(&mut desk.leader, View::Confirmed, of_owner("ann"), ASCENDING, Some(40));
    desk.settle();
    let (_, seen) = watching(&mut desk.tabs[0], of_owner("ann"), ASCENDING, Some(4));
    assert_eq!(desk.settle(), []);
    for id in 0..20 {
        assert_eq!(desk.commit(vec![delete(id)]), []);
        assert_eq!(last(&seen), [id + 1, id + 2, id + 3, id + 4]);
    }
}

#[test]
fn as_few_rows_as_a_tab_needs_are_given_to_it_without_a_connection() {
    let mut desk = Desk::with(100, 1);
    watch(&mut desk.leader, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    desk.settle();
    (0..8).for_each(|id| drop(desk.commit(vec![delete(id)])));
    desk.leader.client.go_offline();
    let (_, six) = watching(&mut desk.tabs[0], of_owner("ann"), ASCENDING, Some(6));
    let (too_many, more) = watching(&mut desk.tabs[0], of_owner("ann"), ASCENDING, Some(7));
    desk.settle();
    assert_eq!((last(&six), more.borrow().len()), ((8..14).collect(), 0));
    assert!(desk.tabs[0].other.contains(&FollowerOutput::Unavailable(too_many)));
}

#[test]
fn a_tab_whose_pending_rows_leave_waits_without_a_connection_and_shows_what_it_had() {
    let mut desk = Desk::with(100, 1);
    let (id, seen) = watching(&mut desk.tabs[0], of_owner("ann"), ASCENDING, Some(4));
    desk.settle();
    desk.leader.client.go_offline();
    for (name, ids) in [("some", 0..10), ("more", 10..12)] {
        desk.leader.mutator(name, move |tx| Ok(ids.clone().try_for_each(|id| tx.delete(tasks(), &key(id)))?));
    }
    desk.leader.mutate("some");
    desk.settle();
    assert_eq!(last(&seen), [10, 11, 12, 13]);
    desk.leader.mutate("more");
    desk.settle();
    assert_eq!((last(&seen), seen.borrow().len()), (vec![10, 11, 12, 13], 2));
    assert!(desk.tabs[0].other.contains(&FollowerOutput::Unavailable(id)));
    desk.leader.client.go_online(desk.leader.now.instant);
    desk.leader.connect();
    desk.settle();
    assert_eq!(last(&seen), [12, 13, 14, 15]);
}

#[test]
fn tabs_with_different_limits_each_get_their_own() {
    let mut desk = Desk::with(200, 3);
    let (_, four) = watching(&mut desk.tabs[0], of_owner("ann"), ASCENDING, Some(4));
    let (_, thirty) = watching(&mut desk.tabs[1], of_owner("ann"), ASCENDING, Some(30));
    let (_, back) = watching(&mut desk.tabs[2], of_owner("ann"), DESCENDING, Some(4));
    desk.settle();
    assert_eq!((desk.given(0).len(), desk.given(1).len(), desk.given(2).len()), (FOUR, 30 + 15 + 8, FOUR));
    for id in 0..40 {
        desk.commit(vec![delete(id), delete(199 - id)]);
        assert_eq!(last(&four), (id + 1..id + 5).collect::<Vec<_>>());
        assert_eq!(last(&thirty), (id + 1..id + 31).collect::<Vec<_>>());
        assert_eq!(last(&back), (195 - id..199 - id).rev().collect::<Vec<_>>());
    }
}

#[test]
fn a_query_of_a_tab_into_which_rows_come_is_held_no_farther_than_twice_what_is_needed() {
    let mut desk = Desk::with(40, 1);
    let (_, seen) = watching(&mut desk.tabs[0], of_owner("ann"), DESCENDING, Some(4));
    desk.settle();
    let mut asked = 0;
    for id in 40..300 {
        asked += desk.commit(create(id, "ann", id)).len();
        assert_eq!(last(&seen), [id, id - 1, id - 2, id - 3]);
        let (rows, queries) = desk.held();
        assert!(rows <= 2 * FOUR && queries == 1, "{rows} rows of {queries} queries are held");
    }
    assert_eq!(seen.borrow().len(), 1 + 260, "nothing else was shown in between");
    assert!(asked <= 260 / FOUR, "it was asked for anew {asked} times");
}

#[test]
fn a_leader_that_needs_more_than_a_tab_holds_what_the_tab_needs_when_it_needs_it_no_more() {
    let mut desk = Desk::with(100, 1);
    let (all, _) = watch(&mut desk.leader, View::Confirmed, of_owner("ann"), ASCENDING, None);
    desk.settle();
    let (few, seen) = watching(&mut desk.tabs[0], of_owner("ann"), ASCENDING, Some(4));
    desk.settle();
    assert_eq!(desk.held(), (100, 1));
    desk.leader.client.stop(all);
    desk.settle();
    assert_eq!((desk.held(), last(&seen), seen.borrow().len()), ((FOUR, 1), vec![0, 1, 2, 3], 1));
    desk.commit(vec![delete(1)]);
    assert_eq!(last(&seen), [0, 2, 3, 4]);
    desk.tabs[0].follower.stop(few);
    desk.settle();
    assert_eq!(desk.held(), (FOUR - 1, 1), "for a while, as nobody needs it");
}

#[test]
fn what_is_held_for_a_tab_reaches_as_far_as_what_it_was_given_though_the_last_row_left() {
    let mut desk = Desk::with(100, 1);
    let (all, _) = watch(&mut desk.leader, View::Confirmed, of_owner("ann"), ASCENDING, None);
    desk.settle();
    let (_, seen) = watching(&mut desk.tabs[0], of_owner("ann"), ASCENDING, Some(4));
    desk.settle();
    desk.commit(vec![delete(FOUR as i64 - 1)]);
    desk.leader.client.stop(all);
    desk.settle();
    assert_eq!((desk.held(), last(&seen)), ((FOUR - 1, 1), vec![0, 1, 2, 3]));
}

#[test]
fn a_tab_that_asks_for_less_than_before_is_held_less_for() {
    let mut desk = Desk::with(100, 1);
    let limit = Rc::new(std::cell::Cell::new(None));
    let (own, seen) = (limit.clone(), Seen::default());
    let log = seen.clone();
    let id = desk.tabs[0].react(View::Confirmed, move |tx| {
        log.borrow_mut().push(ids(tx, &of_owner("ann"), own.get())?);
        Ok(())
    });
    desk.settle();
    assert_eq!(desk.held(), (100, 1));
    limit.set(Some(4));
    desk.tabs[0].follower.renew(id);
    desk.settle();
    assert_eq!((desk.held(), last(&seen)), ((FOUR, 1), vec![0, 1, 2, 3]));
    limit.set(None);
    desk.tabs[0].follower.renew(id);
    desk.settle();
    assert_eq!((desk.held().0, last(&seen).len()), (100, 100), "and more again");
}

#[test]
fn a_tab_with_a_limit_goes_on_under_another_leader() {
    let mut desk = Desk::with(100, 1);
    let (_, seen) = watching(&mut desk.tabs[0], of_owner("ann"), ASCENDING, Some(4));
    desk.settle();
    let mut gateway = Gateway { rows: desk.gateway.rows.clone(), now: 50, ..Gateway::default() };
    gateway.rows.remove(&key(0));
    (desk.leader, desk.gateway) = (connected(), gateway);
    let now = desk.leader.now;
    desk.tabs[0].input(now, FollowerInput::LeaderChanged);
    desk.settle();
    assert_eq!(last(&seen), [1, 2, 3, 4]);
    assert!(desk.held().0 <= 2 * FOUR, "{:?}", desk.held());
    for id in 1..40 {
        desk.commit(vec![delete(id)]);
        assert_eq!(last(&seen), (id + 1..id + 5).collect::<Vec<_>>());
    }
}

#[test]
fn a_tab_joins_anew_while_its_first_rows_are_on_their_way() {
    let mut desk = Desk::with(100, 1);
    let (_, seen) = watching(&mut desk.tabs[0], of_owner("ann"), ASCENDING, Some(4));
    exchange(&mut desk.leader, &mut desk.tabs);
    let now = desk.leader.now;
    desk.tabs[0].input(now, FollowerInput::LeaderChanged);
    desk.settle();
    assert_eq!((last(&seen), desk.held()), (vec![0, 1, 2, 3], (FOUR, 1)));
    assert_eq!(desk.given(0).len(), FOUR);
}

#[test]
fn pages_of_a_tab_are_as_long_as_it_asks() {
    let mut desk = Desk::with(100, 1);
    let after = BTreeMap::from([
        ("id".to_owned(), Value::Int(29)),
        ("owner".to_owned(), Value::from("ann")),
        ("stars".to_owned(), Value::Int(29)),
    ]);
    let question = Question {
        conditions: vec![("owner".into(), Test::Equal(Value::from("ann")))],
        any_of: Vec::new(),
        order: vec![("stars".into(), ASCENDING)],
        limit: Some(4),
        after: Some(after),
    };
    let seen = desk.tabs[0].watch(View::Confirmed, move |tx| {
        let rows = tx.ask(tasks(), &question).map_err(stopped)?;
        Ok(rows.iter().map(|(key, _)| id_of(key)).collect::<Vec<_>>())
    });
    assert_eq!(desk.settle().len(), 1);
    assert_eq!((seen.borrow().last(), desk.held()), (Some(&vec![30, 31, 32, 33]), (FOUR, 1)));
    desk.commit(vec![delete(31), delete(3)]);
    assert_eq!(seen.borrow().last(), Some(&vec![30, 32, 33, 34]));
}

#[test]
fn a_tab_whose_first_rows_have_no_room_is_told_so_once() {
    let mut desk = Desk::with(100, 1);
    desk.leader = Harness::with(Limits { cache_bytes_max: 2_000, ..Limits::default() });
    desk.leader.connect();
    let now = desk.leader.now;
    desk.tabs[0].input(now, FollowerInput::LeaderChanged);
    let (id, seen) = watching(&mut desk.tabs[0], of_owner("ann"), ASCENDING, Some(40));
    assert_eq!(desk.settle().len(), 1);
    let failed =
        |output: &FollowerOutput| matches!(output, FollowerOutput::ReactionFailed { reaction, .. } if *reaction == id);
    assert_eq!((desk.tabs[0].other.iter().filter(|output| failed(output)).count(), seen.borrow().len()), (1, 0));
}
