//! A cell that merges: all that its effects left, and the value that readers see.
//!
//! Invariant: the plain value is that of the state in the lives that the row has. It is kept, so that readers, queries and indexes borrow it as any other.

use super::{Effect, Lives, MergedState};
use crate::{CellState, TypeMismatch};

/// A cell of a table that merges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Merged {
    state: MergedState,
    plain: CellState,
}

impl Merged {
    /// A cell with this state, in a row that has these lives.
    pub fn new(state: MergedState, lives: &Lives) -> Merged {
        Merged { plain: state.plain(lives), state }
    }

    pub fn state(&self) -> &MergedState {
        &self.state
    }

    /// The value that readers see while the row exists.
    pub fn plain(&self) -> &CellState {
        &self.plain
    }

    /// Applies an effect, in a row that has these lives.
    ///
    /// # Errors
    /// [`TypeMismatch`], and the cell is as before.
    pub fn apply(&mut self, effect: &Effect, lives: &Lives) -> Result<(), TypeMismatch> {
        self.state.apply(effect)?;
        match (&self.state, &mut self.plain, effect) {
            // A large set is not listed anew for each member.
            (MergedState::Set(_), CellState::Set(plain), Effect::Insert { value, mark: _ }) => {
                plain.insert(value.clone());
            }
            (MergedState::Set(set), CellState::Set(plain), Effect::Remove { value, seen: _ }) => {
                if !set.has(value) {
                    plain.remove(value);
                }
            }
            (state, plain, _) => *plain = state.plain(lives),
        }
        Ok(())
    }

    /// The row has these lives now.
    pub(crate) fn show(&mut self, lives: &Lives) {
        if let MergedState::Counter(counter) = &self.state {
            self.plain = CellState::Counter(counter.total(lives));
        }
    }
}
