//! Peeks at a view of the client, and the differences between two views.

use iolite_values::{Cell, Text};

use super::Client;
use crate::peek::{DifferenceError, Lack, NotHeld, Peek, PeekError};
use crate::transaction::Transaction;
use crate::view::{Comparison, Difference, Overlay, Reader, Side, View};

impl Client {
    /// Runs a closure once on what is held of a view. It asks for nothing, and changes nothing.
    ///
    /// # Errors
    /// [`PeekError`]. What the closure fails with counts only if nothing was missing.
    pub fn peek<T, E>(
        &self,
        view: View,
        closure: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, PeekError<E>> {
        let mut peek = self.begin_peek(view).ok_or(PeekError::Nested)?;
        let value = closure(&mut self.peek_transaction(&mut peek));
        self.end_peek(peek)?;
        value.map_err(PeekError::Closure)
    }

    /// Begins a peek; `None` while a closure runs.
    pub fn begin_peek(&self, view: View) -> Option<Peek> {
        let durable = || self.fresh_durable(view);
        self.running.is_none().then(|| Peek::new(view, self.identity.secret, durable()))
    }

    /// The handle for one or more calls of a peek.
    pub fn peek_transaction<'a>(&'a self, peek: &'a mut Peek) -> Transaction<'a> {
        let reader = self.reader_of_peek(peek.run.view, peek.durable.as_ref());
        Transaction::new(&self.schema, reader, &self.documents, &mut peek.run)
    }

    /// Ends a peek.
    ///
    /// # Errors
    /// [`NotHeld`]: something was missing, so that no value counts.
    pub fn end_peek(&self, peek: Peek) -> Result<(), NotHeld> {
        peek.end(&self.schema, &self.cache, self.lack())
    }

    /// The values that differ between two views, of all tables or of one. It looks at what is pending or undelivered, not at all rows. With
    /// [`View::Delivered`], all tables are those that say `delivered` and those of logs.
    ///
    /// # Errors
    /// [`DifferenceError`].
    pub fn difference(&self, a: View, b: View, table: Option<&str>) -> Result<Vec<Difference>, DifferenceError> {
        let views = [a, b];
        let durable = views.map(|view| self.fresh_durable(view));
        let side = |place: usize| {
            let (view, lack) = (views[place], self.lack());
            Side { view, reader: self.reader_of_peek(view, durable[place].as_ref()), lack }
        };
        let says = |cell: &Cell, text: &Text| self.documents.borrow_mut().string(cell, text);
        Comparison { schema: &self.schema, sides: [side(0), side(1)], says: &says }.of_table(table)
    }

    /// A number that is another one whenever what some view shows may be another.
    pub fn views_number(&self) -> u64 {
        self.reactions.changes()
    }

    /// Reactions have this overlay only while one of them has the view.
    fn fresh_durable(&self, view: View) -> Option<Overlay> {
        if view == View::Durable { self.queue.durable_overlay(&self.cache) } else { None }
    }

    fn reader_of_peek<'a>(&'a self, view: View, durable: Option<&'a Overlay>) -> Reader<'a> {
        match (view, durable) {
            (View::Durable, overlay) => {
                let pending = Some(overlay.unwrap_or(self.queue.overlay()));
                Reader::new(&self.cache, pending, None).over_kept(self.kept_in(View::Durable))
            }
            (View::Optimistic | View::Confirmed | View::Delivered, _) => self.reader(view),
        }
    }

    fn lack(&self) -> Lack {
        if self.delivery.is_unknown() { Lack::NotKnown } else { Lack::CameLater }
    }
}
