//! Edits as updates of Yjs (its first encoding), which is how the library below takes and gives them.
//!
//! Invariant: what is written here is what the library can read, because the edit was checked; what is read here the library wrote itself.

use iolite_values::{Author, Edit, Insertion, Unit, UnitRange};

/// The one text of a document.
pub(crate) const NAME: &str = "";

const STRING: u8 = 4;
const HAS_LEFT: u8 = 0x80;
const HAS_RIGHT: u8 = 0x40;

pub(crate) fn update_of(edit: &Edit) -> Vec<u8> {
    let mut bytes = Vec::new();
    match &edit.inserted {
        None => number(&mut bytes, 0),
        Some(own) => {
            [1, 1, own.first.author.0, own.first.number.into()].iter().for_each(|part| number(&mut bytes, *part));
            item(&mut bytes, own);
        }
    }
    removed(&mut bytes, &edit.removed);
    bytes
}

fn item(bytes: &mut Vec<u8>, own: &Insertion) {
    let left = if own.left.is_some() { HAS_LEFT } else { 0 };
    let right = if own.right.is_some() { HAS_RIGHT } else { 0 };
    bytes.push(STRING | left | right);
    for unit in [own.left, own.right].into_iter().flatten() {
        number(bytes, unit.author.0);
        number(bytes, unit.number.into());
    }
    if left | right == 0 {
        number(bytes, 1);
        string(bytes, NAME);
    }
    string(bytes, &own.text);
}

fn removed(bytes: &mut Vec<u8>, ranges: &[UnitRange]) {
    let by_author: Vec<&[UnitRange]> = ranges.chunk_by(|a, b| a.author == b.author).collect();
    number(bytes, by_author.len() as u64);
    for own in by_author {
        number(bytes, own[0].author.0);
        number(bytes, own.len() as u64);
        for range in own {
            number(bytes, range.from.into());
            number(bytes, range.length.into());
        }
    }
}

fn number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn string(bytes: &mut Vec<u8>, text: &str) {
    number(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

/// The edit of an update that inserts one string at most. None: it is no such update.
pub(crate) fn edit_of(update: &[u8]) -> Option<Edit> {
    let mut from = From(update);
    let inserted = match from.number()? {
        0 => None,
        1 if from.number()? == 1 => {
            let first = from.unit()?;
            let info = from.byte()?;
            let left = if info & HAS_LEFT == 0 { None } else { Some(from.unit()?) };
            let right = if info & HAS_RIGHT == 0 { None } else { Some(from.unit()?) };
            if left.is_none() && right.is_none() {
                from.number()?;
                from.string()?;
            }
            let text = (info & 0x1F == STRING).then(|| from.string())??;
            Some(Insertion { first, left, right, text: text.into() })
        }
        _ => return None,
    };
    let mut removed = Vec::new();
    for _ in 0..from.number()? {
        let author = from.author()?;
        for _ in 0..from.number()? {
            removed.push(UnitRange { author, from: from.number()?, length: from.number()? });
        }
    }
    removed.sort_unstable();
    Some(Edit { inserted, removed })
}

struct From<'a>(&'a [u8]);

impl<'a> From<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u32> {
        u32::try_from(self.wide()?).ok()
    }

    fn wide(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn author(&mut self) -> Option<Author> {
        self.wide().map(Author)
    }

    fn unit(&mut self) -> Option<Unit> {
        Some(Unit::new(self.author()?, self.number()?))
    }

    fn string(&mut self) -> Option<&'a str> {
        let length = self.number()? as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }
}
