//! Texts: each rule, with one thing that breaks it.

use std::sync::Arc;

use iolite_client::live_arguments;
use iolite_values::{Author, Edit, Insertion, Text, Unit, UnitRange};

use super::super::texts::{check_shown, is_stored};
use super::*;
use crate::app::{Typing, page};
use crate::world::PagesShown;

/// The author of all edits here.
const AUTHOR: Author = Author(7);

fn units(from: u32, length: u32) -> UnitRange {
    UnitRange { author: AUTHOR, from, length }
}

fn inserted(first: u32, (left, right): (Option<u32>, Option<u32>), text: &str) -> Edit {
    let unit = |number| Unit::new(AUTHOR, number);
    let own = Insertion { first: unit(first), left: left.map(unit), right: right.map(unit), text: text.into() };
    Edit { inserted: Some(own), removed: Vec::new() }
}

fn removed(range: UnitRange) -> Edit {
    Edit { inserted: None, removed: vec![range] }
}

fn write(edit: &Edit) -> Write {
    Write { cell: page(0), operation: Operation::Edit(edit.clone().into()) }
}

/// Somebody typed this before a character, removed that, and the client made this edit of it.
fn typing(typed: &str, before: Option<char>, removed: &str, edit: &Edit) -> Call {
    let arguments = live_arguments(&SchemaVersion::First.schema(), &[write(edit)]).expect("it fits");
    Call::Edit(Typing { key: 0, typed: typed.into(), removed: removed.into(), before, arguments })
}

/// They were all called, and committed in this order.
fn typed(calls: &[(Call, Edit)]) -> History {
    let mut history = history(&[]);
    for (place, (call, edit)) in calls.iter().enumerate() {
        let counter = place as u64 + 1;
        note_call(&mut history, counter, call);
        add_record(&mut history, store(1), issued(counter), Some(write(edit)), counter * 10);
    }
    history
}

fn note_call(history: &mut History, counter: u64, call: &Call) {
    history.calls.insert((CLIENT, Counter(counter)), Called { call: call.clone(), ..called(CalledAs::Named, 0) });
}

/// One edit, of which its app says this.
fn one(new: &str, gone: &str, edit: &Edit) -> Option<Invariant> {
    let abc = inserted(0, (None, None), "abc");
    let first = (typing("abc", None, "", &abc), abc);
    violated(&typed(&[first, (typing(new, None, gone, edit), edit.clone())]))
}

const FOUND: Option<Invariant> = Some(Invariant::Texts);

#[test]
fn what_was_typed_and_is_not_there_or_is_there_twice_or_was_not_typed_is_found() {
    let behind = |text| inserted(3, (Some(2), None), text);
    assert_eq!(one("xy", "", &behind("xy")), None);
    assert_eq!(one("xy", "", &behind("x")), FOUND, "y is missing");
    assert_eq!(one("x", "", &behind("xx")), FOUND, "x is there twice");
    assert_eq!(one("x", "", &behind("xy")), FOUND, "nobody typed y");
}

#[test]
fn what_was_removed_and_is_there_or_was_not_removed_and_is_not_is_found() {
    assert_eq!(one("", "bc", &removed(units(1, 2))), None);
    assert_eq!(one("", "bc", &removed(units(1, 1))), FOUND, "c is still there");
    assert_eq!(one("", "b", &removed(units(1, 2))), FOUND, "c is gone");
}

#[test]
fn a_refused_edit_that_is_there_all_the_same_is_found() {
    let (abc, x) = (inserted(0, (None, None), "abc"), inserted(3, (Some(2), None), "x"));
    let with = |edit: &Edit, how| {
        let mut history = typed(&[(typing("abc", None, "", edit), edit.clone())]);
        note_call(&mut history, 2, &typing("x", None, "", &x));
        end(&mut history, Some(store(1)), 2, how);
        violated(&history)
    };
    let refused = [EndedAs::Cancelled("taken back".into()), EndedAs::Quarantined("it is too much".into())];
    for how in refused {
        assert_eq!(with(&abc, how.clone()), None);
        assert_eq!(with(&inserted(0, (None, None), "abcx"), how), FOUND);
    }
}

#[test]
fn an_insertion_in_another_order_or_torn_by_what_was_not_typed_inside_of_it_is_found() {
    let abc = inserted(0, (None, None), "abc");
    let whole = |letters| (typing(letters, None, "", &abc), abc.clone());
    assert_eq!(violated(&typed(&[whole("abc")])), None);
    assert_eq!(violated(&typed(&[whole("bac")])), FOUND);
    let x = inserted(3, (Some(0), Some(1)), "x");
    let with_x = |before| violated(&typed(&[whole("abc"), (typing("x", before, "", &x), x.clone())]));
    assert_eq!(with_x(Some('b')), None);
    assert_eq!([Some('a'), None].map(with_x), [FOUND, FOUND]);
    let y = inserted(4, (Some(0), Some(3)), "y");
    let with_y = |before| {
        let x = (typing("x", Some('b'), "", &x), x.clone());
        violated(&typed(&[whole("abc"), x, (typing("y", before, "", &y), y.clone())]))
    };
    assert_eq!(with_y(Some('x')), None, "inside of what is inside");
    assert_eq!(with_y(Some('a')), FOUND);
}

#[test]
fn an_edit_that_takes_effect_without_what_it_stands_on_is_found() {
    let (a, b) = (inserted(0, (None, None), "a"), inserted(1, (Some(0), None), "b"));
    let [on_a, on_nothing] = [&[(typing("a", None, "", &a), a.clone())][..], &[]].map(|first| {
        let mut history = typed(first);
        note_call(&mut history, 2, &typing("b", None, "", &b));
        history
    });
    let commits = |mut history: History, write: Option<Write>| {
        history.stores.entry(store(1)).or_default();
        add_record(&mut history, store(1), issued(2), write, 50);
        violated(&history)
    };
    assert_eq!(commits(on_a, Some(write(&b))), None);
    assert_eq!(commits(on_nothing, Some(write(&b))), Some(Invariant::Serializability));
}

#[test]
fn an_edit_that_is_given_up_although_it_fits_is_found() {
    let (a, b) = (inserted(0, (None, None), "a"), inserted(1, (Some(0), None), "b"));
    let given_up = |first: &[(Call, Edit)]| {
        let mut history = typed(first);
        note_call(&mut history, 2, &typing("b", None, "", &b));
        add_record(&mut history, store(1), issued(2), None, 50);
        violated(&history)
    };
    assert_eq!(given_up(&[]), None);
    assert_eq!(given_up(&[(typing("a", None, "", &a), a.clone())]), Some(Invariant::Serializability));
}

#[test]
fn a_text_that_is_shown_otherwise_is_found_also_while_something_queries() {
    let a = inserted(0, (None, None), "a");
    let mut history = typed(&[(typing("a", None, "", &a), a.clone())]);
    note_call(&mut history, 2, &Call::Enqueue { key: 0, state: 0, rank: 0 });
    note_call(&mut history, 3, &Call::Try { key: 0 });
    let pending = [2, 3].map(|counter| PendingThen { counter: Counter(counter), durable: true, is_hidden: false });
    for (view, pending) in [(View::Confirmed, Vec::new()), (View::Optimistic, pending.to_vec())] {
        let seen = |text: &str| Sighting {
            watcher: Watcher::Page { key: 0 },
            text: text.into(),
            pending: pending.clone(),
            ..sighting(view, 10, 0)
        };
        history.sightings = vec![seen("a")];
        assert_eq!(violated(&history), None);
        history.sightings = vec![seen("")];
        assert_eq!(violated(&history), Some(Invariant::ReactiveSnapshot));
    }
}

/// What two edits leave.
fn ended() -> (Model, Text) {
    let edits = [inserted(0, (None, None), "ab"), removed(units(0, 1))];
    let (mut model, mut text) = (Model::default(), Text::default());
    for edit in &edits {
        model.apply(&[write(edit)]);
        text.apply(&Arc::new(edit.clone()));
    }
    (model, text)
}

#[test]
fn a_client_that_shows_another_text_at_rest_is_found() {
    let (model, _) = ended();
    let shown = |text: &str| {
        let shown: PagesShown = [((CLIENT, None, 0), text.to_owned()), ((CLIENT, None, 1), String::new())].into();
        check_shown(&shown, &model).err().map(|violation| violation.invariant)
    };
    assert_eq!(["b", "ab", ""].map(shown), [None, FOUND, FOUND]);
}

#[test]
fn a_store_that_has_another_text_at_rest_is_found() {
    let (model, text) = ended();
    let mut whole = Text::default();
    whole.apply(&Arc::new(inserted(0, (None, None), "ab")));
    let found = |stored: &[Text], key| is_stored(stored, &model, key).err().map(|violation| violation.invariant);
    assert_eq!([found(std::slice::from_ref(&text), 0), found(&[], 1)], [None, None]);
    assert_eq!(found(&[whole], 0), FOUND);
    assert_eq!([found(&[], 0), found(&[text.clone(), text.clone()], 0), found(&[text], 1)], [FOUND, FOUND, FOUND]);
}
