//! The pages of the app: texts that many edit at once, by `live` edits.
//!
//! Invariant: no character is typed twice in a run, so a text tells by itself which edits it shows.

use iolite_client::Splice;
use iolite_values::{Author, Cell, Edit, Insertion, Operation, Unit, UnitRange};
use serde::{Deserialize, Serialize};

use super::handle::{Handle, Stop, cell};
use crate::random::Random;

/// How many there are.
pub const PAGES: i64 = 2;

/// The text of a page.
pub fn page(key: i64) -> Cell {
    cell("pages", &[key], "body")
}

/// An edit as its app made it: what it typed and where, in the text that it was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Typing {
    pub key: i64,
    /// What came.
    pub typed: String,
    /// What went.
    pub removed: String,
    /// The character before which it came; nothing, at the end.
    pub before: Option<char>,
    /// What its client made of it: the arguments of a `live` mutation.
    pub arguments: String,
}

/// What somebody is about to do to a page that is shown.
#[derive(Debug)]
pub struct Draft {
    at: u32,
    units_removed: u32,
    typing: Typing,
    /// What the page says then.
    pub comes_to: String,
}

/// The characters that nobody has typed yet.
#[derive(Debug, Default)]
pub struct Letters(u32);

impl Letters {
    /// One in four takes two units.
    fn take(&mut self) -> char {
        let first = if self.0 % 4 == 3 { 0x2_0000 } else { 0x3400 };
        let letter = char::from_u32(first + self.0).expect("so much is not typed in a run");
        self.0 += 1;
        letter
    }
}

impl Draft {
    /// Types, removes or does both, anywhere or where somebody typed last.
    pub fn random(random: &mut Random, key: i64, shown: &str, last: Option<char>, letters: &mut Letters) -> Draft {
        let shown: Vec<char> = shown.chars().collect();
        let behind = last.and_then(|last| shown.iter().position(|own| *own == last)).filter(|_| random.chance(500));
        let at = behind.map_or_else(|| random.below(shown.len() as u64 + 1) as usize, |last| last + 1);
        let wanted = if random.chance(300) { random.between(1, 3) as usize } else { 0 };
        let end = shown.len().min(at + wanted);
        let count = if end == at || random.chance(400) { random.between(1, 3) } else { 0 };
        let typed: String = (0..count).map(|_| letters.take()).collect();
        let (removed, rest) = (&shown[at..end], &shown[end..]);
        let comes_to = shown[..at].iter().copied().chain(typed.chars()).chain(rest.iter().copied()).collect();
        let units = |part: &[char]| part.iter().map(|own| own.len_utf16() as u32).sum();
        let typing = Typing {
            key,
            typed,
            removed: removed.iter().collect(),
            before: rest.first().copied(),
            arguments: String::new(),
        };
        Draft { at: units(&shown[..at]), units_removed: units(removed), typing, comes_to }
    }

    pub fn page(&self) -> Cell {
        page(self.typing.key)
    }

    pub fn splice(&self) -> Splice<'_> {
        Splice { at: self.at, removed: self.units_removed, inserted: &self.typing.typed }
    }

    /// With what the client made of it.
    pub fn made(&self, arguments: String) -> Typing {
        Typing { arguments, ..self.typing.clone() }
    }

    /// The last character that it types.
    pub fn last(&self) -> Option<char> {
        self.typing.typed.chars().next_back()
    }
}

/// A `live` operation, as clients store it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    #[serde(rename = "do")]
    what: String,
    table: String,
    key: Vec<i64>,
    column: String,
    text: Option<String>,
    at: Option<(u64, u32)>,
    left: Option<(u64, u32)>,
    right: Option<(u64, u32)>,
    #[serde(default)]
    removed: Vec<(u64, u32, u32)>,
}

impl Typing {
    /// The one edit that its arguments name.
    ///
    /// # Panics
    /// When they name anything else.
    pub fn edit(&self) -> Edit {
        let [step]: [Step; 1] = serde_json::from_str(&self.arguments).expect("an edit is one operation");
        assert_eq!((&*step.what, &*step.table, &*step.column), ("edit", "pages", "body"), "{self:?}");
        assert_eq!(step.key, [self.key], "{self:?}");
        let unit = |(author, number): (u64, u32)| Unit::new(Author(author), number);
        let (left, right) = (step.left.map(unit), step.right.map(unit));
        let inserted = step.text.map(|text| {
            let first = step.at.map(unit).expect("what is inserted has a name");
            Insertion { first, left, right, text: text.into() }
        });
        let range = |(author, from, length): (u64, u32, u32)| UnitRange { author: Author(author), from, length };
        Edit { inserted, removed: step.removed.into_iter().map(range).collect() }
    }

    /// Whether it names units that another edit inserted.
    pub fn stands_on(&self, other: &Typing) -> bool {
        let (own, other) = (self.edit(), other.edit());
        let Some(of) = other.inserted else { return false };
        let mut neighbours = own.inserted.iter().flat_map(|own| [own.left, own.right]).flatten();
        let units = UnitRange { author: of.first.author, from: of.first.number, length: of.length() };
        let meets =
            |range: &UnitRange| range.author == units.author && range.from < units.end() && units.from < range.end();
        neighbours.any(|unit| units.contains(unit)) || own.removed.iter().any(meets)
    }

    pub(super) fn run(&self, tx: &mut dyn Handle) -> Result<(), Stop> {
        tx.write(page(self.key), Operation::Edit(self.edit().into()))
    }
}

#[cfg(test)]
mod tests {
    use iolite_client::live_arguments;
    use iolite_values::Write;

    use super::*;
    use crate::app::SchemaVersion;

    fn made(edit: &Edit) -> Typing {
        let write = Write { cell: page(1), operation: Operation::Edit(edit.clone().into()) };
        let arguments = live_arguments(&SchemaVersion::First.schema(), &[write]).expect("it fits");
        Typing { key: 1, typed: String::new(), removed: String::new(), before: None, arguments }
    }

    fn edit(first: u32, text: &str, left: Option<u32>, removed: &[(u32, u32)]) -> Edit {
        let author = Author(7);
        let unit = |number| Unit::new(author, number);
        let own = Insertion { first: unit(first), left: left.map(unit), right: None, text: text.into() };
        let range = |(from, length): &(u32, u32)| UnitRange { author, from: *from, length: *length };
        Edit { inserted: (!text.is_empty()).then_some(own), removed: removed.iter().map(range).collect() }
    }

    #[test]
    fn an_edit_is_read_as_clients_write_it() {
        let all =
            [edit(2, "\u{2_0000}b", Some(1), &[]), edit(0, "a", None, &[(3, 4), (9, 1)]), edit(0, "", None, &[(0, 1)])];
        all.iter().for_each(|edit| assert_eq!(made(edit).edit(), *edit));
    }

    #[test]
    fn an_edit_stands_on_its_neighbours_and_on_what_it_removes() {
        let below = made(&edit(2, "abc", None, &[]));
        let stands = |edit: &Edit| made(edit).stands_on(&below);
        assert!(stands(&edit(9, "x", Some(4), &[])) && stands(&edit(0, "", None, &[(4, 9)])));
        assert!(!stands(&edit(9, "x", Some(5), &[])) && !stands(&edit(0, "", None, &[(0, 2), (5, 1)])));
    }

    #[test]
    fn a_draft_says_what_it_comes_to() {
        let (mut random, mut letters) = (Random::from_seed(1), Letters::default());
        let mut shown = String::new();
        for _ in 0..200 {
            let draft = Draft::random(&mut random, 0, &shown, None, &mut letters);
            let Splice { at, removed, inserted } = draft.splice();
            let mut units: Vec<u16> = shown.encode_utf16().collect();
            units.splice(at as usize..(at + removed) as usize, inserted.encode_utf16());
            assert_eq!(String::from_utf16_lossy(&units), draft.comes_to);
            assert_ne!(shown, draft.comes_to, "it changes something");
            shown = draft.comes_to;
        }
    }
}
