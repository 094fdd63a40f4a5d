//! Texts: what everybody typed is there, once, in one piece; and everybody shows it.
//!
//! What is to be there follows from what apps were shown and did: what confirmed edits typed, without what confirmed edits removed. No character is typed twice, so
//! no name that the product gives to one is looked at. In which order all of it stands, the model says (`crate::app::Paper`), which puts units in order by
//! itself. What is typed before a character stands before it and behind all that stood there: so an insertion is in one piece but for what was typed inside
//! of it, which is before a character of it that is not its first, or before something that was typed inside of it.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{CellState, Text};

use super::{Commits, Invariant, Violation};
use crate::app::{Call, Model, PAGES, Typing, page};
use crate::history::History;
use crate::world::{PagesShown, World};

/// Of one history of the store, that ends in this state.
///
/// # Errors
/// A text that lacks what was typed, has more or has it twice, or in which an insertion is torn.
pub fn check(history: &History, commits: &Commits, end: &Model) -> Result<(), Violation> {
    (0..PAGES).try_for_each(|key| {
        let text = text_of(end, key);
        let typings = confirmed(history, commits, key);
        let wrong = others_than_typed(&typings, &text).or_else(|| torn(&typings, &text));
        wrong.map_or(Ok(()), |what| violated(format!("page {key} says {text:?}: {what}")))
    })
}

/// At rest.
///
/// # Errors
/// A client or a tab that shows another text than the store has, in the model's order.
pub fn check_shown(shown: &PagesShown, end: &Model) -> Result<(), Violation> {
    let other = shown.iter().find(|((_, _, key), text)| **text != text_of(end, *key));
    other.map_or(Ok(()), |((client, tab, key), text)| {
        violated(format!("{client:?} shows {text:?} of page {key} in tab {tab:?}, and not {:?}", text_of(end, *key)))
    })
}

/// At rest.
///
/// # Errors
/// A replica that has another text than the model, whatever the order of its units is.
pub fn check_stored(world: &World, end: &Model) -> Result<(), Violation> {
    (0..PAGES).try_for_each(|key| {
        let texts = super::rest::groups(world).into_values().map(|replicas| {
            let replica = replicas.first()?;
            let row = replica.versions().row(page(key).table, &page(key).row)?.latest();
            match row.cell(page(key).column) {
                Some(CellState::Text(text)) => Some(Text::clone(text)),
                Some(_) | None => None,
            }
        });
        let stored: Vec<Text> = texts.flatten().collect();
        is_stored(&stored, end, key)
    })
}

/// `stored`: what the shards have of a page, of which one does.
pub(super) fn is_stored(stored: &[Text], end: &Model, key: i64) -> Result<(), Violation> {
    let is_it = match (end.paper(&page(key)), stored) {
        (Some(paper), [text]) => paper.is_of(text),
        (None, []) => true,
        (Some(_) | None, _) => false,
    };
    if is_it {
        Ok(())
    } else {
        violated(format!("the store has {stored:?} of page {key}, and not {:?}", text_of(end, key)))
    }
}

fn violated<T>(what: String) -> Result<T, Violation> {
    Err(Violation::new(Invariant::Texts, what))
}

fn text_of(model: &Model, key: i64) -> String {
    model.paper(&page(key)).map(|paper| paper.string()).unwrap_or_default()
}

/// The edits of a page that took effect.
fn confirmed<'a>(history: &'a History, commits: &Commits, key: i64) -> Vec<&'a Typing> {
    let took_effect = commits.by_time.values().filter(|completed| completed.writes.is_some());
    let calls = took_effect.filter_map(|completed| history.calls.get(&completed.mutation?));
    let typings = calls.filter_map(|called| match &called.call {
        Call::Edit(typing) => Some(typing),
        _ => None,
    });
    typings.filter(|typing| typing.key == key).collect()
}

/// What is there and should not be, or is there twice, or is not there and should be.
fn others_than_typed(typings: &[&Typing], text: &str) -> Option<String> {
    let removed: BTreeSet<char> = typings.iter().flat_map(|typing| typing.removed.chars()).collect();
    let typed = typings.iter().flat_map(|typing| typing.typed.chars());
    let mut missing: BTreeSet<char> = typed.filter(|letter| !removed.contains(letter)).collect();
    // Found once, it is not missing any more.
    let more: Vec<char> = text.chars().filter(|letter| !missing.remove(letter)).collect();
    (!more.is_empty() || !missing.is_empty())
        .then(|| format!("{more:?} has no confirmed edit, or is there twice, or was removed; {missing:?} is missing"))
}

/// An insertion of which something is elsewhere, or that has something inside of it that was not typed there.
fn torn(typings: &[&Typing], text: &str) -> Option<String> {
    let text: Vec<char> = text.chars().collect();
    let places: BTreeMap<char, usize> = text.iter().enumerate().map(|(place, letter)| (*letter, place)).collect();
    let of = Origins::of(typings);
    typings.iter().enumerate().find_map(|(own, typing)| {
        let left: Vec<usize> = typing.typed.chars().filter_map(|letter| places.get(&letter).copied()).collect();
        if !left.is_sorted() {
            return Some(format!("{typing:?} is in another order"));
        }
        let between = left.windows(2).flat_map(|pair| &text[pair[0] + 1..pair[1]]);
        let stranger = between.into_iter().find(|letter| !of.is_inside(**letter, own, typings))?;
        Some(format!("{typing:?} has {stranger:?} inside of it"))
    })
}

/// Which edit typed a character, and as which of its own.
struct Origins(BTreeMap<char, (usize, usize)>);

impl Origins {
    fn of(typings: &[&Typing]) -> Origins {
        let letters = typings.iter().enumerate().flat_map(|(own, typing)| {
            typing.typed.chars().enumerate().map(move |(place, letter)| (letter, (own, place)))
        });
        Origins(letters.collect())
    }

    /// Whether a character was typed inside of an insertion.
    fn is_inside(&self, letter: char, whole: usize, typings: &[&Typing]) -> bool {
        let origin = |letter: char| self.0.get(&letter).copied();
        let mut at = origin(letter);
        // What something was typed before was there first, so this ends.
        while let Some((before, place)) = at.and_then(|(own, _)| typings[own].before).and_then(origin) {
            if before == whole {
                return place > 0;
            }
            at = Some((before, place));
        }
        false
    }
}
