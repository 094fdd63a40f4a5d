//! Looks at a view without a wait, and what two views show differently.

use iolite_client::{CallError, Difference, DifferenceError, NotHeld, View};

use crate::client::Client;
use crate::closure;
use crate::error::{Abort, Result as ClosureResult};
use crate::transaction::Transaction;

/// Why [`Client::peek`] gave no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeekError {
    /// The view does not hold what the closure reads, and nothing was fetched. The error says which part of which table, and what helps.
    #[error(transparent)]
    NotHeld(#[from] NotHeld),
    /// A closure runs, of this client or another.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The closure failed: it wrote, it read a table or column that is not there, or it returned an error of its own.
    #[error(transparent)]
    Failed(#[from] Abort),
}

impl Client {
    /// Runs a closure once, on what is held of a view, and returns what it returned. It never waits, not even for the disk: an app may call it for each
    /// frame that it draws. It asks for no data; a reaction or a pin keeps what it reads on the device.
    ///
    /// Views are those of Hercules (Lebeck 2020, section 3.3.3).
    ///
    /// ```no_run
    /// # fn example(client: &iolite::Client) -> Result<(), iolite::PeekError> {
    /// use iolite::View;
    /// let here = client.peek(View::Optimistic, |tx| tx.counter("items", "chair", "x"))?;
    /// let elsewhere = client.peek(View::Delivered, |tx| tx.counter("items", "chair", "x"))?;
    /// println!("it stands at {here}; somebody may still see it at {elsewhere}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`PeekError`]. What the closure returns counts only if nothing was missing.
    pub fn peek<T, F>(&self, view: View, closure: F) -> Result<T, PeekError>
    where
        F: FnOnce(&mut Transaction<'_>) -> ClosureResult<T>,
    {
        self.shared.look(|inner| {
            let mut peek = inner.core.begin_peek(view).ok_or(CallError::Nested)?;
            let mut value = None;
            let mut transaction = Transaction::new(inner.core.peek_transaction(&mut peek));
            let closed = closure::run(|| {
                value = Some(closure(&mut transaction));
                Ok(())
            });
            inner.core.end_peek(peek)?;
            // Without a value it panicked.
            Ok(value.ok_or_else(|| Abort::Mistake(closure::message_of(closed)))??)
        })?
    }

    /// The values that differ between two views, as table, key and column, in this order. Of a row that only one view has, each column differs. With
    /// [`View::Delivered`] it is about the tables that say `delivered` and those of logs. It looks at what is pending or undelivered, not at all rows, and never waits.
    ///
    /// # Errors
    /// [`DifferenceError::NotHeld`], when the delivered view cannot tell.
    ///
    /// # Panics
    /// Inside a closure, of this client or another.
    pub fn difference(&self, a: View, b: View) -> Result<Vec<Difference>, DifferenceError> {
        self.compare(a, b, None)
    }

    /// The same of one table.
    ///
    /// # Errors
    /// As [`Client::difference`], and when the schema has no such table, or it does not say `delivered`.
    ///
    /// # Panics
    /// As [`Client::difference`].
    pub fn difference_in(&self, a: View, b: View, table: &str) -> Result<Vec<Difference>, DifferenceError> {
        self.compare(a, b, Some(table))
    }

    fn compare(&self, a: View, b: View, table: Option<&str>) -> Result<Vec<Difference>, DifferenceError> {
        let compared = self.shared.look(|inner| inner.core.difference(a, b, table));
        compared.unwrap_or_else(|nested| panic!("{nested}"))
    }
}
