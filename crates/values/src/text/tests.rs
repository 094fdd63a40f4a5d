//! Texts as sets of units.

use proptest::prelude::*;

use super::*;

fn typed(author: u64, number: u32, left: Option<(u64, u32)>, text: &str) -> Arc<Edit> {
    let unit = |(author, number)| Unit::new(Author(author), number);
    let inserted = Insertion { first: unit((author, number)), left: left.map(unit), right: None, text: text.into() };
    Arc::new(Edit { inserted: Some(inserted), removed: Vec::new() })
}

fn removal(author: u64, from: u32, length: u32) -> Arc<Edit> {
    Arc::new(Edit { inserted: None, removed: vec![UnitRange { author: Author(author), from, length }] })
}

fn after(edits: &[Arc<Edit>]) -> Text {
    edits.iter().fold(Text::default(), |mut text, edit| {
        text.apply(edit);
        text
    })
}

#[test]
fn what_is_typed_in_a_row_is_one_run_and_what_is_removed_leaves_its_length() {
    let mut text = Text::default();
    for number in 0..200 {
        text.apply(&typed(1, number, number.checked_sub(1).map(|left| (1, left)), "x"));
    }
    assert_eq!(text.runs()[&Author(1)].len(), 1);
    text.apply(&removal(1, 50, 100));
    text.apply(&removal(1, 10, 40));
    let runs = &text.runs()[&Author(1)];
    let lengths: Vec<(u32, bool)> = runs.iter().map(|run| (run.length, run.text.is_some())).collect();
    assert_eq!(lengths, [(10, true), (140, false), (50, true)]);
    text.apply(&removal(1, 0, 200));
    assert_eq!((text.runs()[&Author(1)].len(), text.count(Author(1))), (1, 200));
}

#[test]
fn an_edit_that_does_not_fit_changes_nothing() {
    let mut text = after(&[typed(1, 0, None, "ab\u{1fa91}")]);
    let before = text.clone();
    let cases = [
        (typed(1, 5, None, "x"), Unfit::Lacks),
        (typed(1, 3, None, "x"), Unfit::Taken),
        (typed(2, 0, Some((1, 4)), "x"), Unfit::Lacks),
        (typed(2, 0, Some((3, 0)), "x"), Unfit::Lacks),
        (typed(2, 0, Some((1, 2)), "x"), Unfit::Parts),
        (removal(1, 3, 1), Unfit::Parts),
        (removal(1, 0, 3), Unfit::Parts),
        (removal(1, 2, 3), Unfit::Lacks),
    ];
    for (edit, why) in cases {
        assert_eq!(text.check(&edit), Err(why), "{edit:?}");
        text.apply(&edit);
        assert_eq!(text, before);
    }
    text.apply(&removal(1, 2, 2));
    assert_eq!(text.check(&typed(2, 0, Some((1, 2)), "x")), Ok(()), "what is gone has no halves any more");
}

#[test]
fn an_edit_has_one_form() {
    let range = |author, from, length| UnitRange { author: Author(author), from, length };
    let ranges = |removed: Vec<UnitRange>| Edit { inserted: None, removed }.check();
    assert_eq!(ranges(vec![range(1, 0, 1), range(1, 2, 1), range(2, 0, 1)]), Ok(()));
    assert_eq!(ranges(Vec::new()), Err(MalformedEdit::Nothing));
    assert_eq!(ranges(vec![range(1, 0, 0)]), Err(MalformedEdit::Ranges));
    assert_eq!(ranges(vec![range(1, 0, 1), range(1, 1, 1)]), Err(MalformedEdit::Ranges), "they touch");
    assert_eq!(ranges(vec![range(2, 0, 1), range(1, 0, 1)]), Err(MalformedEdit::Ranges));
    assert_eq!(ranges(vec![range(0, 0, 1)]), Err(MalformedEdit::Number));
    assert_eq!(ranges(vec![range(1, Edit::UNITS_MAX, 1)]), Err(MalformedEdit::Number));
    assert_eq!(ranges(vec![range(1, u32::MAX, u32::MAX)]), Err(MalformedEdit::Number));
    assert_eq!(typed(1, 0, None, "").check(), Err(MalformedEdit::Nothing));
    assert_eq!(Edit::first("x").check(), Err(MalformedEdit::Number), "nobody inserts it yet");
    let most = "x".repeat(Edit::TEXT_BYTES_MAX);
    assert_eq!(typed(1, 0, None, &most).check(), Ok(()));
    assert_eq!(typed(1, 0, None, &(most + "x")).check(), Err(MalformedEdit::TooLong));
}

#[test]
fn runs_that_no_edits_lead_to_are_no_text() {
    let run =
        |from, length, left, text: Option<&str>| Run { from, length, left, right: None, text: text.map(str::to_owned) };
    let text = |runs: Vec<(u64, Vec<Run>)>| {
        Text::from_runs(runs.into_iter().map(|(author, runs)| (Author(author), runs)).collect()).map(drop)
    };
    let unit = |author, number| Some(Unit::new(Author(author), number));
    assert_eq!(text(vec![(1, vec![run(0, 2, None, Some("ab")), run(2, 1, unit(1, 0), None)])]), Ok(()));
    assert_eq!(text(vec![(1, vec![run(0, 1, None, Some("ab"))])]), Err(MalformedEdit::Number));
    assert_eq!(text(vec![(1, vec![run(1, 1, None, None)])]), Err(MalformedEdit::Number));
    assert_eq!(text(vec![(0, vec![run(0, 1, None, None)])]), Err(MalformedEdit::Number));
    assert_eq!(text(vec![(1, vec![run(0, 1, unit(2, 0), None)])]), Err(MalformedEdit::Neighbours));
    let one = vec![run(0, 1, None, Some("a")), run(1, 1, unit(1, 0), Some("b"))];
    assert_eq!(text(vec![(1, one)]), Err(MalformedEdit::Neighbours), "they are one run");
    let circle = vec![(1, vec![run(0, 1, unit(2, 0), None)]), (2, vec![run(0, 1, unit(1, 0), None)])];
    assert_eq!(text(circle), Err(MalformedEdit::Neighbours), "each stands on the other");
}

#[test]
fn a_text_longer_than_an_edit_may_be_is_made_again_in_parts() {
    let part = "\u{1fa91}y".repeat(Edit::TEXT_BYTES_MAX / 6);
    let length = length_of(&part);
    let text = after(&[typed(1, 0, None, &part), typed(1, length, Some((1, length - 1)), &part)]);
    let edits = text.edits();
    assert!(edits.len() > 1 && edits.iter().all(|edit| edit.check().is_ok()));
    assert_eq!(after(&edits), text);
}

#[test]
fn what_was_removed_is_made_and_removed_again_part_by_part() {
    let (part, mut text) = ("x".repeat(Edit::TEXT_BYTES_MAX), Text::default());
    let length = length_of(&part);
    for number in 0..5 {
        let first = number * length;
        text.apply(&typed(1, first, first.checked_sub(1).map(|left| (1, left)), &part));
        text.apply(&removal(1, first, length));
    }
    let mut made = Text::default();
    for edit in text.edits() {
        made.apply(&edit);
        assert!(made.size_bytes() <= text.size_bytes() + Edit::TEXT_BYTES_MAX + 24);
    }
    assert_eq!(made, text);
}

#[test]
fn a_text_with_other_units_under_the_same_names_did_not_grow_out_of_the_earlier_one() {
    let early = after(&[typed(1, 0, None, "ab\u{1fa91}"), typed(2, 0, Some((1, 0)), "c"), removal(2, 0, 1)]);
    let grown = |edits: &[Arc<Edit>]| after(edits).since(&early).is_some();
    let (first, second, removed) =
        (typed(1, 0, None, "ab\u{1fa91}d"), typed(2, 0, Some((1, 0)), "cd"), removal(2, 0, 1));
    assert!(grown(&[first.clone(), second.clone(), removed.clone()]));
    assert!(grown(&[first.clone(), second.clone(), removed.clone(), removal(1, 1, 3)]));
    assert!(!grown(&[typed(1, 0, None, "axxxx"), second.clone(), removed.clone()]), "other characters");
    assert!(!grown(&[typed(1, 0, None, "abx\u{1fa91}"), second, removed.clone()]), "parts of one");
    assert!(
        !grown(&[first.clone(), typed(2, 0, Some((1, 1)), "cd"), removed]),
        "other neighbours, of what was removed"
    );
    assert!(!grown(&[first, typed(2, 0, Some((1, 0)), "cd")]), "it is not removed");
}

#[test]
fn an_edit_that_removes_many_ranges_costs_what_it_is_long_and_not_its_square() {
    let count = 20_000;
    let every_other = |first: u32| {
        let range = |at| UnitRange { author: Author(1), from: first + 4 * at, length: 1 };
        Arc::new(Edit { inserted: None, removed: (0..count).map(range).collect() })
    };
    for (letters, gone) in [("abcd", true), ("abcd", false), ("a\u{1fa91}c", false)] {
        let mut text = after(&[typed(1, 0, None, &letters.repeat(count as usize))]);
        text.apply(&removal(1, 0, if gone { 4 * count } else { 1 }));
        let before = looks::so_far();
        for (number, first) in [0, 3, 0].into_iter().enumerate() {
            // So that there is a tail to look at.
            (0..20).for_each(|letter| text.apply(&typed(2 + number as u64, letter, None, "x")));
            let edit = every_other(first);
            assert_eq!(text.check(&edit), Ok(()));
            text.apply(&edit);
        }
        let looks = looks::so_far() - before;
        assert!(looks <= 3 * count as usize * 4 * Text::TAIL, "{looks} looks");
    }
}

#[test]
fn a_digest_tells_what_was_taken_back_and_typed_anew_and_costs_what_was_edited_since() {
    let mut text = Text::default();
    for number in 0..5_000 {
        text.apply(&typed(1, number, number.checked_sub(2).map(|left| (1, left)), "x"));
    }
    let (before, looks) = (text.digest(), looks::so_far());
    let with = |edit: &Arc<Edit>| {
        let mut text = text.clone();
        text.apply(edit);
        text.digest()
    };
    let (a, b, gone) = (typed(2, 0, None, "a"), typed(2, 0, None, "b"), removal(1, 7, 1));
    let all = [before, with(&a), with(&b), with(&gone), with(&removal(1, 8, 1))];
    assert!((1..5).all(|at| !all[..at].contains(&all[at])), "{all:?}");
    assert_eq!(with(&a), with(&a));
    assert!(looks::so_far() - looks < 500, "all of it was looked at again: {}", looks::so_far() - looks);
}

proptest! {
    /// Random edits, of which those that fit are applied: how many of them are folded in makes no difference, nor how many ranges go in one of them.
    #[test]
    fn what_a_text_is_does_not_depend_on_what_is_folded(
        steps in prop::collection::vec((1u64..4, any::<u32>(), any::<u32>(), (0u32..3, 1u32..20), "[a\u{1fa91}]{0,2}"), 1..200),
        at in any::<prop::sample::Index>(),
    ) {
        let (mut text, mut one_by_one, mut log) = (Text::default(), Text::default(), Vec::new());
        for (author, left, other, (removed, ranges), inserted) in steps {
            let from = Author(u64::from(other % 3) + 1);
            let length = removed.min(text.count(from));
            let start = left % (text.count(from) - length + 1);
            let places = (0..ranges).map(|place| start + place * (length + 1)).take_while(|at| length > 0 && at + length <= text.count(from));
            let removed: Vec<UnitRange> = places.map(|at| UnitRange { author: from, from: at, length }).collect();
            let beside = Author(u64::from(left % 3) + 1);
            let left = text.count(beside).checked_sub(1).map(|last| Unit::new(beside, other % (last + 1)));
            let first = Unit::new(Author(author), text.count(Author(author)));
            let inserted = (!inserted.is_empty()).then(|| Insertion { first, left, right: None, text: inserted.into() });
            let edit = Arc::new(Edit { inserted, removed });
            if edit.check().is_ok() && text.check(&edit).is_ok() {
                text.apply(&edit);
                one_by_one.apply(&Arc::new(Edit { inserted: edit.inserted.clone(), removed: Vec::new() }));
                edit.removed.iter().for_each(|range| one_by_one.apply(&removal(range.author.0, range.from, range.length)));
                log.push(edit);
            }
        }
        let folded = Text::from_runs(text.runs()).expect("edits lead to it");
        prop_assert_eq!(&folded, &text);
        prop_assert_eq!(&one_by_one, &text);
        prop_assert_eq!((text.size_bytes(), text.parts()), (folded.size_bytes(), folded.parts()));
        prop_assert_eq!(folded.size_bytes(), folded.runs().values().flatten().map(|run| 24 + run.text.as_ref().map_or(0, String::len)).sum::<usize>());
        prop_assert_eq!(after(&text.edits()), text.clone());
        let early = after(&log[..at.index(log.len() + 1)]);
        prop_assert_eq!(after(&log).digest(), text.digest());
        prop_assert!(early == text || early.digest() != text.digest());
        let since = text.since(&early).expect("it only grew");
        let mut caught_up = early;
        since.iter().for_each(|edit| caught_up.apply(edit));
        prop_assert_eq!(caught_up, text);
    }
}
