//! What a text has that an earlier one had not: as edits, which lead from one to the other.

use crate::map_of;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::pair::byte_of;
use super::runs::Runs;
use super::stretches::Stretches;
use super::{Author, Edit, Insertion, Run, Text, Unit, UnitRange};

impl Text {
    /// The edits that make the earlier text this one, in an order in which each fits. None if the earlier one has more than this one, of
    /// which an edit was taken back, or another unit under the name of one of these, as another history of a store has.
    pub fn since(&self, earlier: &Text) -> Option<Vec<Arc<Edit>>> {
        if Arc::ptr_eq(&self.folded, &earlier.folded) {
            let more = self.tail.iter().filter(|recent| !earlier.tail.contains(recent));
            let subset = earlier.tail.iter().all(|recent| self.tail.contains(recent));
            return subset.then(|| more.map(|recent| recent.edit.clone()).collect());
        }
        let (now, before) = (self.folded_whole(), earlier.folded_whole());
        let removed = removed_since(&now, &before)?;
        // First what was there before: what comes in may stand where a character was.
        let was = |range: &UnitRange| range.from < before.count(range.author);
        let (old, new): (Vec<_>, Vec<_>) = removed.into_iter().partition(was);
        let edits = [removal(old)].into_iter().flatten().chain(inserted_since(&now, &before));
        Some(edits.chain(removal(new)).collect())
    }

    /// The edits that lead to this text from an empty one, in an order in which each fits. What was removed has other characters in them, and is removed
    /// again by the very next edit: so the text is never larger on the way than in the end, but for one edit.
    pub fn edits(&self) -> Vec<Arc<Edit>> {
        let now = self.folded_whole();
        let mut edits = Vec::new();
        for (author, run) in now.in_order() {
            for edit in insertions(author, run, 0) {
                let gone = edit.inserted.iter().filter(|_| run.text.is_none());
                let gone = gone.map(|own| UnitRange { author, from: own.first.number, length: own.length() });
                let removed = removal(gone.collect());
                edits.push(edit);
                edits.extend(removed);
            }
        }
        edits
    }
}

fn removal(removed: Vec<UnitRange>) -> Option<Arc<Edit>> {
    (!removed.is_empty()).then(|| Arc::new(Edit { inserted: None, removed }))
}

/// What stands for units that were removed since they were inserted.
const GONE: &str = "-";

fn inserted_since(now: &Runs, before: &Runs) -> Vec<Arc<Edit>> {
    let counts: BTreeMap<Author, u32> = map_of(now.of().keys().map(|author| (*author, before.count(*author))));
    let fresh = now.in_order().into_iter().filter(|(author, run)| run.end() > counts[author]);
    fresh.flat_map(|(author, run)| insertions(author, run, counts[&author])).collect()
}

/// The units of a run from this number on, in edits that are not too long.
fn insertions(author: Author, run: &Run, from: u32) -> Vec<Arc<Edit>> {
    let mut at = run.from.max(from);
    let gone;
    let mut rest = match &run.text {
        Some(text) => &text[byte_of(text, run.length, at - run.from)..],
        None => {
            gone = GONE.repeat((run.end() - at) as usize);
            &gone
        }
    };
    let mut edits = Vec::new();
    while !rest.is_empty() {
        let most = (0..=rest.len().min(Edit::TEXT_BYTES_MAX)).rev().find(|at| rest.is_char_boundary(*at));
        let (part, more) = rest.split_at(most.unwrap_or(rest.len()));
        let left = if at > run.from { Some(Unit::new(author, at - 1)) } else { run.left };
        let inserted = Insertion { first: Unit::new(author, at), left, right: run.right, text: part.into() };
        at += inserted.length();
        rest = more;
        edits.push(Arc::new(Edit { inserted: Some(inserted), removed: Vec::new() }));
    }
    edits
}

/// What is removed now and was not before. None if anything was there, or was removed, that is not so now, or was another unit.
fn removed_since(now: &Runs, before: &Runs) -> Option<Vec<UnitRange>> {
    let mut removed = Vec::new();
    if before.of().iter().any(|(author, _)| before.count(*author) > now.count(*author)) {
        return None;
    }
    for (author, own) in now.of() {
        let empty = Vec::new();
        let earlier = before.of().get(author).unwrap_or(&empty).iter();
        let mut earlier = earlier.map(|run| Stretches::of(*author, run)).peekable();
        for run in own {
            let mut stretches = Stretches::of(*author, run);
            while stretches.at < run.end() {
                let at = stretches.at;
                while earlier.next_if(|earlier| earlier.run.end() <= at).is_some() {}
                let (live, end) = match earlier.peek_mut() {
                    Some(earlier) => {
                        let end = earlier.run.end().min(run.end());
                        if !stretches.are_as(earlier, end) {
                            return None;
                        }
                        (earlier.run.text.is_some(), end)
                    }
                    None => (true, run.end()),
                };
                match (live, run.text.is_some()) {
                    // What is new is apart from what was there.
                    (true, false) if at == before.count(*author) => {
                        removed.push(UnitRange { author: *author, from: at, length: end - at });
                    }
                    (true, false) => note(&mut removed, *author, at, end),
                    (false, true) => return None,
                    (true, true) | (false, false) => {}
                }
                stretches.at = end;
            }
        }
    }
    Some(removed)
}

/// Adds to ranges that are in order and apart.
fn note(ranges: &mut Vec<UnitRange>, author: Author, from: u32, end: u32) {
    match ranges.last_mut().filter(|last| last.author == author && last.end() == from) {
        Some(last) => last.length += end - from,
        None => ranges.push(UnitRange { author, from, length: end - from }),
    }
}
