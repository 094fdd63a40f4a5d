//! Units in runs, each as long as it can be.
//!
//! Invariants: an author's runs follow each other without a gap; two that could be one are one, so that equal texts have equal runs; of what was
//! removed only the length is left.

use std::collections::BTreeMap;

use super::edit::length_of;
use super::pair::units_of;
use super::recent::Recent;
use super::size::Size;
use super::stretches::Stretches;
use super::{Author, Edit, Insertion, MalformedEdit, Unit, UnitRange};

/// Units of one author, each inserted behind the one before it, all before the same right neighbour.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Run {
    /// The number of its first unit.
    pub from: u32,
    pub length: u32,
    /// The left neighbour of its first unit.
    pub left: Option<Unit>,
    /// The right neighbour of each.
    pub right: Option<Unit>,
    /// None: they were removed.
    pub text: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Runs {
    runs: BTreeMap<Author, Vec<Run>>,
    size: Size,
}

/// What a run takes beside its text.
pub(super) const RUN_BYTES: usize = 24;

impl Run {
    pub fn end(&self) -> u32 {
        self.from.saturating_add(self.length)
    }

    pub(super) fn size_bytes(&self) -> usize {
        RUN_BYTES + self.text.as_ref().map_or(0, String::len)
    }

    fn continues(&self, author: Author, before: &Run) -> bool {
        self.from > 0
            && self.left == Some(Unit::new(author, self.from - 1))
            && self.right == before.right
            && self.text.is_some() == before.text.is_some()
    }
}

impl Runs {
    /// # Errors
    /// [`MalformedEdit`]: gaps, lengths that are not those of the texts, neighbours that are not there, runs that should be one.
    pub(super) fn from_parts(runs: BTreeMap<Author, Vec<Run>>) -> Result<Runs, MalformedEdit> {
        let count = |author: Author| runs.get(&author).and_then(|own| own.last()).map_or(0, Run::end);
        for (author, own) in &runs {
            let mut expected = 0;
            for (place, run) in own.iter().enumerate() {
                let length = run.text.as_ref().map_or(run.length, |text| length_of(text));
                let end = u64::from(run.from) + u64::from(run.length);
                let numbers = run.from == expected && run.length == length && length > 0;
                if !numbers || !author.is_one() || end > u64::from(Edit::UNITS_MAX) {
                    return Err(MalformedEdit::Number);
                }
                expected = run.end();
                let held = |unit: Option<Unit>| unit.is_none_or(|unit| unit.number < count(unit.author));
                let one = place > 0 && run.continues(*author, &own[place - 1]);
                if !held(run.left) || !held(run.right) || one {
                    return Err(MalformedEdit::Neighbours);
                }
            }
            if own.is_empty() {
                return Err(MalformedEdit::Nothing);
            }
        }
        let size = runs.values().fold(Size::default(), |size, own| size.with(Size::default(), Size::of(own)));
        let runs = Runs { runs, size };
        if runs.in_order().len() == size.parts { Ok(runs) } else { Err(MalformedEdit::Neighbours) }
    }

    pub(super) fn into_parts(self) -> BTreeMap<Author, Vec<Run>> {
        self.runs
    }

    pub(super) fn of(&self) -> &BTreeMap<Author, Vec<Run>> {
        &self.runs
    }

    pub(super) fn count(&self, author: Author) -> u32 {
        self.runs.get(&author).and_then(|own| own.last()).map_or(0, Run::end)
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// The units of the run that a unit is in, and what they say, if it is there.
    pub(super) fn text_at(&self, unit: Unit) -> Option<(UnitRange, &str)> {
        let own = self.runs.get(&unit.author)?;
        let run = own.get(run_at(own, unit.number).checked_sub(1)?).filter(|run| unit.number < run.end())?;
        let Run { from, length, .. } = *run;
        Some((UnitRange { author: unit.author, from, length }, run.text.as_deref()?))
    }

    /// Runs with their authors, each behind those that hold its neighbours. Fewer than all if some stand on each other, which no edits lead to.
    pub(super) fn in_order(&self) -> Vec<(Author, &Run)> {
        let mut ordered = Vec::with_capacity(self.size.parts);
        let mut done: BTreeMap<Author, (usize, u32)> = BTreeMap::new();
        let mut waiting: BTreeMap<Unit, Vec<Author>> = BTreeMap::new();
        let mut going: Vec<Author> = self.runs.keys().rev().copied().collect();
        while let Some(author) = going.pop() {
            let (mut next, mut end) = done.get(&author).copied().unwrap_or_default();
            let first = end;
            while let Some(run) = self.runs.get(&author).and_then(|own| own.get(next)) {
                let reached = |other| if other == author { end } else { done.get(&other).map_or(0, |done| done.1) };
                if let Some(missing) =
                    [run.left, run.right].into_iter().flatten().find(|own| own.number >= reached(own.author))
                {
                    waiting.entry(missing).or_default().push(author);
                    break;
                }
                ordered.push((author, run));
                (next, end) = (next + 1, run.end());
            }
            done.insert(author, (next, end));
            let reached: Vec<Unit> =
                waiting.range(Unit::new(author, first)..Unit::new(author, end)).map(|(unit, _)| *unit).collect();
            going.extend(reached.iter().filter_map(|unit| waiting.remove(unit)).flatten());
        }
        ordered
    }

    /// Applies an edit that fits.
    pub(super) fn apply(&mut self, edit: &Edit) {
        edit.inserted.iter().for_each(|own| self.insert(own));
        edit.removed.chunk_by(|one, next| one.author == next.author).for_each(|ranges| self.remove(ranges));
    }

    pub(super) fn insert(&mut self, own: &Insertion) {
        let Insertion { first, left, right, text } = own;
        let (left, right) = (*left, *right);
        self.push(
            first.author,
            Run { from: first.number, length: own.length(), left, right, text: Some(text.to_string()) },
        );
    }

    fn push(&mut self, author: Author, run: Run) {
        let own = self.runs.entry(author).or_default();
        let last = own.len().saturating_sub(1);
        let before = Size::of(&own[last..]);
        append(own, author, run);
        self.size = self.size.with(before, Size::of(&own[last..]));
    }

    /// Removes units of one author: ranges in order and apart. The runs that they are in are gone through once, however many ranges there are.
    pub(super) fn remove(&mut self, ranges: &[UnitRange]) {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return };
        let Some(own) = self.runs.get_mut(&first.author) else { return };
        // With a run before and one behind, which may become one with them.
        let places = run_at(own, first.from).saturating_sub(2)..run_at(own, last.end());
        let before = Size::of(&own[places.clone()]);
        let mut made = Vec::with_capacity(places.len() + 2 * ranges.len());
        for run in own.drain(places.clone()) {
            append_without(&mut made, first.author, run, ranges);
        }
        #[cfg(test)]
        super::looks::count(places.len() + made.len());
        self.size = self.size.with(before, Size::of(&made));
        own.splice(places.start..places.start, made);
    }
}

/// Adds a run behind others, as one with the last of them if they can be one.
fn append(runs: &mut Vec<Run>, author: Author, run: Run) {
    let Some(last) = runs.last_mut().filter(|last| run.continues(author, last)) else { return runs.push(run) };
    last.length += run.length;
    if let (Some(text), Some(more)) = (&mut last.text, &run.text) {
        text.push_str(more);
    }
}

/// Likewise, without the units of these ranges, which are in order and apart.
fn append_without(runs: &mut Vec<Run>, author: Author, run: Run, ranges: &[UnitRange]) {
    let first = ranges.partition_point(|range| range.end() <= run.from);
    let mut inside = ranges[first..].iter().take_while(|range| range.from < run.end()).peekable();
    if run.text.is_none() || inside.peek().is_none() {
        return append(runs, author, run);
    }
    let mut stretches = Stretches::of(author, &run);
    for range in inside {
        let kept = stretches.take_run(range.from);
        let gone = stretches.take_run(range.end()).map(|gone| Run { text: None, ..gone });
        kept.into_iter().chain(gone).for_each(|part| append(runs, author, part));
    }
    stretches.take_run(run.end()).into_iter().for_each(|part| append(runs, author, part));
}

/// Units of one author, looked at without the rest of their text.
pub(super) struct Window(pub UnitRange);

impl Window {
    pub(super) fn of(&self, whole: &Runs) -> Runs {
        let mut runs = Runs::default();
        let own = whole.runs.get(&self.0.author).map_or(&[][..], Vec::as_slice);
        let first = run_at(own, self.0.from).saturating_sub(1);
        for run in own[first..].iter().take_while(|run| run.from < self.0.end()) {
            self.push(&mut runs, run.from, run.length, (run.left, run.right), run.text.as_deref());
        }
        runs
    }

    /// What of an edit's insertion is within.
    pub(super) fn insert(&self, runs: &mut Runs, recent: &Recent) {
        if let Some((units, own)) = recent.inserted().filter(|(units, _)| units.author == self.0.author) {
            self.push(runs, units.from, units.length, (own.left, own.right), Some(&own.text));
        }
    }

    /// What of a removal is within.
    pub(super) fn remove(&self, runs: &mut Runs, own: &UnitRange) {
        let (from, end) = (own.from.max(self.0.from), own.end().min(self.0.end()));
        if own.author == self.0.author && from < end {
            runs.remove(&[UnitRange { author: own.author, from, length: end - from }]);
        }
    }

    fn push(
        &self,
        runs: &mut Runs,
        first: u32,
        length: u32,
        (left, right): (Option<Unit>, Option<Unit>),
        text: Option<&str>,
    ) {
        let (from, end) = (first.max(self.0.from), first.saturating_add(length).min(self.0.end()));
        if from >= end {
            return;
        }
        let left = if from == first { left } else { Some(Unit::new(self.0.author, from - 1)) };
        let text = text.map(|text| units_of(text, length, from - first..end - first));
        runs.push(self.0.author, Run { from, length: end - from, left, right, text });
    }
}

/// The place behind the run that holds this number.
fn run_at(own: &[Run], number: u32) -> usize {
    own.partition_point(|run| run.from <= number)
}
