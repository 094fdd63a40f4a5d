//! Units in runs, each as long as it can be.
//!
//! Invariants: an author's runs follow each other without a gap; two that could be one are one, so that equal texts have equal runs; of what was
//! removed only the length is left.

use std::collections::BTreeMap;

use super::edit::length_of;
use super::pair::{byte_of, is_second_half, units_of};
use super::size::Size;
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
const RUN_BYTES: usize = 24;

impl Run {
    pub fn end(&self) -> u32 {
        self.from.saturating_add(self.length)
    }

    fn size_bytes(&self) -> usize {
        RUN_BYTES + self.text.as_ref().map_or(0, String::len)
    }

    fn continues(&self, author: Author, before: &Run) -> bool {
        self.from > 0
            && self.left == Some(Unit::new(author, self.from - 1))
            && self.right == before.right
            && self.text.is_some() == before.text.is_some()
    }

    /// Cuts off what is from this number on.
    fn split_off(&mut self, author: Author, at: u32) -> Run {
        let keep = at - self.from;
        let text = self.text.as_mut().map(|text| text.split_off(byte_of(text, keep)));
        let rest = Run {
            from: at,
            length: self.length - keep,
            left: Some(Unit::new(author, at - 1)),
            right: self.right,
            text,
        };
        self.length = keep;
        rest
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
                if !numbers || *author == Author::NOBODY || end > u64::from(Edit::UNITS_MAX) {
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
        let all = || runs.values().flatten();
        let size = Size { bytes: all().map(Run::size_bytes).sum(), parts: all().count() };
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

    pub(super) fn is_within_pair(&self, unit: Unit) -> bool {
        let own = self.runs.get(&unit.author).map_or(&[][..], Vec::as_slice);
        let run = &own.get(run_at(own, unit.number).wrapping_sub(1));
        let text = run.filter(|run| unit.number < run.end()).and_then(|run| Some((run.text.as_ref()?, run.from)));
        text.is_some_and(|(text, from)| is_second_half(text, unit.number - from))
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
        edit.removed.iter().for_each(|range| self.remove(range));
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
        let from = run.from;
        self.size.bytes += run.size_bytes();
        self.size.parts += 1;
        self.runs.entry(author).or_default().push(run);
        self.join(author, from);
    }

    pub(super) fn remove(&mut self, range: &UnitRange) {
        self.cut(range.author, range.from);
        self.cut(range.author, range.end());
        let Some(own) = self.runs.get_mut(&range.author) else { return };
        let first = run_at(own, range.from).saturating_sub(1);
        let inside = own[first..].iter_mut().take_while(|run| run.from < range.end());
        for run in inside {
            self.size.bytes -= run.text.take().map_or(0, |text| text.len());
        }
        let starts: Vec<u32> =
            own[first..].iter().map(|run| run.from).take_while(|from| *from <= range.end()).collect();
        starts.into_iter().rev().for_each(|from| self.join(range.author, from));
    }

    /// Makes a run begin at this number.
    fn cut(&mut self, author: Author, at: u32) {
        let Some(own) = self.runs.get_mut(&author) else { return };
        let place = run_at(own, at);
        let Some(run) = place.checked_sub(1).and_then(|before| own.get_mut(before)) else { return };
        if run.from < at && at < run.end() {
            let rest = run.split_off(author, at);
            own.insert(place, rest);
            self.size.bytes += RUN_BYTES;
            self.size.parts += 1;
        }
    }

    /// Makes the run that begins at this number one with the run before it, if they can be.
    fn join(&mut self, author: Author, from: u32) {
        let Some(own) = self.runs.get_mut(&author) else { return };
        let place = run_at(own, from).saturating_sub(1);
        if place == 0 || own[place].from != from || !own[place].continues(author, &own[place - 1]) {
            return;
        }
        let run = own.remove(place);
        own[place - 1].length += run.length;
        if let (Some(text), Some(more)) = (&mut own[place - 1].text, &run.text) {
            text.push_str(more);
        }
        self.size.bytes -= RUN_BYTES;
        self.size.parts -= 1;
    }
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

    /// What of an insertion is within.
    pub(super) fn insert(&self, runs: &mut Runs, own: &Insertion) {
        if own.first.author == self.0.author {
            self.push(runs, own.first.number, own.length(), (own.left, own.right), Some(&own.text));
        }
    }

    /// What of a removal is within.
    pub(super) fn remove(&self, runs: &mut Runs, own: &UnitRange) {
        let (from, end) = (own.from.max(self.0.from), own.end().min(self.0.end()));
        if own.author == self.0.author && from < end {
            runs.remove(&UnitRange { author: own.author, from, length: end - from });
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
