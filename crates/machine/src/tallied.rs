//! Numbers that a machine keeps for people, and decides nothing by.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// What a machine counts and never looks at. `Debug` leaves it out, so that what is told apart by `Debug` (the states of a model, which have to be few)
/// does not differ by how often things happened.
#[derive(Clone, Copy, Default)]
pub struct Tallied<T>(pub T);

impl<T> fmt::Debug for Tallied<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tallied")
    }
}

impl<T> Deref for Tallied<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Tallied<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
