//! Ranges of primary keys with a limit: what is asked for, held and noted as read.

use std::cell::Cell as Setting;

use harness::{hit, hits};

use super::*;

const ASCENDING: Direction = Direction::Ascending;
const DESCENDING: Direction = Direction::Descending;
/// As many rows as are asked for where four are needed.
const FOUR: usize = 4 + 2 + Transaction::SPARE_ROWS;

fn rows(count: i64) -> Vec<(i64, &'static str, i64)> {
    (0..count).map(|id| (id, "ann", id)).collect()
}

fn between(from: i64, to: i64) -> KeyRange {
    KeyRange { lower: key(from).as_bytes().into(), upper: Some(key(to).as_bytes().into()) }
}

/// A screen that shows the first rows of a range. The limit can be set anew, and counts when it runs again.
fn show(
    harness: &mut Harness,
    view: View,
    table: TableId,
    range: KeyRange,
    limit: &Rc<Setting<usize>>,
    reverse: bool,
) -> Seen {
    let (seen, limit) = (Seen::default(), limit.clone());
    let log = seen.clone();
    harness.react(view, move |tx| {
        let rows = tx.range(table, &range, Some(limit.get()), reverse)?;
        log.borrow_mut().push(rows.iter().map(|(key, _)| id_of(key)).collect());
        Ok(())
    });
    seen
}

fn first_rows(harness: &mut Harness, range: KeyRange, limit: usize, reverse: bool) -> Seen {
    show(harness, View::Optimistic, tasks(), range, &Rc::new(Setting::new(limit)), reverse)
}

fn first_of(range: &KeyRange, rows: usize, direction: Direction) -> (Interest, Option<First>) {
    let query = Query::of_keys(tasks(), false, range);
    (Interest::Query(Arc::new(query)), Some(First { rows: rows as u32, direction }))
}

fn answer_all(harness: &mut Harness, gateway: &mut Gateway) -> Vec<(Interest, Option<First>)> {
    let mut asked = Vec::new();
    loop {
        match gateway.answer(harness) {
            none if none.is_empty() => return asked,
            some => asked.extend(some),
        }
    }
}

#[test]
fn a_range_with_a_limit_asks_for_so_many_rows_and_some_to_spare() {
    for (reverse, direction, expected) in [(false, ASCENDING, [20, 21, 22, 23]), (true, DESCENDING, [79, 78, 77, 76])] {
        let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(100)));
        let seen = first_rows(&mut harness, between(20, 80), 4, reverse);
        assert_eq!(gateway.answer(&mut harness), [first_of(&between(20, 80), FOUR, direction)]);
        assert_eq!((last(&seen), gateway.sent_rows, stored(&harness).len()), (expected.into(), FOUR, FOUR));
        gateway.commit(&mut harness, vec![put(50, "stars", Value::Int(7))]);
        assert_eq!((seen.borrow().len(), stored(&harness).len()), (1, FOUR), "it is behind what is shown");
    }
}

#[test]
fn a_limit_that_grows_asks_for_the_rows_that_are_missing() {
    for (reverse, direction) in [(false, ASCENDING), (true, DESCENDING)] {
        let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(100)));
        let limit = Rc::new(Setting::new(4));
        let seen = show(&mut harness, View::Confirmed, tasks(), KeyRange::all(), &limit, reverse);
        answer_all(&mut harness, &mut gateway);
        let from_end = |count: i64| -> Vec<i64> { (0..count).map(|id| if reverse { 99 - id } else { id }).collect() };
        let mut held = FOUR;
        for more in [10, 20, 30, 40] {
            limit.set(more);
            let before = gateway.sent_rows;
            // Something that is shown changes, so it runs again.
            gateway.commit(&mut harness, vec![put(from_end(1)[0], "stars", Value::Int(more as i64))]);
            let missing = more.saturating_sub(held);
            let sent = if missing == 0 { 0 } else { missing + missing / 2 + Transaction::SPARE_ROWS };
            let asked = answer_all(&mut harness, &mut gateway);
            assert_eq!(asked.len(), usize::from(sent > 0), "{asked:?}");
            assert_eq!(gateway.sent_rows - before, sent);
            held += sent;
            assert_eq!(last(&seen), from_end(more as i64), "{direction:?}");
            iolite_machine::Machine::validate(&harness.client);
        }
    }
}

#[test]
fn rows_that_are_deleted_are_made_up_for_by_the_next_ones() {
    for reverse in [false, true] {
        let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(400)));
        let seen = first_rows(&mut harness, KeyRange::all(), 4, reverse);
        answer_all(&mut harness, &mut gateway);
        let nth = |place: i64| if reverse { 399 - place } else { place };
        for gone in 0..300 {
            gateway.commit(&mut harness, vec![delete(nth(gone))]);
            answer_all(&mut harness, &mut gateway);
            assert_eq!(last(&seen), [1, 2, 3, 4].map(|behind| nth(gone + behind)));
            iolite_machine::Machine::validate(&harness.client);
        }
        assert!(seen.borrow().iter().all(|shown| shown.len() == 4), "it never shows too few");
        assert!(gateway.sent_rows <= 400, "{} rows were sent", gateway.sent_rows);
    }
}

#[test]
fn of_a_range_into_which_rows_come_no_more_than_twice_what_is_needed_is_held() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(40)));
    let seen = first_rows(&mut harness, KeyRange::all(), 4, true);
    answer_all(&mut harness, &mut gateway);
    let mut asked = 0;
    for id in 40..300 {
        gateway.commit(&mut harness, create(id, "ann", id));
        asked += answer_all(&mut harness, &mut gateway).len();
        assert_eq!(last(&seen), [id, id - 1, id - 2, id - 3]);
        assert!(stored(&harness).len() <= 2 * FOUR, "{} rows are held", stored(&harness).len());
        assert_eq!(gateway.subscribed.len(), 1, "what it was before is given up");
    }
    assert!(asked <= 260 / FOUR, "it was asked for anew {asked} times");
}

#[test]
fn between_the_first_rows_it_is_known_that_no_others_are_there() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&[(1, "ann", 1), (5, "ann", 5), (9, "ann", 9)]));
    let seen = first_rows(&mut harness, KeyRange::all(), 2, false);
    answer_all(&mut harness, &mut gateway);
    let absent = Rc::new(RefCell::new(Vec::new()));
    let log = absent.clone();
    harness.react(View::Confirmed, move |tx| {
        let row = tx.row(tasks(), &key(3))?;
        let rows = tx.range(tasks(), &between(2, 6), None, false)?;
        log.borrow_mut().push((row.is_some(), rows.len()));
        Ok(())
    });
    assert!(answer_all(&mut harness, &mut gateway).is_empty());
    gateway.commit(&mut harness, create(3, "ann", 3));
    assert_eq!((last(&seen), absent.take()), (vec![1, 3], vec![(false, 1), (true, 2)]));
}

/// A mutator that writes how many rows it saw.
fn counting(harness: &mut Harness, limit: usize) {
    harness.mutator("count", move |tx| {
        let rows = tx.range(tasks(), &KeyRange::all(), Some(limit), false)?;
        tx.write(cell(id_of(&rows[0].0), "stars"), Operation::Put(Value::Int(rows.len() as i64)))?;
        Ok(())
    });
}

/// The ranges that the first submitted mutation has read. (It has also read that the row is there to which it writes.)
fn ranges_read(harness: &mut Harness) -> Vec<KeyRange> {
    let submit = harness.take_submits().remove(0);
    let ranges = submit.reads.into_iter().filter_map(|read| match read {
        Read::Range { range, .. } => Some(range),
        Read::Cell { .. } | Read::Query(_) => None,
    });
    ranges.collect()
}

#[test]
fn a_mutation_has_read_up_to_the_last_row_and_no_farther() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(100)));
    counting(&mut harness, 4);
    harness.mutate("count");
    assert_eq!(gateway.answer(&mut harness), [first_of(&KeyRange::all(), FOUR, ASCENDING)]);
    let through = KeyRange { lower: Arc::from([]), ..KeyRange::one(&key(3)) };
    assert_eq!(ranges_read(&mut harness), [through]);
}

#[test]
fn rows_on_the_device_are_enough_for_a_mutation_without_a_connection() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(100)));
    first_rows(&mut harness, KeyRange::all(), 4, false);
    answer_all(&mut harness, &mut gateway);
    let mut harness = harness.reopened();
    counting(&mut harness, 12);
    harness.mutate("count");
    let seen = first_rows(&mut harness, KeyRange::all(), 4, false);
    assert_eq!(last(&seen), [0, 1, 2, 3]);
    harness.connect();
    let through = KeyRange { lower: Arc::from([]), ..KeyRange::one(&key(11)) };
    assert_eq!(ranges_read(&mut harness), [through]);
}

/// The cell was asked for before the range that has its row. A page that is loaded again without a network shows both.
#[test]
fn a_cell_that_was_asked_for_first_leaves_the_range_on_the_device() {
    let (mut harness, mut gateway) = (connected(), Gateway::with(&rows(3)));
    let look = |tx: &mut Transaction<'_>| tx.exists(tasks(), &key(1)).map(drop).map_err(stopped);
    harness.react(View::Optimistic, look);
    answer_all(&mut harness, &mut gateway);
    first_rows(&mut harness, KeyRange::all(), 4, false);
    answer_all(&mut harness, &mut gateway);
    let mut harness = harness.reopened();
    let seen = first_rows(&mut harness, KeyRange::all(), 4, false);
    assert_eq!(last(&seen), [0, 1, 2]);
}

#[test]
fn of_a_live_table_a_row_that_a_pending_operation_makes_is_shown_at_once() {
    let (mut harness, mut gateway) = (connected(), Gateway { now: 10, ..Gateway::default() });
    (10..60).for_each(|id| drop(gateway.written(vec![hit(id, 1)])));
    let limit = Rc::new(Setting::new(4));
    let seen = show(&mut harness, View::Optimistic, hits(0).table, KeyRange::all(), &limit, false);
    let asked = answer_all(&mut harness, &mut gateway);
    let query = Query::of_keys(hits(0).table, true, &KeyRange::all());
    let first = First { rows: FOUR as u32, direction: ASCENDING };
    assert_eq!(asked, [(Interest::Query(Arc::new(query)), Some(first))]);
    harness.mutator("hit", |tx| {
        tx.write(hits(5), Operation::Add(1))?;
        tx.range(hits(0).table, &KeyRange::all(), Some(1), false).map(drop).map_err(stopped)
    });
    harness.mutate("hit");
    assert!(answer_all(&mut harness, &mut gateway).is_empty(), "that it was not there is known");
    assert_eq!((last(&seen), harness.take_submits().len()), (vec![5, 10, 11, 12], 1));
    gateway.commit(&mut harness, vec![hit(4, 1)]);
    assert_eq!(last(&seen)[..3], [4, 5, 10]);
    iolite_machine::Machine::validate(&harness.client);
}
