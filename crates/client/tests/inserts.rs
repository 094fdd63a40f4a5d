//! Rows that are created where it is not known whether there are any: at once, also without a connection, and right in the end.

mod harness;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use harness::{Harness, Stop, at, hits, key, note, note_row, notes, title_put, titled};
use iolite_client::{Content, MutationStatus, Pending, Question, RunError, RunOf, Transaction, View};
use iolite_values::{
    Attempt, Cell, CellState, ColumnId, Counter, Decision, Element, KeyRange, Operation, Read, Row, TableId, Test,
    Value, Write,
};
use iolite_wire::message::{Advance, Outcome, RowSnapshot, Verdict};

fn add(tx: &mut Transaction<'_>) -> Result<(), Stop> {
    match tx.insert(notes(), &key(1), titled("mine")) {
        Err(RunError::RowExists { .. }) => Err(Stop::Abort("there is one")),
        other => Ok(other?),
    }
}

fn adding() -> Harness {
    let mut harness = Harness::new();
    harness.mutator("add", add);
    harness
        .mutator("rename", |tx| Ok(tx.write(note(1, "title"), Operation::Put(Value::from("renamed")))?))
        .mutator("delete", |tx| Ok(tx.delete(notes(), &key(1))?));
    harness
}

/// The row was created at once, sent, and refused; the pause after that is over.
fn refused() -> (Harness, Counter) {
    let mut harness = adding();
    let add = harness.mutate("add");
    harness.connect();
    harness.take_submits();
    harness.decide(add, 1, 10, Vec::new(), Verdict::Conflict(at(9)));
    harness.pass(Duration::from_secs(1));
    (harness, add)
}

fn life() -> Cell {
    Cell::row(notes(), key(1))
}

fn created(title: &str) -> Vec<Write> {
    vec![Write { cell: life(), operation: Operation::Create }, title_put(1, title)]
}

/// The titles of note 1 that a reaction saw.
fn watch(harness: &mut Harness) -> Rc<RefCell<Vec<Option<String>>>> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.react(View::Optimistic, move |tx| {
        let title =
            tx.row(notes(), &key(1))?.and_then(|row| row.cell(ColumnId::of("title")).map(|it| format!("{it:?}")));
        log.borrow_mut().push(title);
        Ok(())
    });
    seen
}

fn shown(titles: &RefCell<Vec<Option<String>>>, title: &str) -> bool {
    titles.borrow().last().is_some_and(|last| last.as_ref().is_some_and(|last| last.contains(title)))
}

fn is_pending(harness: &Harness, counter: Counter) -> bool {
    matches!(
        harness.last_status(counter),
        MutationStatus::Pending(Pending { waits_for_data: false, would_reject: None, .. })
    )
}

#[test]
fn a_row_is_created_without_a_connection_and_read_changed_and_deleted_by_what_follows() {
    let mut harness = adding();
    let add = harness.mutate("add");
    let seen = watch(&mut harness);
    assert!(is_pending(&harness, add) && shown(&seen, "mine"), "{:?}", seen.borrow());
    let rename = harness.mutate("rename");
    assert!(is_pending(&harness, rename) && shown(&seen, "renamed"));
    let delete = harness.mutate("delete");
    assert!(is_pending(&harness, delete) && seen.borrow().last() == Some(&None));
    let again = harness.mutate("add");
    assert!(is_pending(&harness, again) && shown(&seen, "mine"), "it was deleted here");
}

#[test]
fn what_waited_for_the_row_without_a_connection_has_it_once_it_is_created() {
    let mut harness = adding();
    let seen = watch(&mut harness);
    assert!(seen.borrow().is_empty(), "nothing is known of it");
    harness.mutate("add");
    assert!(shown(&seen, "mine"), "{:?}", seen.borrow());
}

#[test]
fn what_is_created_a_second_time_would_be_rejected() {
    let mut harness = adding();
    harness.mutate("add");
    let second = harness.mutate("add");
    let status = harness.last_status(second);
    assert!(matches!(status, MutationStatus::Pending(Pending { would_reject: Some(_), .. })), "{status:?}");
}

#[test]
fn it_is_sent_without_a_read_and_confirmed() {
    let mut harness = adding();
    let add = harness.mutate("add");
    harness.connect();
    let submits = harness.take_submits();
    assert_eq!((submits[0].reads.len(), &submits[0].decision), (0, &Decision::Commit(created("mine"))));
    assert!(harness.take_subscribed(false).is_empty(), "nothing has to be fetched for it");
    harness.decide(add, 1, 20, Vec::new(), Verdict::Committed(at(20)));
    assert_eq!(*harness.last_status(add), MutationStatus::Confirmed { at: at(20) });
}

#[test]
fn whoever_reads_it_is_told_of_what_others_do_to_it_afterwards() {
    let mut harness = adding();
    let add = harness.mutate("add");
    let seen = watch(&mut harness);
    harness.connect();
    harness.load(10, &[]);
    harness.decide(add, 1, 20, created("mine"), Verdict::Committed(at(20)));
    harness.advance(Advance { to: at(30), changes: vec![title_put(1, "theirs")], ..Advance::default() });
    assert!(shown(&seen, "theirs"));
    let bare = |own: &Option<String>| own.is_none();
    assert!(!seen.borrow().iter().any(bare), "it never flickered: {:?}", seen.borrow());
}

#[test]
fn what_stands_on_it_is_sent_with_what_it_read_once_that_is_known() {
    let mut harness = adding();
    let (add, rename) = (harness.mutate("add"), harness.mutate("rename"));
    harness.connect();
    assert_eq!(harness.take_submits().len(), 1, "one at a time");
    harness.load(10, &[]);
    harness.decide(add, 1, 20, created("mine"), Verdict::Committed(at(20)));
    let submits = harness.take_submits();
    let read = Read::Cell { cell: life(), element: Element::Whole };
    assert_eq!((submits[0].counter, &submits[0].reads, submits[0].snapshot), (rename, &vec![read], at(20)));
}

#[test]
fn where_the_row_has_not_come_yet_what_stands_on_it_waits() {
    let mut harness = adding();
    let (add, rename) = (harness.mutate("add"), harness.mutate("rename"));
    harness.connect();
    harness.take_submits();
    harness.decide(add, 1, 20, Vec::new(), Verdict::Committed(at(20)));
    let status = harness.last_status(rename);
    assert!(matches!(status, MutationStatus::Pending(Pending { waits_for_data: true, .. })), "{status:?}");
    harness.load(20, &[(notes(), key(1), note_row("mine", 0))]);
    assert_eq!(harness.take_submits()[0].counter, rename);
}

#[test]
fn if_there_was_one_it_runs_again_where_that_is_known() {
    let (mut harness, add) = refused();
    let status = harness.last_status(add);
    assert!(matches!(status, MutationStatus::Pending(Pending { waits_for_data: true, .. })), "{status:?}");
    assert!(harness.take_submits().is_empty(), "it is not sent again as it was");
    harness.load(10, &[(notes(), key(1), note_row("theirs", 0))]);
    let submits = harness.take_submits();
    assert_eq!(submits[0].decision, Decision::Abort("there is one".into()));
    assert_eq!(submits[0].reads, [Read::Cell { cell: life(), element: Element::Whole }], "which is validated");
}

#[test]
fn if_there_is_none_any_more_it_is_sent_again_and_may_commit() {
    let (mut harness, _) = refused();
    harness.load(10, &[]);
    assert_eq!(harness.take_submits()[0].decision, Decision::Commit(created("mine")));
}

/// Somebody else's row comes by a query, while the creation waits for a connection that can send it.
#[test]
fn if_it_becomes_known_that_there_is_one_it_runs_again_at_once() {
    let tasks = TableId::of("tasks");
    let mut harness = Harness::new();
    harness.mutator("add", move |tx| match tx.insert(tasks, &key(1), owned("ann")) {
        Err(RunError::RowExists { .. }) => Err(Stop::Abort("there is one")),
        other => Ok(other?),
    });
    harness.connect();
    harness.stores = false;
    let add = harness.mutate("add");
    assert!(is_pending(&harness, add));
    harness.react(View::Optimistic, move |tx| {
        tx.range(tasks, &KeyRange::all(), None, false)?;
        Ok(())
    });
    let row = Row::from_parts(true, []);
    harness.load(10, &[(tasks, key(1), row)]);
    let status = harness.last_status(add);
    assert!(matches!(status, MutationStatus::Pending(Pending { would_reject: Some(_), .. })), "{status:?}");
}

fn owned(owner: &str) -> Content {
    [(ColumnId::of("owner"), vec![Operation::Put(Value::from(owner))])].into()
}

#[test]
fn many_that_were_made_offline_are_confirmed_one_after_the_other() {
    let made = Rc::new(RefCell::new(0));
    let mut harness = Harness::new();
    let next = made.clone();
    harness.mutator("add", move |tx| {
        *next.borrow_mut() += 1;
        let id = i64::try_from(tx.random() >> 8).expect("56 bits");
        Ok(tx.insert(notes(), &key(id), titled("mine"))?)
    });
    let count = 300;
    let counters: Vec<_> = (0..count).map(|_| harness.mutate("add")).collect();
    harness.connect();
    let mut sent_all = Vec::new();
    for (sent, counter) in counters.iter().enumerate() {
        sent_all.extend(harness.take_submits().into_iter().map(|submit| submit.counter));
        assert_eq!(sent_all, counters[..count.min(sent + 32)], "so many are sent ahead, in order");
        harness.decide(*counter, 1, 20 + sent as u64, Vec::new(), Verdict::Committed(at(20 + sent as u64)));
    }
    assert_eq!(*made.borrow(), count, "none ran twice");
}

/// The row is confirmed as it was foreseen, but what stood on it has to hold it by something else from then on.
#[test]
fn what_has_read_it_holds_it_by_the_query_that_brings_it() {
    stands_on_what_a_query_brings(|tx| {
        tx.exists(TableId::of("tasks"), &key(1))?;
        Ok(tx.write(hits(1), Operation::Add(1))?)
    });
}

#[test]
fn so_does_what_changes_it() {
    stands_on_what_a_query_brings(|tx| {
        let stars = Cell { table: TableId::of("tasks"), row: key(1), column: ColumnId::of("stars") };
        Ok(tx.write(stars, Operation::Put(Value::Int(1)))?)
    });
}

fn stands_on_what_a_query_brings(then: fn(&mut Transaction<'_>) -> Result<(), Stop>) {
    let tasks = TableId::of("tasks");
    let mut harness = Harness::new();
    harness.mutator("add", move |tx| Ok(tx.insert(tasks, &key(1), owned("ann"))?)).mutator("then", then);
    harness.connect();
    let of_ann = Question { conditions: vec![("owner".into(), Test::Equal("ann".into()))], ..Question::default() };
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.react(View::Optimistic, move |tx| {
        log.borrow_mut().push(tx.ask(tasks, &of_ann)?.len());
        Ok(())
    });
    harness.load(10, &[]);
    let (add, then) = (harness.mutate("add"), harness.mutate("then"));
    harness.take_submits();
    harness.runs.clear();
    let cells = [(ColumnId::of("owner"), CellState::Scalar(Value::from("ann")))];
    let row = RowSnapshot { table: tasks, key: key(1), row: Row::from_parts(true, cells) };
    let outcome = Outcome { counter: add, attempt: Attempt(1), verdict: Verdict::Committed(at(20)) };
    harness.advance(Advance { to: at(20), entered: vec![row], outcomes: vec![outcome], ..Advance::default() });
    let submits = harness.take_submits();
    assert_eq!((submits[0].counter, submits[0].reads.len()), (then, 1), "without waiting");
    assert_eq!(harness.runs_of(RunOf::Mutation(then)), 1, "or its read would rest on nothing that tells of changes");
    assert!(seen.borrow().iter().skip(1).all(|found| *found == 1), "{:?}", seen.borrow());
}
