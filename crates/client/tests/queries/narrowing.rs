//! Queries that are held farther than anybody needs them.

use harness::tab::{Tab, exchange};
use iolite_client::RunOf;

use super::*;

const ASCENDING: Direction = Direction::Ascending;
const DESCENDING: Direction = Direction::Descending;
/// As many rows as are asked for where four are needed.
const FOUR: usize = 4 + 2 + Transaction::SPARE_ROWS;

fn answer_all(harness: &mut Harness, gateway: &mut Gateway) -> usize {
    let mut asked = 0;
    loop {
        match gateway.answer(harness).len() {
            0 => return asked,
            some => asked += some,
        }
    }
}

fn rows(count: i64) -> Vec<(i64, &'static str, i64)> {
    (0..count).map(|id| (id, "ann", id)).collect()
}

#[test]
fn a_query_into_which_rows_come_is_held_no_farther_than_twice_what_is_needed() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(40)));
    let (_, seen) = watch(&mut harness, View::Confirmed, of_owner("ann"), DESCENDING, Some(4));
    answer_all(&mut harness, &mut gateway);
    let mut asked = 0;
    for id in 40..300 {
        gateway.commit(&mut harness, create(id, "ann", id));
        assert_eq!(last(&seen), [id, id - 1, id - 2, id - 3]);
        asked += answer_all(&mut harness, &mut gateway);
        assert_eq!(last(&seen), [id, id - 1, id - 2, id - 3]);
        assert!(stored(&harness).len() <= 2 * FOUR, "{} rows are held", stored(&harness).len());
        assert_eq!(gateway.subscribed.len(), 1, "what it was before is given up");
    }
    assert_eq!(seen.borrow().len(), 1 + 260, "nothing else was shown in between");
    assert!(asked <= 260 / FOUR, "it was asked for anew {asked} times");
}

#[test]
fn rows_behind_those_that_are_shown_are_given_up_too() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(40)));
    let (id, seen) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    answer_all(&mut harness, &mut gateway);
    harness.runs.clear();
    for id in 100..200 {
        gateway.commit(&mut harness, create(id, "ann", 5));
        answer_all(&mut harness, &mut gateway);
    }
    assert!(stored(&harness).len() <= 2 * FOUR, "{} rows are held", stored(&harness).len());
    assert_eq!((harness.runs_of(RunOf::Reaction(id)), last(&seen)), (0, vec![0, 1, 2, 3]));
}

#[test]
fn rows_that_come_and_go_ask_for_nothing() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(100)));
    watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    answer_all(&mut harness, &mut gateway);
    for id in 0..100 {
        for row in 0..7 {
            gateway.commit(&mut harness, create(1_000 + 10 * id + row, "ann", 0));
        }
        (0..7).for_each(|row| gateway.commit(&mut harness, vec![delete(1_000 + 10 * id + row)]));
    }
    assert_eq!(answer_all(&mut harness, &mut gateway), 0);
}

#[test]
fn an_app_that_asks_for_less_holds_less_and_shows_the_same_meanwhile() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(100)));
    let (all, _) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    answer_all(&mut harness, &mut gateway);
    let (few, seen) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    assert_eq!(answer_all(&mut harness, &mut gateway), 0, "all of it is needed");
    harness.client.stop(all);
    harness.settle();
    harness.runs.clear();
    assert_eq!(stored(&harness).len(), 100, "until what is narrower has come");
    gateway.commit(&mut harness, vec![put(1, "stars", Value::Int(-1))]);
    assert_eq!(last(&seen), [1, 0, 2, 3]);
    answer_all(&mut harness, &mut gateway);
    assert_eq!((stored(&harness).len(), harness.runs_of(RunOf::Reaction(few))), (FOUR, 1));
    gateway.commit(&mut harness, vec![delete(1)]);
    assert_eq!(last(&seen), [0, 2, 3, 4]);
}

#[test]
fn what_was_held_when_the_app_was_closed_is_narrowed_when_it_is_opened() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(100)));
    watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(60));
    answer_all(&mut harness, &mut gateway);
    assert_eq!(stored(&harness).len(), 98);
    let mut harness = harness.reopened();
    let (_, seen) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    assert_eq!(last(&seen), [0, 1, 2, 3], "at once");
    harness.link();
    harness.welcome(1);
    gateway.subscribed = harness.take_subscribed(true).into_iter().collect();
    harness.advance(Advance { to: harness.client.at(), ..Advance::default() });
    answer_all(&mut harness, &mut gateway);
    assert_eq!((stored(&harness).len(), gateway.subscribed.len(), seen.borrow().len()), (FOUR, 1, 1));
}

#[test]
fn a_row_that_is_read_by_its_key_out_of_an_answer_stays() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(100)));
    let (all, _) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    answer_all(&mut harness, &mut gateway);
    watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    let by_key = harness.react(View::Confirmed, |tx| tx.row(tasks(), &key(19)).map(drop).map_err(stopped));
    harness.client.stop(all);
    harness.settle();
    answer_all(&mut harness, &mut gateway);
    assert_eq!(stored(&harness).len(), 20 + 10 + Transaction::SPARE_ROWS);
    harness.client.stop(by_key);
    harness.settle();
    answer_all(&mut harness, &mut gateway);
    assert_eq!(stored(&harness).len(), FOUR);
}

#[test]
fn what_a_tab_that_follows_has_whole_stays() {
    let (mut leader, mut gateway) = (connected(), Gateway::with(&rows(100)));
    let mut tabs = vec![Tab::new(1, leader.now)];
    let (_, few) = watch(&mut leader, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    let seen = tabs[0].watch(View::Confirmed, |tx| ids(tx, &of_owner("ann"), None));
    exchange(&mut leader, &mut tabs);
    while !gateway.answer(&mut leader).is_empty() {
        exchange(&mut leader, &mut tabs);
    }
    gateway.commit(&mut leader, create(100, "ann", 100));
    exchange(&mut leader, &mut tabs);
    assert_eq!((last(&few).len(), seen.borrow().last().map(Vec::len)), (4, Some(101)));
    assert_eq!(stored(&leader).len(), 101);
}

/// A list of this many rows, each with a reaction of its own, as they are mounted one after the other.
fn mounted(rows_count: i64) -> (Harness, Gateway, Vec<ReactionId>) {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(rows_count)));
    watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    answer_all(&mut harness, &mut gateway);
    let row = |id: i64| harness.react(View::Confirmed, move |tx| tx.row(tasks(), &key(id)).map(drop).map_err(stopped));
    let mounted = (0..rows_count).map(row).collect();
    (harness, gateway, mounted)
}

#[test]
fn what_judging_costs_grows_with_the_reactions_on_a_query_and_not_with_their_square() {
    const ROWS: u64 = 200;
    let (mut harness, mut gateway, mounted) = mounted(ROWS as i64);
    let mut before = 0;
    let mut judged = |harness: &Harness| {
        harness.client.reads_judged() - std::mem::replace(&mut before, harness.client.reads_judged())
    };
    assert!(judged(&harness) <= ROWS, "as they are mounted");
    for id in 0..ROWS as i64 {
        gateway.commit(&mut harness, vec![Write { cell: cell(id, "votes"), operation: Operation::Add(1) }]);
    }
    assert!(harness.runs.len() as u64 > 2 * ROWS, "each of them has run again");
    assert_eq!(judged(&harness), 0, "they read what they have read before");
    for id in mounted {
        harness.client.stop(id);
        harness.settle();
    }
    assert!(judged(&harness) <= ROWS, "as they are unmounted");
}

#[test]
fn what_could_not_be_judged_while_a_reaction_waited_is_narrowed_once_it_has_run() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(100)));
    let (all, _) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    answer_all(&mut harness, &mut gateway);
    let waits = Rc::new(std::cell::Cell::new(false));
    let waiting = waits.clone();
    let few = harness.react(View::Confirmed, move |tx| {
        tx.query(&of_owner("ann"), ASCENDING, Some(4)).map_err(stopped)?;
        if waiting.get() {
            tx.row(tasks(), &key(1_000)).map_err(stopped)?;
        }
        Ok(())
    });
    waits.set(true);
    harness.client.renew(few);
    harness.settle();
    harness.client.stop(all);
    harness.settle();
    assert_eq!(stored(&harness).len(), 100);
    answer_all(&mut harness, &mut gateway);
    assert_eq!(stored(&harness).len(), FOUR);
}

#[test]
fn a_reaction_that_reads_less_than_before_lets_its_query_be_narrowed() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(100)));
    let limit = Rc::new(std::cell::Cell::new(None));
    let own = limit.clone();
    let id = harness
        .react(View::Confirmed, move |tx| tx.query(&of_owner("ann"), ASCENDING, own.get()).map(drop).map_err(stopped));
    answer_all(&mut harness, &mut gateway);
    limit.set(Some(4));
    harness.client.renew(id);
    harness.settle();
    answer_all(&mut harness, &mut gateway);
    assert_eq!(stored(&harness).len(), FOUR);
}
