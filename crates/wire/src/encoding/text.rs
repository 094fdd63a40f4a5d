//! Texts and their edits.
//!
//! Invariant: one edit, and one text, have one encoding: an author that can be left out is, and runs are as long as they can be.

use std::collections::BTreeMap;

use iolite_values::{Author, Edit, Insertion, MalformedEdit, Text, TextRun, Unit, UnitRange};

use crate::DecodeError;
use crate::generated::proto;

/// Numbers of a range, and of a run.
const OF_RANGE: usize = 3;
const OF_RUN: usize = 6;

pub(crate) fn write_edit(edit: &Edit) -> proto::TextEdit {
    let mut message = proto::TextEdit::default();
    let mut last = Author(0);
    if let Some(own) = &edit.inserted {
        last = own.first.author;
        message.text = own.text.to_string();
        message.number = own.first.number;
        (message.author, message.wide_author) = by_width(own.first.author.0);
        let (left, right) = (neighbour(own.left, last), neighbour(own.right, last));
        (message.left, message.right) = (left.1, right.1);
        (message.left_author, message.wide_left_author) = by_width(left.0);
        (message.right_author, message.wide_right_author) = by_width(right.0);
    }
    for range in &edit.removed {
        message.removed.extend([unless_same(range.author, last), range.from.into(), range.length.into()]);
        last = range.author;
    }
    message
}

pub(crate) fn read_edit(message: proto::TextEdit) -> Result<Edit, DecodeError> {
    let author = Author(of_width(message.author, message.wide_author)?);
    let left = read_neighbour(of_width(message.left_author, message.wide_left_author)?, message.left, author)?;
    let right = read_neighbour(of_width(message.right_author, message.wide_right_author)?, message.right, author)?;
    if message.text.is_empty() && (author, message.number, left, right) != (Author(0), 0, None, None) {
        return Err(DecodeError::malformed("a unit's place without a unit"));
    }
    let first = Unit::new(author, message.number);
    let inserted = (!message.text.is_empty()).then(|| Insertion { first, left, right, text: message.text.into() });
    let (ranges, rest) = message.removed.as_chunks::<OF_RANGE>();
    if !rest.is_empty() {
        return Err(DecodeError::malformed("a range of a text is three numbers"));
    }
    let mut last = author;
    let mut removed = Vec::with_capacity(ranges.len());
    for [author, from, length] in ranges {
        last = read_author(*author, last)?;
        removed.push(UnitRange { author: last, from: narrow(*from)?, length: narrow(*length)? });
    }
    let edit = Edit { inserted, removed };
    edit.check().map_err(malformed)?;
    Ok(edit)
}

pub(crate) fn write(text: &Text) -> proto::TextState {
    let mut message = proto::TextState::default();
    let mut last = Author(0);
    for (author, runs) in text.runs() {
        for run in runs {
            let (left_author, left) = neighbour(run.left, author);
            let (right_author, right) = neighbour(run.right, author);
            let length = u64::from(run.length) << 1 | u64::from(run.text.is_some());
            let (left, right) = (left.into(), right.into());
            message.runs.extend([unless_same(author, last), length, left_author, left, right_author, right]);
            message.text.push_str(run.text.as_deref().unwrap_or_default());
            last = author;
        }
    }
    message
}

pub(crate) fn read(message: proto::TextState) -> Result<Text, DecodeError> {
    let (numbers, rest) = message.runs.as_chunks::<OF_RUN>();
    if !rest.is_empty() {
        return Err(DecodeError::malformed("a run of a text is six numbers"));
    }
    let mut runs: BTreeMap<Author, Vec<TextRun>> = BTreeMap::new();
    let (mut last, mut from, mut remaining) = (Author(0), 0u32, message.text.as_str());
    for [author, length, left_author, left, right_author, right] in numbers {
        let author = read_author(*author, last)?;
        if author < last {
            return Err(DecodeError::malformed("a text's runs are in the order of their authors"));
        }
        from = if author == last { from } else { 0 };
        let (there, length) = (length & 1 == 1, narrow(length >> 1)?);
        let text = if there { Some(take_units(&mut remaining, length)?) } else { None };
        let left = read_neighbour(*left_author, narrow(*left)?, author)?;
        let right = read_neighbour(*right_author, narrow(*right)?, author)?;
        runs.entry(author).or_default().push(TextRun { from, length, left, right, text });
        (last, from) = (author, from.saturating_add(length));
    }
    if !remaining.is_empty() {
        return Err(DecodeError::malformed("a text has more characters than its runs"));
    }
    Text::from_runs(runs).map_err(malformed)
}

fn take_units(remaining: &mut &str, length: u32) -> Result<String, DecodeError> {
    let mut units = 0;
    let end = remaining.char_indices().find(|(_, character)| {
        let here = units;
        units += character.len_utf16() as u32;
        here >= length
    });
    let (own, rest) = remaining.split_at(end.map_or(remaining.len(), |(byte, _)| byte));
    *remaining = rest;
    Ok(own.to_owned())
}

fn neighbour(unit: Option<Unit>, of: Author) -> (u64, u32) {
    unit.map_or((0, 0), |unit| (unless_same(unit.author, of), unit.number + 1))
}

fn read_neighbour(author: u64, number: u32, of: Author) -> Result<Option<Unit>, DecodeError> {
    match (author, number.checked_sub(1)) {
        (0, None) => Ok(None),
        (_, None) => Err(DecodeError::malformed("an author of no unit")),
        (author, Some(number)) => Ok(Some(Unit::new(read_author(author, of)?, number))),
    }
}

fn unless_same(author: Author, other: Author) -> u64 {
    if author == other { 0 } else { author.0 }
}

fn read_author(author: u64, otherwise: Author) -> Result<Author, DecodeError> {
    match author {
        0 => Ok(otherwise),
        same if same == otherwise.0 => Err(DecodeError::malformed("an author that is left out where it is known")),
        other => Ok(Author(other)),
    }
}

/// An author in the narrow field, and in the wide one.
pub(super) fn by_width(author: u64) -> (u32, u64) {
    u32::try_from(author).map_or((0, author), |narrow| (narrow, 0))
}

fn of_width(narrow: u32, wide: u64) -> Result<u64, DecodeError> {
    match (narrow, wide) {
        (narrow, 0) => Ok(narrow.into()),
        (0, wide) if wide > u32::MAX.into() => Ok(wide),
        (_, _) => Err(DecodeError::malformed("an author in the field of wider ones")),
    }
}

fn narrow(number: u64) -> Result<u32, DecodeError> {
    u32::try_from(number).map_err(|_| malformed(MalformedEdit::Number))
}

fn malformed(error: MalformedEdit) -> DecodeError {
    DecodeError::malformed(error.message())
}
