//! Who inserts: the names of units.
//!
//! Invariant: no two units ever have one name (author and number) at a client, whatever became of the first: its edit was taken back or refused, or its row
//! is gone and another one is under its key. Else an edit of somebody who stands on the first would fit the second, in the midst of words that its writer
//! has never seen.
//!
//! A mutator runs again, so its author is drawn from its mutation ([`crate::transaction::Run`]): what was typed on its units fits after each run. An edit
//! outside of a closure is made once. Those of one text have one author for as long as they all are in it, which makes what is typed one run of units.

use std::collections::VecDeque;

use iolite_values::{Author, Cell, Edit, Text};

use crate::transaction::mix;

/// The authors of one life of a client, or of a tab, for edits outside of closures.
pub(crate) struct Authors {
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

    /// From numbers that no two lives have together.
    pub(crate) fn of(numbers: [u64; 4]) -> Authors {
        Authors { numbers, drawn: 0, typed: VecDeque::new() }
    }

    /// Who inserts into this text next.
    pub(super) fn author(&mut self, cell: &Cell, text: &Text) -> Author {
        let known = self.typed.iter().find(|typed| typed.cell == *cell);
        match known.filter(|typed| text.count(typed.author) == typed.next) {
            Some(typed) => typed.author,
            None => {
                self.drawn += 1;
                let [first, rest @ ..] = self.numbers;
                author_of([mix(first ^ self.drawn), rest[0], rest[1], rest[2]])
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

/// An author of these numbers. If two draw one all the same, and use it in one text, the store commits only one of their first edits: see
/// [`iolite_values::Element::Author`].
pub(crate) fn author_of<const N: usize>(numbers: [u64; N]) -> Author {
    let mixed = numbers.into_iter().fold(0u64, |mixed, number| mix(mixed ^ number));
    Author((mixed as u32).max(1))
}
