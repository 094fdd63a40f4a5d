//! Peeks of a follower: as the client's, on the mirror.

use iolite_values::{Cell, Text};

use super::Follower;
use crate::peek::{DifferenceError, Lack, NotHeld, Peek};
use crate::transaction::Transaction;
use crate::view::{Comparison, Difference, Side, View};

impl Follower {
    /// As [`crate::Client::begin_peek`].
    pub fn begin_peek(&self, view: View) -> Option<Peek> {
        self.running.is_none().then(|| Peek::new(view, self.secret, None))
    }

    /// As [`crate::Client::peek_transaction`].
    pub fn peek_transaction<'a>(&'a self, peek: &'a mut Peek) -> Transaction<'a> {
        Transaction::new(&self.schema, self.reader(peek.run.view), &self.documents, &mut peek.run)
    }

    /// As [`crate::Client::end_peek`].
    ///
    /// # Errors
    /// [`NotHeld`].
    pub fn end_peek(&self, peek: Peek) -> Result<(), NotHeld> {
        peek.end(&self.schema, &self.cache, Lack::Follows)
    }

    /// As [`crate::Client::difference`].
    ///
    /// # Errors
    /// [`DifferenceError`].
    pub fn difference(&self, a: View, b: View, table: Option<&str>) -> Result<Vec<Difference>, DifferenceError> {
        let side = |view| Side { view, reader: self.reader(view), lack: Lack::Follows };
        let says = |cell: &Cell, text: &Text| self.documents.borrow_mut().string(cell, text);
        Comparison { schema: &self.schema, sides: [side(a), side(b)], says: &says }.of_table(table)
    }

    /// As [`crate::Client::views_number`].
    pub fn views_number(&self) -> u64 {
        self.reactions.changes()
    }
}
