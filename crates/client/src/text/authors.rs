//! Who inserts: the names of units.
//!
//! Invariant: no two units ever have one name (author and number) at a client, whatever became of the first: its edit was taken back or refused, or its row
//! is gone and another one is under its key. Else an edit of somebody who stands on the first would fit the second, in the midst of words that its writer
//! has never seen.
//!
//! An edit outside of a closure is made once. Those of one text have one author for as long as they all are in it, which makes what is typed one run of
//! units. A mutator runs again, and its author is drawn from its call and from what it inserts: what was typed on its units fits after a run that does the
//! same, and no other. If two draw one author all the same, and use it in one text, the store commits only one of their first edits: see
//! [`iolite_values::Element::Author`].

use std::collections::VecDeque;

use iolite_values::{Author, Cell, DeviceSecret, Edit, Text};

use crate::transaction::{Random, live_author, mix};

/// The authors of one life of a client, or of a tab, for edits outside of closures.
pub(crate) struct Authors {
    secret: DeviceSecret,
    numbers: [u64; 4],
    drawn: u64,
    /// The last one first.
    typed: VecDeque<Typed>,
}

/// A text that was typed into.
struct Typed {
    cell: Cell,
    author: Author,
    /// The number of the author's next unit, if all that it inserted is in the text.
    next: u32,
}

impl Authors {
    /// Texts whose author is known again.
    const TEXTS: usize = 64;

    /// From numbers that no two lives of a device have together.
    pub(crate) fn of(secret: DeviceSecret, numbers: [u64; 4]) -> Authors {
        Authors { secret, numbers, drawn: 0, typed: VecDeque::new() }
    }

    /// Who inserts into this text next.
    pub(super) fn author(&mut self, cell: &Cell, text: &Text) -> Author {
        let known = self.typed.iter().find(|typed| typed.cell == *cell);
        match known.filter(|typed| text.count(typed.author) == typed.next) {
            Some(typed) => typed.author,
            None => {
                self.drawn += 1;
                live_author(self.secret, self.numbers.into_iter().chain([self.drawn]))
            }
        }
    }

    /// Notes what an author has inserted.
    pub(super) fn inserted(&mut self, cell: &Cell, edit: &Edit) {
        let Some(own) = &edit.inserted else { return };
        self.typed.retain(|typed| typed.cell != *cell);
        let next = own.end();
        self.typed.push_front(Typed { cell: cell.clone(), author: own.first.author, next });
        self.typed.truncate(Authors::TEXTS);
    }
}

/// The authors of one run of a mutator: one for each text that it inserts.
#[derive(Debug)]
pub(crate) struct RunAuthors {
    /// The mutation's, of which nothing else is drawn.
    random: Random,
    inserted: u64,
}

impl RunAuthors {
    pub(crate) fn of(random: Random) -> RunAuthors {
        RunAuthors { random, inserted: 0 }
    }

    /// Who inserts this text next.
    pub(crate) fn next(&mut self, text: &str) -> Author {
        self.inserted += 1;
        match self.random {
            Random::OfDevice(keyed) => keyed.author(self.inserted, text),
            Random::OfEntry(mut seeded) => author_of_entry(seeded.next_bits(), self.inserted, text),
        }
    }
}

/// An author of an operation of a log: of 32 bits, as every version makes it that replays the operation.
fn author_of_entry(call: u64, inserted: u64, text: &str) -> Author {
    let words = text.as_bytes().chunks(8).map(|chunk| chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    let numbers = [call, inserted, text.len() as u64].into_iter().chain(words);
    let mixed = numbers.fold(0u64, |mixed, number| mix(mixed ^ number));
    Author(u64::from(mixed as u32).max(1))
}

#[cfg(test)]
mod tests {
    use iolite_values::{ColumnId, RowKey, TableId, Unit};

    use super::*;

    fn cell(row: u8) -> Cell {
        Cell { table: TableId::of("pages"), row: RowKey::bound(&[row]), column: ColumnId::of("body") }
    }

    /// Types a letter at the begin of a text, and says as whom.
    fn type_into(authors: &mut Authors, cell: &Cell, text: &mut Text) -> Author {
        let author = authors.author(cell, text);
        let mut edit = Edit::first("a");
        let own = edit.inserted.as_mut().expect("it inserts");
        own.first = Unit::new(author, text.count(author));
        text.apply(&edit.clone().into());
        authors.inserted(cell, &edit);
        author
    }

    #[test]
    fn who_is_forgotten_among_many_texts_is_another_author_afterwards() {
        let mut authors = Authors::of(DeviceSecret([1; 16]), [1, 2, 3, 4]);
        let mut text = Text::default();
        let first = type_into(&mut authors, &cell(0), &mut text);
        assert_eq!(type_into(&mut authors, &cell(0), &mut text), first);
        for row in 1..=Authors::TEXTS as u8 {
            type_into(&mut authors, &cell(row), &mut Text::default());
        }
        assert_ne!(type_into(&mut authors, &cell(0), &mut text), first);
        assert_eq!(authors.typed.len(), Authors::TEXTS);
    }
}
