//! What is asked for, what is shown, and when a closure runs.

use iolite_client::{Limits, RunOf};
use iolite_values::{KeyRange, Level, Read};
use iolite_wire::message::FromClient;

use super::*;

const ASCENDING: Direction = Direction::Ascending;
const DESCENDING: Direction = Direction::Descending;

#[test]
fn a_query_shows_its_answers_in_the_order_of_its_index() {
    let (mut harness, mut gateway) =
        (connected(), Gateway::with(&[(1, "ann", 3), (2, "ben", 1), (3, "ann", 1), (4, "ann", 2)]));
    let (_, up) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    let (_, down) = watch(&mut harness, View::Confirmed, of_owner("ann"), DESCENDING, None);
    assert!(up.borrow().is_empty(), "it waits for its data");
    let asked = gateway.answer(&mut harness);
    assert_eq!(asked, [(Interest::Query(Arc::new(of_owner("ann"))), None)], "one subscription is enough for both");
    assert_eq!((last(&up), last(&down)), (vec![3, 4, 1], vec![1, 4, 3]));
}

#[test]
fn rows_enter_leave_and_move() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&[(1, "ann", 3), (2, "ben", 1), (3, "ann", 1)]));
    let (_, seen) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    gateway.answer(&mut harness);
    gateway.commit(&mut harness, create(5, "ann", 2));
    assert_eq!(last(&seen), [3, 5, 1], "created");
    gateway.commit(&mut harness, vec![put(2, "owner", "ann")]);
    assert_eq!(last(&seen), [2, 3, 5, 1], "given to ann");
    gateway.commit(&mut harness, vec![put(2, "stars", Value::Int(9))]);
    assert_eq!(last(&seen), [3, 5, 1, 2], "moved");
    gateway.commit(&mut harness, vec![put(1, "owner", "ben"), delete(3)]);
    assert_eq!(last(&seen), [5, 2], "given away, and deleted");
    gateway.commit(&mut harness, vec![put(5, "owner", "ben"), put(5, "owner", "ann")]);
    assert_eq!(last(&seen), [5, 2], "back in the same step");
    assert!(gateway.answer(&mut harness).is_empty(), "none of it was a round trip");
}

#[test]
fn a_row_that_leaves_is_held_as_far_as_something_else_holds_it() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&[(1, "ann", 3), (2, "ann", 4)]));
    let (_, _seen) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    let (stars, log) = (Rc::new(RefCell::new(Vec::new())), cell(1, "stars"));
    let shown = stars.clone();
    harness.react(View::Confirmed, move |tx| {
        shown.borrow_mut().push(tx.cell(&log)?);
        Ok(())
    });
    gateway.answer(&mut harness);
    gateway.commit(&mut harness, vec![put(1, "owner", "ben"), put(2, "owner", "ben")]);
    let part = Row::from_parts(true, [(ColumnId::of("stars"), CellState::Scalar(Value::Int(3)))]);
    assert_eq!(stored(&harness), [(key(1), part)], "row 2 is gone, and the owner of row 1");
    gateway.answer(&mut harness);
    gateway.commit(&mut harness, vec![put(1, "stars", Value::Int(7))]);
    assert_eq!(stars.borrow().last(), Some(&Some(CellState::Scalar(Value::Int(7)))), "the cell stays subscribed");
}

#[test]
fn a_query_runs_again_only_when_its_answer_changed() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&[(1, "ann", 3), (2, "ben", 1)]));
    let (id, _) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    let (_, _) = watch(&mut harness, View::Confirmed, of_owner("ben"), ASCENDING, None);
    gateway.answer(&mut harness);
    harness.runs.clear();
    gateway.commit(&mut harness, vec![put(2, "stars", Value::Int(5))]);
    gateway.commit(&mut harness, create(7, "cid", 5));
    assert_eq!(harness.runs_of(RunOf::Reaction(id)), 0);
    gateway.commit(&mut harness, vec![Write { cell: cell(1, "votes"), operation: Operation::Add(1) }]);
    assert_eq!(harness.runs_of(RunOf::Reaction(id)), 1, "a column that it shows");
}

#[test]
fn a_limit_asks_for_some_more_and_shows_the_first_rows() {
    let rows: Vec<(i64, &str, i64)> = (0..100).map(|id| (id, "ann", id)).collect();
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows));
    let (_, first) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    let asked = gateway.answer(&mut harness);
    let expected = First { rows: 4 + 2 + Transaction::SPARE_ROWS as u32, direction: ASCENDING };
    assert_eq!(asked, [(Interest::Query(Arc::new(of_owner("ann"))), Some(expected))]);
    assert_eq!(last(&first), [0, 1, 2, 3]);
    let (_, end) = watch(&mut harness, View::Confirmed, of_owner("ann"), DESCENDING, Some(2));
    gateway.answer(&mut harness);
    assert_eq!(last(&end), [99, 98]);
    assert_eq!(gateway.sent_rows, 14 + 11);
}

#[test]
fn a_narrower_query_is_answered_by_a_wider_one() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&[(1, "ann", 3), (2, "ben", 1), (3, "ann", 1)]));
    watch(&mut harness, View::Confirmed, by_stars(0, 10), ASCENDING, None);
    gateway.answer(&mut harness);
    let (_, narrow) = watch(&mut harness, View::Confirmed, by_stars(1, 2), ASCENDING, None);
    let (_, cond) = watch(&mut harness, View::Confirmed, with_stars(&by_stars(0, 5), 3), ASCENDING, None);
    let (_, limited) = watch(&mut harness, View::Confirmed, by_stars(0, 10), ASCENDING, Some(2));
    assert_eq!((last(&narrow), last(&cond), last(&limited)), (vec![2, 3], vec![1], vec![2, 3]));
    assert!(gateway.answer(&mut harness).is_empty());
    gateway.commit(&mut harness, vec![put(1, "stars", Value::Int(1))]);
    assert_eq!((last(&narrow), last(&cond), last(&limited)), (vec![1, 2, 3], vec![], vec![1, 2]));
}

#[test]
fn alternatives_are_answered_by_a_query_without_them() {
    let rows = [(1, "ann", 3), (2, "ben", 1), (3, "ann", 1), (4, "cid", 2)];
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows));
    watch(&mut harness, View::Confirmed, by_stars(0, 10), ASCENDING, None);
    gateway.answer(&mut harness);
    let alternatives = owned_or_starred(&by_stars(0, 10), "ben", 3);
    let (_, seen) = watch(&mut harness, View::Confirmed, alternatives, ASCENDING, None);
    assert_eq!(last(&seen), [2, 1]);
    assert!(gateway.answer(&mut harness).is_empty());
    gateway.commit(&mut harness, vec![put(1, "stars", Value::Int(2))]);
    assert_eq!(last(&seen), [2]);
    gateway.commit(&mut harness, vec![put(4, "owner", "ben")]);
    assert_eq!(last(&seen), [2, 4]);
}

#[test]
fn a_row_enters_and_leaves_by_any_of_its_alternatives() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&[(1, "ann", 3), (2, "ben", 1)]));
    let alternatives = owned_or_starred(&Query::all(tasks(), false), "ann", 5);
    let (_, seen) = watch(&mut harness, View::Confirmed, alternatives.clone(), ASCENDING, None);
    assert_eq!(gateway.answer(&mut harness), [(Interest::Query(Arc::new(alternatives)), None)]);
    assert_eq!(last(&seen), [1]);
    gateway.commit(&mut harness, vec![put(2, "stars", Value::Int(5)), put(1, "stars", Value::Int(5))]);
    assert_eq!(last(&seen), [1, 2]);
    gateway.commit(&mut harness, vec![put(1, "owner", "ben")]);
    assert_eq!(last(&seen), [1, 2], "the other one holds");
    gateway.commit(&mut harness, vec![put(1, "stars", Value::Int(4))]);
    assert_eq!(last(&seen), [2]);
}

#[test]
fn a_range_that_is_held_answers_every_query_in_it() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&[(1, "ann", 3), (2, "ben", 1), (3, "ann", 1)]));
    harness.react(View::Confirmed, |tx| tx.range(tasks(), &KeyRange::all(), None, false).map(drop).map_err(stopped));
    gateway.answer(&mut harness);
    let (_, seen) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(1));
    assert_eq!(last(&seen), [3]);
    gateway.commit(&mut harness, create(9, "ann", 0));
    assert_eq!(last(&seen), [9]);
    assert!(gateway.answer(&mut harness).is_empty());
}

#[test]
fn the_old_answer_stays_until_more_rows_have_come() {
    let rows: Vec<(i64, &str, i64)> = (0..40).map(|id| (id, "ann", id)).collect();
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows));
    let (_, seen) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    gateway.answer(&mut harness);
    gateway.commit(&mut harness, (0..10).map(delete).collect());
    assert_eq!(last(&seen), [10, 11, 12, 13], "there were spare rows");
    assert!(gateway.answer(&mut harness).is_empty());
    gateway.commit(&mut harness, vec![delete(10)]);
    assert_eq!(last(&seen), [10, 11, 12, 13], "three are not an answer");
    assert_eq!(gateway.answer(&mut harness).len(), 1);
    assert_eq!(last(&seen), [11, 12, 13, 14]);
    assert_eq!(seen.borrow().len(), 3, "nothing else was shown in between");
}

#[test]
fn at_the_end_of_the_range_fewer_rows_than_the_limit_are_all() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&[(1, "ann", 3), (2, "ann", 1)]));
    let (_, seen) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(4));
    gateway.answer(&mut harness);
    assert_eq!(last(&seen), [2, 1]);
    gateway.commit(&mut harness, vec![delete(2)]);
    assert_eq!(last(&seen), [1]);
    gateway.commit(&mut harness, create(5, "ann", 70));
    assert_eq!(last(&seen), [1, 5], "behind all that there were");
    assert!(gateway.answer(&mut harness).is_empty());
}

#[test]
fn the_same_query_from_both_ends_at_once_gets_both() {
    let rows: Vec<(i64, &str, i64)> = (0..100).map(|id| (id, "ann", id)).collect();
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows));
    harness.client.go_offline();
    harness.settle();
    let (_, up) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, Some(3));
    let (_, down) = watch(&mut harness, View::Confirmed, of_owner("ann"), DESCENDING, Some(3));
    let now = harness.now.instant;
    harness.client.go_online(now);
    harness.connect();
    while !gateway.answer(&mut harness).is_empty() {}
    assert_eq!((last(&up), last(&down)), (vec![0, 1, 2], vec![99, 98, 97]));
}

#[test]
fn a_mutation_reads_the_rows_it_was_given_and_the_range_that_it_saw() {
    let rows: Vec<(i64, &str, i64)> = (0..100).map(|id| (id, "ann", id)).collect();
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows));
    harness.mutator("raise", |tx| {
        let first = ids(tx, &of_owner("ann"), Some(2))?;
        first
            .into_iter()
            .try_for_each(|id| tx.write(cell(id, "stars"), Operation::Put(Value::Int(500))).map_err(stopped))
    });
    harness.mutate("raise");
    gateway.answer(&mut harness);
    let submit = harness.take_submits().remove(0);
    let seen = of_owner("ann");
    let last = IndexKey::new([Value::from("ann"), Value::Int(1)].iter().map(std::borrow::Cow::Borrowed), &key(1));
    let seen = seen.with_range(seen.range.ending_with(last.as_bytes(), ASCENDING));
    assert!(submit.reads.contains(&Read::Query(Arc::new(seen.clone()))), "{:?}", submit.reads);
    for id in [0, 1] {
        assert!(submit.reads.contains(&Read::Range { table: tasks(), range: KeyRange::one(&key(id)) }));
    }
    assert!(!submit.reads.iter().any(|read| *read == Read::Range { table: tasks(), range: KeyRange::one(&key(2)) }));
    let guarded = Level::Snapshot.guarded(&submit.reads, &[put(0, "stars", Value::Int(500))]).into_owned();
    assert!(guarded.contains(&Read::Query(Arc::new(seen.within(&KeyRange::one(&key(0)))))), "{guarded:?}");
    assert!(gateway.answer(&mut harness).is_empty(), "the rows need no subscriptions of their own");
}

#[test]
fn a_row_of_an_answer_is_read_by_its_key_without_asking() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&[(1, "ann", 3), (2, "ben", 1)]));
    watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    gateway.answer(&mut harness);
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.react(View::Confirmed, move |tx| {
        log.borrow_mut().push(tx.row(tasks(), &key(1))?);
        Ok(())
    });
    assert_eq!(*seen.borrow(), [Some(task("ann", 3))]);
    gateway.commit(&mut harness, vec![put(1, "owner", "ben")]);
    assert_eq!(gateway.answer(&mut harness).len(), 1, "it left the answer that held it, so it is asked for");
    assert_eq!(seen.borrow().last(), Some(&Some(task("ben", 3))));
}

#[test]
fn a_query_that_nobody_needs_goes_and_its_rows_with_it() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&[(1, "ann", 3), (2, "ann", 1)]));
    let (id, _) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    gateway.answer(&mut harness);
    harness.client.stop(id);
    for owner in 0..Limits::default().idle_interests_max + 1 {
        let (id, _) = watch(&mut harness, View::Confirmed, of_owner(&owner.to_string()), ASCENDING, None);
        gateway.answer(&mut harness);
        harness.client.stop(id);
    }
    harness.settle();
    assert_eq!(stored(&harness), []);
    assert!(harness.sent.iter().all(|message| !matches!(message, FromClient::Subscribe(_))));
}

#[test]
fn a_query_of_an_index_that_is_not_declared_is_an_error_at_once() {
    let mut harness = connected();
    let failed = Rc::new(RefCell::new(None));
    let log = failed.clone();
    harness.react(View::Confirmed, move |tx| {
        let query = Query { index: vec![owner_field()], ..Query::all(tasks(), false) };
        *log.borrow_mut() = tx.query(&query, ASCENDING, None).err().map(|error| error.to_string());
        Ok(())
    });
    assert!(failed.borrow().as_ref().is_some_and(|error| error.contains("declare one")), "{failed:?}");
}

#[test]
fn a_mutation_reads_at_most_so_many_rows() {
    let rows: Vec<(i64, &str, i64)> = (0..2_100).map(|id| (id, "ann", id)).collect();
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows));
    let outcome = Rc::new(RefCell::new(Vec::new()));
    for (name, limit) in [("few", 1_999), ("many", 2_000)] {
        let log = outcome.clone();
        harness.mutator(name, move |tx| {
            let found = tx.query(&of_owner("ann"), ASCENDING, Some(limit));
            log.borrow_mut().push((limit, found.map(|rows| rows.len())));
            Ok(())
        });
    }
    watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    gateway.answer(&mut harness);
    harness.mutate("few");
    harness.mutate("many");
    let outcome = outcome.borrow();
    assert_eq!(outcome[0], (1_999, Ok(1_999)));
    assert!(matches!(outcome[1], (2_000, Err(iolite_client::RunError::TooLarge { what: "reads", .. }))));
}
