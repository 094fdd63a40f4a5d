//! Where a text must not be cut: between the two units of one character outside of Unicode's first plane.
//!
//! Invariant: the answer is that of the text, not of how much of it is folded. Of a character that was removed nothing is known any more, and it may be cut.

use std::ops::Range;
use std::str::Chars;

use super::recent::Recent;
use super::{Text, Unit};

impl Text {
    /// Whether a unit is the second half of a character that is still there.
    pub(super) fn is_within_pair<'a>(&'a self, unit: Unit, halves: &mut Halves<'a>) -> bool {
        #[cfg(test)]
        super::looks::count(self.tail_parts());
        let mut removed = self.tail.iter().flat_map(|recent| &recent.edit.removed);
        if unit.number == 0 || removed.any(|range| range.contains(unit)) {
            return false;
        }
        let in_tail = self.tail.iter().filter_map(Recent::inserted);
        let own = in_tail.filter(|(units, _)| units.author == unit.author && units.from <= unit.number);
        let own = own.max_by_key(|(units, _)| units.from).map(|(units, own)| (units, &*own.text));
        own.or_else(|| self.folded.runs.text_at(unit))
            .is_some_and(|(units, text)| halves.is_second(text, units.length, unit.number - units.from))
    }
}

/// Tells second halves of characters. Of units that are asked for in their order no text is gone through twice.
pub(super) struct Halves<'a> {
    text: &'a str,
    rest: Chars<'a>,
    /// The unit with which the rest begins.
    at: u32,
}

impl Default for Halves<'_> {
    fn default() -> Self {
        Halves { text: "", rest: "".chars(), at: 0 }
    }
}

impl<'a> Halves<'a> {
    /// Whether the unit at this place of a text that has so many is the second half of a character.
    fn is_second(&mut self, text: &'a str, length: u32, unit: u32) -> bool {
        // As many units as bytes: each is both.
        if length as usize == text.len() {
            return false;
        }
        if !std::ptr::eq(self.text, text) || unit < self.at {
            *self = Halves { text, rest: text.chars(), at: 0 };
        }
        while self.at < unit {
            let Some(character) = self.rest.next() else { return false };
            self.at += character.len_utf16() as u32;
            #[cfg(test)]
            super::looks::count(1);
        }
        self.at > unit
    }
}

/// The byte at which a unit begins, of a text that has so many.
pub(super) fn byte_of(text: &str, length: u32, at: u32) -> usize {
    if length as usize == text.len() {
        return (at as usize).min(text.len());
    }
    let mut units = 0;
    for (byte, character) in text.char_indices() {
        if units >= at {
            return byte;
        }
        units += character.len_utf16() as u32;
    }
    text.len()
}

/// Some units of a text that has so many: of a character that the range parts a half is there, as a character of its own.
pub(super) fn units_of(text: &str, length: u32, units: Range<u32>) -> String {
    // As many units as bytes: each is both.
    if length as usize == text.len() {
        return text[units.start as usize..units.end as usize].to_owned();
    }
    let (mut part, mut at) = (String::new(), 0);
    for character in text.chars() {
        let end = at + character.len_utf16() as u32;
        if at >= units.end {
            break;
        }
        if end > units.start {
            let is_whole = units.start <= at && end <= units.end;
            part.push(if is_whole { character } else { HALF });
        }
        at = end;
    }
    part
}

/// What stands for half a character.
const HALF: char = '-';
