//! Types that merge: effects of one cell which commute, so that every data centre may take them in an order of its own.
//!
//! Invariant: any two effects of a cell give equal states in both orders, on every state that has what they observed.
//! Source: Zawirski 2013, 2.2.1; Shapiro 2011 ("Conflict-free replicated data types"), operation-based types. Effects come once, which completion records see to.

mod counter;
mod lives;
mod mark;
mod merged;
mod register;
mod set;

use std::collections::BTreeSet;

pub use counter::LifeCounter;
pub use lives::Lives;
pub use mark::{HybridTime, Mark, Stamp};
pub use merged::Merged;
pub use register::LastWriter;
pub use set::AddWins;

use crate::{CellState, TypeMismatch, Value, set_of};

/// A change of one cell of a table that merges.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// A counter grows by this much, modulo 2^64, in one life of its row.
    Add { life: Mark, amount: i64 },
    /// A register gets a value. The highest stamp stays.
    Assign { stamp: Stamp, value: Value },
    /// A set gets a member.
    Insert { value: Value, mark: Mark },
    /// A set loses a member, as far as the writer saw it inserted.
    Remove { value: Value, seen: BTreeSet<Mark> },
    /// A row begins a life, or is kept in one. `mark` takes the place of the life's marks that the writer saw.
    Touch { life: Mark, mark: Mark, seen: BTreeSet<Mark> },
    /// A row loses the marks that the writer saw, of all its lives.
    Bury { seen: BTreeSet<Mark> },
}

impl Effect {
    /// Bytes of a transaction of effects.
    pub const TRANSACTION_BYTES_MAX: usize = 256 * 1024;
    /// Bytes of a mark.
    const MARK_BYTES: usize = 8;

    /// Whether it is of the row's lives, and not of a column.
    pub fn is_of_lives(&self) -> bool {
        matches!(self, Effect::Touch { .. } | Effect::Bury { .. })
    }

    /// Whether it begins a life of its row.
    pub fn is_insertion(&self) -> bool {
        matches!(self, Effect::Touch { life, mark, seen: _ } if life == mark)
    }

    /// The time that it assigns a register with.
    pub fn time(&self) -> Option<HybridTime> {
        match self {
            Effect::Assign { stamp, value: _ } => Some(stamp.time),
            Effect::Add { .. }
            | Effect::Insert { .. }
            | Effect::Remove { .. }
            | Effect::Touch { .. }
            | Effect::Bury { .. } => None,
        }
    }

    /// The mark that it makes.
    pub fn mark(&self) -> Option<Mark> {
        match self {
            Effect::Assign { stamp, value: _ } => Some(stamp.mark),
            Effect::Insert { value: _, mark } | Effect::Touch { life: _, mark, seen: _ } => Some(*mark),
            Effect::Add { .. } | Effect::Remove { .. } | Effect::Bury { .. } => None,
        }
    }

    /// The member that it concerns, if it is a set's.
    pub fn member(&self) -> Option<&Value> {
        match self {
            Effect::Insert { value, mark: _ } | Effect::Remove { value, seen: _ } => Some(value),
            Effect::Add { .. } | Effect::Assign { .. } | Effect::Touch { .. } | Effect::Bury { .. } => None,
        }
    }

    /// Whether the two give equal states in both orders on every state, also on one that lacks what they observed. A hostile device may name a mark
    /// before it makes it.
    pub fn passes(&self, other: &Effect) -> bool {
        !self.is_seen_by(other) && !other.is_seen_by(self)
    }

    fn is_seen_by(&self, other: &Effect) -> bool {
        match (self, other) {
            (Effect::Insert { value, mark }, Effect::Remove { value: removed, seen }) => {
                value == removed && seen.contains(mark)
            }
            (Effect::Touch { life, mark, .. }, Effect::Touch { life: other, seen, .. }) => {
                life == other && seen.contains(mark)
            }
            (Effect::Touch { mark, .. }, Effect::Bury { seen }) => seen.contains(mark),
            (
                Effect::Add { .. }
                | Effect::Assign { .. }
                | Effect::Insert { .. }
                | Effect::Remove { .. }
                | Effect::Touch { .. }
                | Effect::Bury { .. },
                _,
            ) => false,
        }
    }

    /// Bytes of content, for limits and accounting.
    pub fn size_bytes(&self) -> usize {
        let marks = |seen: &BTreeSet<Mark>| Effect::MARK_BYTES * seen.len();
        match self {
            Effect::Add { .. } => Effect::MARK_BYTES + 8,
            Effect::Assign { stamp: _, value } => Stamp::BYTES + value.size_bytes(),
            Effect::Insert { value, mark: _ } => Effect::MARK_BYTES + value.size_bytes(),
            Effect::Remove { value, seen } => value.size_bytes() + marks(seen),
            Effect::Touch { life: _, mark: _, seen } => 2 * Effect::MARK_BYTES + marks(seen),
            Effect::Bury { seen } => 1 + marks(seen),
        }
    }
}

/// All that a cell's effects left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MergedState {
    Counter(LifeCounter),
    Register(LastWriter),
    Set(AddWins),
    Lives(Lives),
}

impl MergedState {
    /// The type of a row's life, where the row merges.
    pub const OF_ROWS: &str = "merging row";

    /// The state of a cell of the effect's type on which nothing has happened yet.
    pub fn empty_for(effect: &Effect) -> MergedState {
        match effect {
            Effect::Add { .. } => MergedState::Counter(LifeCounter::default()),
            Effect::Assign { .. } => MergedState::Register(LastWriter::default()),
            Effect::Insert { .. } | Effect::Remove { .. } => MergedState::Set(AddWins::default()),
            Effect::Touch { .. } | Effect::Bury { .. } => MergedState::Lives(Lives::default()),
        }
    }

    /// Applies an effect that comes for the first time, after all that its writer saw.
    ///
    /// # Errors
    /// [`TypeMismatch`], and the state is as before.
    pub fn apply(&mut self, effect: &Effect) -> Result<(), TypeMismatch> {
        match (&mut *self, effect) {
            (MergedState::Counter(counter), Effect::Add { life, amount }) => counter.add(*life, *amount),
            (MergedState::Register(register), Effect::Assign { stamp, value }) => register.assign(*stamp, value),
            (MergedState::Set(set), Effect::Insert { value, mark }) => set.insert(value, *mark),
            (MergedState::Set(set), Effect::Remove { value, seen }) => set.remove(value, seen),
            (MergedState::Lives(lives), effect @ (Effect::Touch { .. } | Effect::Bury { .. })) => lives.apply(effect),
            (state, effect) => {
                return Err(TypeMismatch { is: state.name(), wants: MergedState::empty_for(effect).name() });
            }
        }
        Ok(())
    }

    /// The value that readers, queries and indexes see, in a row that has these lives.
    pub fn plain(&self, lives: &Lives) -> CellState {
        match self {
            MergedState::Counter(counter) => CellState::Counter(counter.total(lives)),
            MergedState::Register(register) => CellState::Register(register.value().clone()),
            MergedState::Set(set) => CellState::Set(set_of(set.members().cloned())),
            MergedState::Lives(lives) => CellState::Row(lives.exist()),
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            MergedState::Counter(_) => "merging counter",
            MergedState::Register(_) => "merging register",
            MergedState::Set(_) => "merging set",
            MergedState::Lives(_) => MergedState::OF_ROWS,
        }
    }

    /// How many sums, members, lives and marks it has.
    pub fn parts(&self) -> usize {
        match self {
            MergedState::Counter(counter) => counter.sums().len(),
            MergedState::Register(_) => 1,
            MergedState::Set(set) => set.marks().map(|(_, marks)| 1 + marks.len()).sum(),
            MergedState::Lives(lives) => lives.parts(),
        }
    }

    /// Effects that make this state from nothing.
    pub fn effects(&self) -> Vec<Effect> {
        match self {
            MergedState::Counter(counter) => {
                counter.sums().map(|(life, amount)| Effect::Add { life, amount }).collect()
            }
            MergedState::Register(register) => {
                let last = register.last();
                last.map(|(stamp, value)| Effect::Assign { stamp, value: value.clone() }).into_iter().collect()
            }
            MergedState::Set(set) => {
                let insertion = |value: &Value, mark: &Mark| Effect::Insert { value: value.clone(), mark: *mark };
                set.marks().flat_map(|(value, marks)| marks.iter().map(move |mark| insertion(value, mark))).collect()
            }
            MergedState::Lives(lives) => lives.effects().collect(),
        }
    }

    /// Bytes of content, for limits and accounting.
    pub fn size_bytes(&self) -> usize {
        match self {
            MergedState::Counter(counter) => counter.sums().map(|_| Effect::MARK_BYTES + 8).sum(),
            MergedState::Register(register) => Stamp::BYTES + register.value().size_bytes(),
            MergedState::Set(set) => {
                set.marks().map(|(value, marks)| value.size_bytes() + Effect::MARK_BYTES * marks.len()).sum()
            }
            MergedState::Lives(lives) => lives.size_bytes(),
        }
    }
}

#[cfg(test)]
mod tests;
