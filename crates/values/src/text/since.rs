//! What a text has that an earlier one had not: as edits, which lead from one to the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::pair::byte_of;
use super::runs::Runs;
use super::{Author, Edit, Insertion, Run, Text, Unit, UnitRange};

impl Text {
    /// The edits that make the earlier text this one, in an order in which each fits. None if the earlier one has more than this one.
    pub fn since(&self, earlier: &Text) -> Option<Vec<Arc<Edit>>> {
        if Arc::ptr_eq(&self.folded, &earlier.folded) {
            let more = self.tail.iter().filter(|edit| !earlier.tail.contains(edit));
            let subset = earlier.tail.iter().all(|edit| self.tail.contains(edit));
            return subset.then(|| more.cloned().collect());
        }
        let (now, before) = (self.folded_whole(), earlier.folded_whole());
        let removed = removed_since(&now, &before)?;
        // First what was there before: what comes in may stand where a character was.
        let was = |range: &UnitRange| range.from < before.count(range.author);
        let (old, new): (Vec<_>, Vec<_>) = removed.into_iter().partition(was);
        let edits = [removal(old)].into_iter().flatten().chain(inserted_since(&now, &before));
        Some(edits.chain(removal(new)).collect())
    }

    /// The edits that lead to this text from an empty one, in an order in which each fits. What was removed has other characters in them.
    pub fn edits(&self) -> Vec<Arc<Edit>> {
        let now = self.folded_whole();
        let (mut removed, mut edits) = (Vec::new(), inserted_since(&now, &Runs::default()));
        for (author, own) in now.of() {
            own.iter()
                .filter(|run| run.text.is_none())
                .for_each(|run| note(&mut removed, *author, run.from, run.end()));
        }
        edits.extend(removal(removed));
        edits
    }
}

fn removal(removed: Vec<UnitRange>) -> Option<Arc<Edit>> {
    (!removed.is_empty()).then(|| Arc::new(Edit { inserted: None, removed }))
}

/// What stands for units that were removed since they were inserted.
const GONE: &str = "-";

fn inserted_since(now: &Runs, before: &Runs) -> Vec<Arc<Edit>> {
    let counts: BTreeMap<Author, u32> = now.of().keys().map(|author| (*author, before.count(*author))).collect();
    let fresh = now.in_order().into_iter().filter(|(author, run)| run.end() > counts[author]);
    fresh.flat_map(|(author, run)| insertions(author, run, counts[&author])).collect()
}

/// The units of a run from this number on, in edits that are not too long.
fn insertions(author: Author, run: &Run, from: u32) -> Vec<Arc<Edit>> {
    let mut at = run.from.max(from);
    let gone;
    let mut rest = match &run.text {
        Some(text) => &text[byte_of(text, at - run.from)..],
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

/// What is removed now and was not before. None if anything was there, or was removed, that is not so now.
fn removed_since(now: &Runs, before: &Runs) -> Option<Vec<UnitRange>> {
    let mut removed = Vec::new();
    if before.of().iter().any(|(author, _)| before.count(*author) > now.count(*author)) {
        return None;
    }
    for (author, own) in now.of() {
        let empty = Vec::new();
        let mut earlier = before.of().get(author).unwrap_or(&empty).iter().peekable();
        for run in own {
            let mut at = run.from;
            while at < run.end() {
                while earlier.next_if(|earlier| earlier.end() <= at).is_some() {}
                let (live, end) = match earlier.peek() {
                    Some(earlier) => (earlier.text.is_some(), earlier.end().min(run.end())),
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
                at = end;
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
