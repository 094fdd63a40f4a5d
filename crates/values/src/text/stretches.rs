//! Parts of a run, from its begin to its end: each is reached from where the one before ended.

use super::pair::byte_of;
use super::{Author, Run, Unit};

/// Units of a run, one stretch after the other.
pub(super) struct Stretches<'a> {
    author: Author,
    pub run: &'a Run,
    pub at: u32,
    rest: Option<&'a str>,
}

impl<'a> Stretches<'a> {
    pub(super) fn of(author: Author, run: &'a Run) -> Stretches<'a> {
        Stretches { author, run, at: run.from, rest: run.text.as_deref() }
    }

    fn left(&self) -> Option<Unit> {
        if self.at == self.run.from { self.run.left } else { Some(Unit::new(self.author, self.at - 1)) }
    }

    /// What is there up to a number. Nothing, if it was removed.
    fn take(&mut self, end: u32) -> Option<&'a str> {
        let at = std::mem::replace(&mut self.at, end);
        let rest = self.rest?;
        let (part, rest) = rest.split_at(byte_of(rest, self.run.end() - at, end - at));
        self.rest = Some(rest);
        Some(part)
    }

    /// What is there up to a number, as a run. None if that is nothing.
    pub(super) fn take_run(&mut self, end: u32) -> Option<Run> {
        let (from, left, end) = (self.at, self.left(), end.min(self.run.end()));
        (from < end).then(|| {
            let text = self.take(end).map(str::to_owned);
            Run { from, length: end - from, left, right: self.run.right, text }
        })
    }

    /// Whether both have the same units up to a number, as far as they are known.
    pub(super) fn are_as(&mut self, other: &mut Stretches<'_>, end: u32) -> bool {
        let neighbours = self.left() == other.left() && self.run.right == other.run.right;
        let texts = [self.take(end), other.take(end)];
        neighbours && (texts[0] == texts[1] || texts.contains(&None))
    }
}
