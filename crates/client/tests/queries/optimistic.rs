//! Pending mutations on top of answers.

use iolite_values::Counter;
use iolite_wire::message::{Outcome, Verdict};

use super::*;

const ASCENDING: Direction = Direction::Ascending;

fn showing(rows: &[(i64, &str, i64)], limit: Option<usize>) -> (Harness, Gateway, Seen) {
    let (mut harness, mut gateway) = (connected(), Gateway::with(rows));
    let (_, seen) = watch(&mut harness, View::Optimistic, of_owner("ann"), ASCENDING, limit);
    gateway.answer(&mut harness);
    (harness, gateway, seen)
}

fn writer(harness: &mut Harness, name: &str, writes: Vec<Write>) {
    harness.mutator(name, move |tx| {
        writes.iter().try_for_each(|write| match write.operation {
            Operation::Delete => tx.delete(tasks(), &write.cell.row).map_err(stopped),
            _ => tx.write(write.cell.clone(), write.operation.clone()).map_err(stopped),
        })
    });
}

/// The only mutation that was submitted is committed, with these writes, and told in one advance.
fn confirm(harness: &mut Harness, gateway: &mut Gateway, counter: Counter, writes: Vec<Write>) {
    let mut advance = gateway.written(writes);
    gateway.now += 1;
    advance.to = at(gateway.now);
    let verdict = Verdict::Committed(at(gateway.now));
    let attempt = harness.take_submits()[0].attempt;
    advance.outcomes = vec![Outcome { counter, attempt, verdict }];
    harness.advance(advance);
}

#[test]
fn a_pending_change_moves_a_row_takes_it_out_and_brings_it_in() {
    let (mut harness, mut gateway, seen) = showing(&[(1, "ann", 1), (2, "ann", 2), (3, "ben", 3)], None);
    watch(&mut harness, View::Optimistic, of_owner("ben"), ASCENDING, None);
    gateway.answer(&mut harness);
    let (_, confirmed) = watch(&mut harness, View::Confirmed, of_owner("ann"), ASCENDING, None);
    writer(&mut harness, "move", vec![put(1, "stars", Value::Int(9))]);
    writer(&mut harness, "leave", vec![put(2, "owner", "ben")]);
    writer(&mut harness, "come", vec![put(3, "owner", "ann")]);
    harness.mutate("move");
    assert_eq!(last(&seen), [2, 1]);
    harness.mutate("leave");
    assert_eq!(last(&seen), [1]);
    harness.mutate("come");
    assert_eq!(last(&seen), [3, 1], "it is known whole, as an answer of another query");
    assert_eq!(last(&confirmed), [1, 2], "nothing of this is confirmed");
}

#[test]
fn a_row_that_was_just_created_is_an_answer_at_once_and_stays_one_when_it_is_confirmed() {
    let (mut harness, mut gateway, seen) = showing(&[(1, "ann", 1)], None);
    harness.mutator("create", |tx| {
        let content = [
            (ColumnId::of("owner"), vec![Operation::Put(Value::from("ann"))]),
            (ColumnId::of("stars"), vec![Operation::Put(Value::Int(0))]),
        ];
        tx.insert(tasks(), &key(7), content.into()).map_err(stopped)
    });
    let counter = harness.mutate("create");
    gateway.answer(&mut harness);
    assert_eq!(last(&seen), [7, 1]);
    let shown = seen.borrow().len();
    confirm(&mut harness, &mut gateway, counter, create(7, "ann", 0));
    assert_eq!((last(&seen), seen.borrow().len()), (vec![7, 1], shown), "there was nothing new to show");
    assert_eq!(harness.client.pending().count(), 0);
}

#[test]
fn a_row_that_is_known_in_part_is_no_answer_before_it_is_confirmed() {
    let (mut harness, mut gateway, seen) = showing(&[(1, "ann", 1), (5, "ben", 2)], None);
    writer(&mut harness, "come", vec![put(5, "owner", "ann")]);
    harness.mutate("come");
    gateway.answer(&mut harness);
    assert_eq!(last(&seen), [1], "its stars are not known here");
    gateway.commit(&mut harness, vec![put(5, "owner", "ann")]);
    assert_eq!(last(&seen), [1, 5]);
}

#[test]
fn what_a_pending_change_takes_out_is_made_up_for() {
    let rows: Vec<(i64, &str, i64)> = (0..60).map(|id| (id, "ann", id)).collect();
    let (mut harness, mut gateway, seen) = showing(&rows, Some(4));
    writer(&mut harness, "clear", (0..20).map(delete).collect());
    harness.mutate("clear");
    while !gateway.answer(&mut harness).is_empty() {}
    assert_eq!(last(&seen), [20, 21, 22, 23], "although the gateway still has those that were deleted");
}

#[test]
fn a_transaction_sees_its_own_writes_in_a_query() {
    let (mut harness, mut gateway, _) = showing(&[(1, "ann", 1), (2, "ann", 2), (3, "ben", 0)], None);
    let seen = Seen::default();
    let log = seen.clone();
    harness.mutator("shuffle", move |tx| {
        tx.write(cell(1, "stars"), Operation::Put(Value::Int(9))).map_err(stopped)?;
        tx.delete(tasks(), &key(2)).map_err(stopped)?;
        tx.insert(tasks(), &key(8), [(ColumnId::of("owner"), vec![Operation::Put(Value::from("ann"))])].into())
            .map_err(stopped)?;
        log.borrow_mut().push(ids(tx, &of_owner("ann"), None)?);
        Ok(())
    });
    harness.mutate("shuffle");
    gateway.answer(&mut harness);
    assert_eq!(last(&seen), [8, 1]);
}

#[test]
fn a_mutation_runs_again_when_a_row_comes_into_what_it_queried() {
    let (mut harness, mut gateway, _) = showing(&[(1, "ann", 1)], None);
    let seen = Seen::default();
    let log = seen.clone();
    harness.mutator("count", move |tx| {
        let found = ids(tx, &of_owner("ann"), None)?;
        tx.write(cell(1, "stars"), Operation::Put(Value::Int(found.len() as i64))).map_err(stopped)?;
        log.borrow_mut().push(found);
        Ok(())
    });
    harness.mutate("count");
    assert_eq!(last(&seen), [1]);
    gateway.commit(&mut harness, create(4, "ann", 4));
    assert_eq!(last(&seen), [1, 4]);
    gateway.commit(&mut harness, create(5, "ben", 4));
    assert_eq!(seen.borrow().len(), 2, "that one is none of its business");
}

/// A mutator that only looks whether row 1 is there.
fn looker(harness: &mut Harness) -> Rc<RefCell<Vec<bool>>> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.mutator("look", move |tx| {
        let found = tx.exists(tasks(), &key(1)).map_err(stopped)?;
        log.borrow_mut().push(found);
        Ok(())
    });
    seen
}

#[test]
fn a_mutation_behind_one_that_takes_a_row_out_of_its_query_hears_when_the_row_is_back() {
    let (mut harness, mut gateway, _) = showing(&[(1, "ann", 1)], None);
    writer(&mut harness, "clear", vec![delete(1)]);
    let seen = looker(&mut harness);
    let counter = harness.mutate("clear");
    harness.mutate("look");
    assert_eq!(*seen.borrow(), [false]);
    confirm(&mut harness, &mut gateway, counter, vec![delete(1)]);
    while !gateway.answer(&mut harness).is_empty() {}
    gateway.commit(&mut harness, create(1, "ben", 1));
    assert_eq!(seen.borrow().last(), Some(&true), "no query brings it any more");
}

#[test]
fn a_row_that_left_the_query_of_a_mutation_is_held_for_it_beside_somebody_elses_query() {
    let (mut harness, mut gateway, _) = showing(&[(1, "ann", 1)], None);
    let seen = looker(&mut harness);
    harness.mutate("look");
    let (other, _) = watch(&mut harness, View::Confirmed, of_owner("ben"), ASCENDING, None);
    gateway.answer(&mut harness);
    gateway.commit(&mut harness, vec![put(1, "owner", "ben")]);
    harness.client.stop(other);
    gateway.commit(&mut harness, vec![delete(1)]);
    gateway.answer(&mut harness);
    assert_eq!(seen.borrow().last(), Some(&false), "it holds the row by that query, and then by itself");
}

/// What it wrote to a row of which it knew no more is what the row is, and yet the row is an answer only now that all of it is known.
#[test]
fn a_mutation_that_queried_runs_again_when_a_row_that_one_before_it_changed_turns_out_to_be_an_answer() {
    let (mut harness, mut gateway, _) = showing(&[], None);
    let row = |owner: &str| [(ColumnId::of("owner"), CellState::Scalar(Value::from(owner)))];
    gateway.rows.insert(key(1), Row::from_parts(true, row("cid")));
    writer(&mut harness, "give", vec![put(1, "owner", "ann")]);
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.mutator("look", move |tx| {
        log.borrow_mut().push(ids(tx, &of_owner("ann"), None)?);
        Ok(())
    });
    let counter = harness.mutate("give");
    gateway.answer(&mut harness);
    harness.mutate("look");
    assert_eq!(*seen.borrow(), [Vec::<i64>::new()], "what else is in row 1, nobody here knows");
    confirm(&mut harness, &mut gateway, counter, vec![put(1, "owner", "ann")]);
    assert_eq!(seen.borrow().last(), Some(&vec![1]));
}

/// Tasks 1 of ann and 5 of ben, of which the query has the first, and what a mutation writes before it asks the query. Of row 5 it is known that it is there.
fn asking_after(writes: Vec<Write>, limit: Option<usize>) -> (Harness, Gateway, Seen) {
    let (mut harness, mut gateway, _) = showing(&[(1, "ann", 1), (5, "ben", 7)], limit);
    harness.react(View::Confirmed, |tx| tx.exists(tasks(), &key(5)).map(drop).map_err(stopped));
    gateway.answer(&mut harness);
    let seen = Seen::default();
    let log = seen.clone();
    harness.mutator("ask", move |tx| {
        for write in &writes {
            tx.write(write.cell.clone(), write.operation.clone()).map_err(stopped)?;
        }
        log.borrow_mut().push(ids(tx, &of_owner("ann"), limit)?);
        Ok(())
    });
    harness.mutate("ask");
    (harness, gateway, seen)
}

fn asked_rows(asked: &[(Interest, Option<First>)]) -> Vec<Interest> {
    asked.iter().map(|(interest, _)| interest.clone()).collect()
}

fn whole(id: i64) -> Interest {
    Interest::Range { table: tasks(), range: KeyRange::one(&key(id)) }
}

#[test]
fn a_mutation_waits_for_a_row_that_its_own_write_may_bring_into_its_query() {
    for limit in [None, Some(2), Some(1)] {
        let (mut harness, mut gateway, seen) =
            asking_after(vec![put(5, "owner", "ann"), put(5, "stars", Value::Int(0))], limit);
        assert_eq!(*seen.borrow(), Vec::<Vec<i64>>::new(), "it is not known yet what is to be answered");
        assert!(harness.take_submits().is_empty());
        assert_eq!(asked_rows(&gateway.answer(&mut harness)), [whole(5)]);
        let expected = if limit == Some(1) { vec![5] } else { vec![5, 1] };
        assert_eq!(*seen.borrow(), [expected]);
        let submitted = harness.take_submits().remove(0);
        assert!(submitted.reads.contains(&Read::Range { table: tasks(), range: KeyRange::one(&key(5)) }));
    }
}

#[test]
fn a_mutation_waits_for_no_row_that_its_own_writes_keep_out_of_its_query_or_do_not_bring_in() {
    let add = Write { cell: cell(5, "votes"), operation: Operation::Add(1) };
    for writes in [vec![put(5, "owner", "cid")], vec![add], vec![]] {
        let (mut harness, _, seen) = asking_after(writes, None);
        assert_eq!(*seen.borrow(), [[1]]);
        assert_eq!(harness.take_submits().len(), 1);
    }
    // Behind the last row that is asked for nothing is looked at.
    let (mut harness, _, seen) = asking_after(vec![put(5, "owner", "ann"), put(5, "stars", Value::Int(3))], Some(1));
    assert_eq!((last(&seen), harness.take_submits().len()), (vec![1], 1));
}

/// What another client writes to the row satisfies the query only together with what the mutation writes to it.
#[test]
fn a_mutation_runs_again_when_a_row_comes_into_its_query_by_the_writes_of_two() {
    let (mut harness, mut gateway, _) = showing(&[(1, "ann", 1), (5, "ben", 7)], None);
    watch(&mut harness, View::Confirmed, of_owner("ben"), ASCENDING, None);
    gateway.answer(&mut harness);
    let starred = with_stars(&of_owner("ann"), 9);
    watch(&mut harness, View::Confirmed, starred.clone(), ASCENDING, None);
    gateway.answer(&mut harness);
    let seen = Seen::default();
    let log = seen.clone();
    harness.mutator("star", move |tx| {
        tx.write(cell(5, "stars"), Operation::Put(Value::Int(9))).map_err(stopped)?;
        log.borrow_mut().push(ids(tx, &starred, None)?);
        Ok(())
    });
    harness.mutate("star");
    assert_eq!(last(&seen), Vec::<i64>::new(), "it is ben's");
    gateway.commit(&mut harness, vec![put(5, "owner", "ann")]);
    assert_eq!(last(&seen), [5]);
}
