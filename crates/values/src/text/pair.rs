//! Where a text must not be cut: between the two units of one character outside of Unicode's first plane.
//!
//! Invariant: the answer is that of the text, not of how much of it is folded. Of a character that was removed nothing is known any more, and it may be cut.

use std::ops::Range;

use super::{Text, Unit};

impl Text {
    /// Whether a unit is the second half of a character that is still there.
    pub(super) fn is_within_pair(&self, unit: Unit) -> bool {
        if unit.number == 0 || self.tail.iter().flat_map(|edit| &edit.removed).any(|range| range.contains(unit)) {
            return false;
        }
        let in_tail = self.tail.iter().filter_map(|edit| edit.inserted.as_ref());
        let own = in_tail.filter(|own| own.first.author == unit.author && own.first.number <= unit.number);
        match own.max_by_key(|own| own.first.number) {
            Some(own) => is_second_half(&own.text, unit.number - own.first.number),
            None => self.folded.is_within_pair(unit),
        }
    }
}

/// Whether the unit at this place is the second half of a character.
pub(super) fn is_second_half(text: &str, at: u32) -> bool {
    if text.is_ascii() {
        return false;
    }
    text.encode_utf16().nth(at as usize).is_some_and(|unit| (0xDC00..0xE000).contains(&unit))
}

/// The byte at which this unit begins.
pub(super) fn byte_of(text: &str, at: u32) -> usize {
    if text.is_ascii() {
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
