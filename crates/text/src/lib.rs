//! Documents: what a text looks like, and what an edit at a position is.
//!
//! A [`iolite_values::Text`] knows its units and their neighbours, and not their order. A document is one text in order. Only clients have some.
//!
//! Invariants: a document is given edits only that fit its text, so no bytes of a peer ever reach the library below; documents of equal texts show
//! the same, in whatever order they learned of it.

mod bytes;
mod yata;

use std::sync::Arc;

use iolite_values::{Author, Edit, Text};

pub use yata::Yata;

/// One text in order. Positions and lengths are in UTF-16 units, in every language.
pub trait Document: Sized {
    /// An empty one, whose own edits are this author's.
    fn new(author: Author) -> Self;

    /// Takes edits, in an order in which each fits.
    fn apply(&mut self, edits: &[Arc<Edit>]);

    /// Removes units and inserts others in their place, and returns the edit that does so elsewhere; none if it changes nothing.
    ///
    /// # Errors
    /// [`OutOfText`], and nothing has changed.
    fn splice(&mut self, at: u32, removed: u32, inserted: &str) -> Result<Option<Edit>, OutOfText>;

    fn length(&self) -> u32;

    fn string(&self) -> String;
}

/// A position that the text does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text has {length} UTF-16 units, and {at} to {to} was asked for")]
pub struct OutOfText {
    pub at: u32,
    pub to: u64,
    pub length: u32,
}

/// What a text says.
pub fn string_of(text: &Text) -> String {
    let mut document = Yata::new(Author(1));
    document.apply(&text.edits());
    document.string()
}

#[cfg(test)]
mod tests;
