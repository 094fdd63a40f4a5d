//! Edits of texts: made at the call, replayed where they were made.

mod harness;

use std::cell::RefCell;
use std::rc::Rc;

use harness::{Harness, Stop, at, config, key};
use iolite_client::{Client, Config, Content, EditError, LIVE, MutationStatus, Splice, Transaction, View};
use iolite_values::{
    Author, Cell, ColumnId, Counter, Decision, Edit, Element, Insertion, Operation, Read, Row, TableId, Unit, Write,
};
use iolite_wire::message::{Advance, Submit, Verdict};

fn page() -> Cell {
    Cell { table: TableId::of("pages"), row: key(1), column: ColumnId::of("value") }
}

/// What others typed: units of author 9 behind those that it has already.
fn theirs(number: u32, left: Option<Unit>, right: Option<Unit>, text: &str) -> Write {
    let first = Unit::new(Author(9), number);
    let inserted = Some(Insertion { first, left, right, text: text.into() });
    Write { cell: page(), operation: Operation::Edit(Edit { inserted, removed: Vec::new() }.into()) }
}

/// What a text says in a view, each time that it changes.
fn watch_text(harness: &mut Harness, cell: Cell, view: View) -> Rc<RefCell<Vec<String>>> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.react(view, move |tx| {
        let text = tx.text(&cell)?;
        log.borrow_mut().push(text);
        Ok(())
    });
    seen
}

fn watch(harness: &mut Harness, view: View) -> Rc<RefCell<Vec<String>>> {
    watch_text(harness, page(), view)
}

fn opened() -> (Harness, Rc<RefCell<Vec<String>>>) {
    let mut harness = Harness::new();
    harness.connect();
    let seen = watch(&mut harness, View::Optimistic);
    harness.load(10, &[]);
    (harness, seen)
}

fn edit_text(harness: &mut Harness, cell: &Cell, splice: &Splice<'_>) -> Counter {
    let arguments = harness.client.live_edit(cell, splice).expect("it fits");
    harness.client.mutate(harness.now.wall, LIVE, &arguments).expect("there is room")
}

fn edit(harness: &mut Harness, at: u32, removed: u32, inserted: &str) -> Counter {
    edit_text(harness, &page(), &Splice { at, removed, inserted })
}

fn typed(harness: &mut Harness, at: u32, inserted: &str) -> Counter {
    let counter = edit(harness, at, 0, inserted);
    harness.settle();
    counter
}

fn edits(submit: &Submit) -> Vec<Edit> {
    let Decision::Commit(writes) = &submit.decision else { panic!("it commits") };
    let edit = |write: &Write| match &write.operation {
        Operation::Edit(edit) => (**edit).clone(),
        other => panic!("an edit, not {other:?}"),
    };
    writes.iter().map(edit).collect()
}

fn last(seen: &Rc<RefCell<Vec<String>>>) -> String {
    seen.borrow().last().cloned().unwrap_or_default()
}

#[test]
fn an_edit_stays_where_it_was_made_when_others_insert_before_it() {
    let (mut harness, seen) = opened();
    harness.advance(Advance { to: at(20), changes: vec![theirs(0, None, None, "the end")], ..Advance::default() });
    harness.disconnect();
    typed(&mut harness, 4, "happy ");
    assert_eq!(last(&seen), "the happy end");
    let first = Unit::new(Author(9), 0);
    harness.connect();
    let before = edits(&harness.take_submits()[0]);
    harness.disconnect();
    harness.connect();
    harness.advance(Advance { to: at(30), changes: vec![theirs(7, None, Some(first), "Now: ")], ..Advance::default() });
    assert_eq!(last(&seen), "Now: the happy end");
    assert_eq!(edits(&harness.take_submits()[0]), before, "it is the edit that was made at the call");
}

#[test]
fn it_claims_its_author_and_watches_nothing_else() {
    let (mut harness, _seen) = opened();
    typed(&mut harness, 0, "a");
    let submit = harness.take_submits().remove(0);
    let author = edits(&submit)[0].inserted.as_ref().expect("it inserts").first.author;
    assert_eq!(submit.reads, [Read::Cell { cell: page(), element: Element::Author(author) }]);
}

#[test]
fn two_calls_before_either_ran_stand_on_each_other() {
    let (mut harness, seen) = opened();
    edit(&mut harness, 0, 0, "a");
    edit(&mut harness, 1, 0, "b");
    assert_eq!(harness.client.live_text(&page()), Ok("ab".into()));
    harness.settle();
    assert_eq!(last(&seen), "ab");
}

#[test]
fn a_restart_replays_it_and_types_on_as_another_author() {
    let (mut harness, _seen) = opened();
    harness.disconnect();
    typed(&mut harness, 0, "ab");
    let mut harness = harness.reopened();
    harness.connect();
    let seen = watch(&mut harness, View::Optimistic);
    harness.load(20, &[]);
    assert_eq!(last(&seen), "ab");
    let first = harness.take_submits().remove(0);
    typed(&mut harness, 1, "-");
    assert_eq!(last(&seen), "a-b");
    let write = Write { cell: page(), operation: Operation::Edit(edits(&first)[0].clone().into()) };
    harness.decide(first.counter, first.attempt.0, 30, vec![write], Verdict::Committed(at(30)));
    let second = edits(&harness.take_submits()[0]);
    let author = |edit: &Edit| edit.inserted.as_ref().map(|own| own.first.author);
    assert_ne!(author(&second[0]), author(&edits(&first)[0]));
}

#[test]
fn one_that_stands_on_what_was_taken_back_is_refused_with_its_text() {
    let (mut harness, seen) = opened();
    harness.disconnect();
    let first = typed(&mut harness, 0, "a");
    let second = typed(&mut harness, 1, "b");
    assert!(harness.client.cancel(first));
    harness.settle();
    assert_eq!(last(&seen), "");
    let third = typed(&mut harness, 0, "c");
    assert_eq!(last(&seen), "c");
    harness.connect();
    let submits = harness.take_submits();
    let [submit, behind] = &submits[..] else { panic!("{submits:?}") };
    assert_eq!((submit.counter, matches!(submit.decision, Decision::Abort(_))), (second, true));
    harness.decide(second, submit.attempt.0, 30, vec![], Verdict::Aborted);
    assert!(
        matches!(harness.last_status(second), MutationStatus::Rejected { reason } if reason.contains("taken back"))
    );
    let kept = harness.client.refused().next().expect("it is kept");
    assert!(kept.counter == second && kept.arguments.contains(r#""text":"b""#));
    assert_eq!((behind.counter, behind.follows), (third, Some(second)));
}

#[test]
fn what_a_view_shows_is_the_text_of_that_view() {
    let (mut harness, optimistic) = opened();
    let confirmed = watch(&mut harness, View::Confirmed);
    typed(&mut harness, 0, "mine");
    harness.advance(Advance { to: at(20), changes: vec![theirs(0, None, None, "theirs")], ..Advance::default() });
    assert_eq!(last(&confirmed), "theirs");
    assert!(["minetheirs", "theirsmine"].contains(&last(&optimistic).as_str()));
}

#[test]
fn a_text_that_is_not_held_has_no_positions() {
    let mut harness = Harness::new();
    harness.connect();
    let splice = Splice { at: 0, removed: 0, inserted: "x" };
    assert_eq!(harness.client.live_edit(&page(), &splice), Err(EditError::NotHeld));
    let (mut harness, _seen) = opened();
    assert!(harness.client.live_edit(&page(), &Splice { at: 1, removed: 0, inserted: "x" }).is_err());
    let long = "x".repeat(Edit::TEXT_BYTES_MAX + 1);
    assert!(harness.client.live_edit(&page(), &Splice { at: 0, removed: 0, inserted: &long }).is_err());
    assert_eq!(harness.client.live_text(&page()), Ok(String::new()));
}

#[test]
fn a_removal_of_what_was_taken_back_is_refused_with_all_that_it_does() {
    let (mut harness, seen) = opened();
    harness.advance(Advance { to: at(20), changes: vec![theirs(0, None, None, "x")], ..Advance::default() });
    harness.disconnect();
    let first = typed(&mut harness, 1, "a");
    let second = edit(&mut harness, 0, 2, "");
    harness.settle();
    assert!(harness.client.cancel(first));
    harness.settle();
    assert_eq!(last(&seen), "x");
    harness.connect();
    let submit = harness.take_submits().remove(0);
    assert_eq!((submit.counter, matches!(submit.decision, Decision::Abort(_))), (second, true));
    let whole = Read::Cell { cell: page(), element: Element::Whole };
    assert_eq!(submit.reads, [whole], "that it does not fit is for the store to validate");
}

#[test]
fn an_edit_that_did_not_fit_is_made_once_what_it_stands_on_is_there() {
    let (mut harness, seen) = opened();
    harness.advance(Advance { to: at(20), changes: vec![theirs(0, None, None, "x")], ..Advance::default() });
    harness.disconnect();
    typed(&mut harness, 1, "y");
    harness.link();
    harness.welcome(2);
    harness.load(30, &[]);
    assert_eq!(last(&seen), "", "its left neighbour is of the other history");
    harness.advance(Advance { to: at(40), changes: vec![theirs(0, None, None, "x")], ..Advance::default() });
    assert_eq!(last(&seen), "xy", "its author sent it again");
}

#[test]
fn another_history_shows_its_own_units_where_they_have_the_same_names() {
    let (mut harness, seen) = opened();
    harness.advance(Advance { to: at(20), changes: vec![theirs(0, None, None, "old")], ..Advance::default() });
    assert_eq!(last(&seen), "old");
    harness.disconnect();
    harness.link();
    harness.welcome(2);
    let mut row = Row::default();
    row.apply(page().column, &theirs(0, None, None, "new").operation).expect("it is a text");
    harness.load(30, &[(page().table, page().row, row)]);
    assert_eq!(last(&seen), "new");
}

/// The text of a row that mutators create and delete.
fn draft() -> Cell {
    Cell { table: TableId::of("drafts"), row: key(1), column: ColumnId::of("body") }
}

fn inserts(at: u32, inserted: &str) -> Splice<'_> {
    Splice { at, removed: 0, inserted }
}

fn begin(tx: &mut Transaction<'_>) -> Result<(), Stop> {
    Ok(tx.insert(draft().table, &draft().row, Content::new())?)
}

fn delete(tx: &mut Transaction<'_>) -> Result<(), Stop> {
    Ok(tx.delete(draft().table, &draft().row)?)
}

fn drafting() -> (Harness, Rc<RefCell<Vec<String>>>) {
    let mut harness = Harness::new();
    harness.mutator("begin", begin).mutator("delete", delete);
    harness.mutate("begin");
    let seen = watch_text(&mut harness, draft(), View::Optimistic);
    (harness, seen)
}

#[test]
fn a_mutator_that_makes_the_row_of_a_text_anew_between_two_edits_runs_once() {
    let (mut harness, seen) = drafting();
    let runs = Rc::new(RefCell::new(0));
    let counted = runs.clone();
    harness.mutator("renew", move |tx| {
        *counted.borrow_mut() += 1;
        if *counted.borrow() > 9 {
            return Err(Stop::Fail("it runs again and again"));
        }
        tx.splice(&draft(), &inserts(0, "old"))?;
        delete(tx)?;
        begin(tx)?;
        Ok(tx.splice(&draft(), &inserts(0, "new"))?)
    });
    harness.mutate("renew");
    assert_eq!((*runs.borrow(), last(&seen).as_str()), (1, "new"));
    harness.mutate("renew");
    assert_eq!((*runs.borrow(), last(&seen).as_str()), (2, "new"), "there was an earlier text");
}

#[test]
fn a_text_in_a_row_that_is_pending_is_typed_into() {
    let (mut harness, seen) = drafting();
    assert_eq!(harness.client.live_text(&draft()), Ok(String::new()));
    edit_text(&mut harness, &draft(), &inserts(0, "a"));
    edit_text(&mut harness, &draft(), &inserts(1, "b"));
    harness.settle();
    assert_eq!(last(&seen), "ab");
    harness.mutate("delete");
    assert_eq!(harness.client.live_text(&draft()), Err(EditError::RowMissing));
}

/// Types into the draft, and says the name that the first unit was given.
fn name_of_typed(harness: &mut Harness, at: u32, inserted: &str) -> Unit {
    let arguments = harness.client.live_edit(&draft(), &inserts(at, inserted)).expect("it fits");
    harness.client.mutate(harness.now.wall, LIVE, &arguments).expect("there is room");
    harness.settle();
    let steps: serde_json::Value = serde_json::from_str(&arguments).expect("its own");
    let [Some(author), Some(number)] = [0, 1].map(|place| steps[0]["at"][place].as_u64()) else {
        panic!("{arguments}")
    };
    Unit::new(Author(author), number.try_into().expect("a unit's number"))
}

/// The first edit of a draft.
fn first_edit(harness: &mut Harness, inserted: &str) -> Operation {
    let first = name_of_typed(harness, 0, inserted);
    let inserted = Some(Insertion { first, left: None, right: None, text: inserted.into() });
    Operation::Edit(Edit { inserted, removed: Vec::new() }.into())
}

/// What one writer typed first in two lives of a draft.
fn two_lives() -> [Operation; 2] {
    let (mut writer, _seen) = drafting();
    let first = first_edit(&mut writer, "no");
    writer.mutate("delete");
    writer.mutate("begin");
    [first, first_edit(&mut writer, "yes, but")]
}

fn draft_of(edit: &Operation) -> [Write; 2] {
    let life = Write { cell: Cell::row(draft().table, draft().row), operation: Operation::Create };
    [life, Write { cell: draft(), operation: edit.clone() }]
}

/// A reader of the draft's first life, without a connection.
fn reading(edit: &Operation) -> (Harness, Rc<RefCell<Vec<String>>>) {
    let mut reader = Harness::new();
    reader.client =
        Client::open(Config { seed: 6, ..config("bob") }, Vec::new(), reader.now).expect("nothing is there");
    reader.connect();
    let seen = watch_text(&mut reader, draft(), View::Optimistic);
    reader.load(10, &[]);
    reader.advance(Advance { to: at(20), changes: draft_of(edit).into(), ..Advance::default() });
    reader.disconnect();
    (reader, seen)
}

#[test]
fn edits_of_an_earlier_life_of_a_row_are_refused_with_what_they_insert() {
    let [first, second] = two_lives();
    for edit in [Splice { at: 2, removed: 0, inserted: " way" }, Splice { at: 0, removed: 2, inserted: "" }] {
        let (mut reader, seen) = reading(&first);
        let counter = edit_text(&mut reader, &draft(), &edit);
        reader.settle();
        reader.link();
        reader.welcome(1);
        let end = Write { operation: Operation::Delete, ..draft_of(&first)[0].clone() };
        let changes = [vec![end], draft_of(&second).into()].concat();
        reader.advance(Advance { to: at(30), changes, ..Advance::default() });
        assert_eq!(last(&seen), "yes, but");
        let submit = reader.take_submits().remove(0);
        assert!(matches!(submit.decision, Decision::Abort(_)), "{:?}", submit.decision);
        reader.decide(counter, submit.attempt.0, 40, vec![], Verdict::Aborted);
        let kept = reader.client.refused().next().expect("it is kept");
        assert!(kept.counter == counter && kept.arguments.contains(edit.inserted));
    }
}

/// Another tab may have seen it, and typed on.
#[test]
fn what_is_typed_after_an_edit_was_taken_back_has_another_name() {
    let (mut harness, _seen) = drafting();
    let first = first_edit(&mut harness, "a");
    let pending: Vec<Counter> = harness.client.pending().map(|own| own.counter).collect();
    assert!(harness.client.cancel(pending[1]));
    harness.settle();
    let Operation::Edit(first) = first else { panic!("an edit, not {first:?}") };
    assert_ne!(Some(name_of_typed(&mut harness, 0, "b")), first.inserted.as_ref().map(|own| own.first));
}

/// A draft that a mutator has begun with a text, and what was typed on that.
fn from_a_template() -> (Harness, Rc<RefCell<Vec<String>>>) {
    let (mut harness, seen) = drafting();
    harness.mutator("hail", |tx| {
        // What it looks at, it runs again for.
        tx.text_length(&draft())?;
        Ok(tx.splice(&draft(), &inserts(0, "Dear "))?)
    });
    harness.mutate("hail");
    edit_text(&mut harness, &draft(), &inserts(5, "Ann"));
    harness.settle();
    assert_eq!(last(&seen), "Dear Ann");
    (harness, seen)
}

#[test]
fn what_was_typed_on_a_mutators_text_stays_when_the_mutator_runs_again() {
    let (mut harness, seen) = from_a_template();
    harness.connect();
    harness.load(10, &[]);
    let theirs = Write { cell: draft(), ..theirs(0, None, None, "PS") };
    let life = Write { cell: Cell::row(draft().table, draft().row), operation: Operation::Create };
    harness.advance(Advance { to: at(20), changes: vec![life, theirs], ..Advance::default() });
    assert!(last(&seen).contains("Dear Ann"), "{}", last(&seen));
}

#[test]
fn what_was_typed_on_a_mutators_text_is_refused_when_the_mutator_inserts_another_one() {
    let (mut harness, seen) = drafting();
    harness.connect();
    harness.load(10, &[]);
    harness.disconnect();
    harness.mutator("hail", |tx| {
        let name = if tx.text_length(&page())? == 0 { "Ann" } else { "Christopher" };
        Ok(tx.splice(&draft(), &inserts(0, &format!("Dear {name}")))?)
    });
    watch(&mut harness, View::Optimistic);
    harness.connect();
    harness.load(10, &[]);
    harness.mutate("hail");
    let removal = edit_text(&mut harness, &draft(), &Splice { at: 5, removed: 3, inserted: "" });
    harness.settle();
    assert_eq!(last(&seen), "Dear ");
    harness.advance(Advance { to: at(20), changes: vec![theirs(0, None, None, "x")], ..Advance::default() });
    assert_eq!(last(&seen), "Dear Christopher", "not what is left of it without its first letters");
    assert!(matches!(harness.last_status(removal), MutationStatus::Pending(_)), "the store is to say so");
}

#[test]
fn what_was_typed_on_a_mutators_text_stays_after_a_restart() {
    let (harness, _seen) = from_a_template();
    let mut harness = harness.reopened();
    harness.settle();
    let seen = watch_text(&mut harness, draft(), View::Optimistic);
    assert_eq!(last(&seen), "Dear Ann");
}

/// More texts than there are documents.
fn many_drafts() -> impl Iterator<Item = Cell> {
    (1..=30).map(|number| Cell { row: key(number), ..draft() })
}

#[test]
fn what_is_typed_beside_many_texts_on_a_screen_is_one_run() {
    let mut harness = Harness::new();
    harness
        .mutator("begin", |tx| many_drafts().try_for_each(|own| Ok(tx.insert(own.table, &own.row, Content::new())?)));
    harness.mutate("begin");
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    harness.react(View::Optimistic, move |tx| {
        let texts = many_drafts().map(|own| tx.text(&own)).collect::<Result<Vec<String>, _>>()?;
        log.borrow_mut().push(texts.concat());
        Ok(())
    });
    let letters = (0..).zip(["a", "b", "c", "d"]);
    let names: Vec<Unit> = letters.map(|(at, letter)| name_of_typed(&mut harness, at, letter)).collect();
    assert_eq!(last(&seen), "abcd");
    assert_eq!(names, (0..4).map(|number| Unit::new(names[0].author, number)).collect::<Vec<_>>());
}
