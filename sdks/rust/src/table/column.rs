//! A column of a table, as a constant.

use std::marker::PhantomData;

/// Names a column of table `T` that holds a `C`. Made by the derive.
pub struct Column<T, C> {
    name: &'static str,
    types: PhantomData<fn(T) -> C>,
}

impl<T, C> Column<T, C> {
    #[doc(hidden)]
    pub const fn new(name: &'static str) -> Column<T, C> {
        Column { name, types: PhantomData }
    }

    /// The column's name in the schema.
    pub fn name(self) -> &'static str {
        self.name
    }
}

impl<T, C> Clone for Column<T, C> {
    fn clone(&self) -> Column<T, C> {
        *self
    }
}

impl<T, C> Copy for Column<T, C> {}
