//! Cell operations: the only way in which anything changes.
//!
//! Source: Diamond's data types (Zhang 2017, Table 3.1), cut into operations that carry what they change and no more.

use std::sync::Arc;

use crate::{Cell, Edit, Effect, Element, HybridTime, Mark, Read, Value};

/// Whether appends to a list keep real-time order at the price of conflicts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ListOrder {
    /// Appends conflict with each other: a list in real-time order, strictly serializable.
    Strict,
    /// Appends never conflict and stand in commit-timestamp order: serializable, not strict.
    Commit,
}

/// A change of one cell.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Operation {
    /// The row comes into being; whatever an earlier row under this key held is gone.
    Create,
    /// The row and all its cells are gone.
    Delete,
    /// A scalar gets a value.
    Put(Value),
    /// A register gets a value; of concurrent ones the last commit timestamp wins, without conflict.
    Assign(Value),
    /// A counter is changed by this much, modulo 2^64.
    Add(i64),
    /// A counter gets a total, whatever was added before.
    PutTotal(i64),
    /// A set gets a member, or keeps it.
    Insert(Value),
    /// A set loses a member, or goes on without it.
    Remove(Value),
    /// A list grows by one.
    Append { value: Value, order: ListOrder },
    /// A list's element gets another value. An index at or past the length changes nothing.
    SetAt { index: u32, value: Value },
    /// A map's entry gets a value.
    PutEntry { key: Arc<str>, value: Value },
    /// A map loses an entry, or goes on without it.
    RemoveEntry { key: Arc<str> },
    /// A text gets units and loses others. One that does not fit the text changes nothing.
    Edit(Arc<Edit>),
    /// An effect on a cell of a table that merges, or on the lives of its row. It commutes with every other one.
    Merge(Arc<Effect>),
}

impl Operation {
    /// The time that it assigns a register of a table that merges with.
    pub fn time(&self) -> Option<HybridTime> {
        self.effect().and_then(Effect::time)
    }

    /// The mark that it makes, in a table that merges.
    pub fn mark(&self) -> Option<Mark> {
        self.effect().and_then(Effect::mark)
    }

    fn effect(&self) -> Option<&Effect> {
        match self {
            Operation::Merge(effect) => Some(effect.as_ref()),
            Operation::Create
            | Operation::Delete
            | Operation::Put(_)
            | Operation::Assign(_)
            | Operation::Add(_)
            | Operation::PutTotal(_)
            | Operation::Insert(_)
            | Operation::Remove(_)
            | Operation::Append { .. }
            | Operation::SetAt { .. }
            | Operation::PutEntry { .. }
            | Operation::RemoveEntry { .. }
            | Operation::Edit(_) => None,
        }
    }

    /// Whether its row comes into being or goes, with all that it held before.
    pub fn is_of_life(&self) -> bool {
        matches!(self, Operation::Create | Operation::Delete)
    }

    /// Whether its row comes into being by it, as far as its writer knew.
    pub fn creates(&self) -> bool {
        match self {
            Operation::Create => true,
            Operation::Merge(effect) => effect.is_insertion(),
            Operation::Delete
            | Operation::Put(_)
            | Operation::Assign(_)
            | Operation::Add(_)
            | Operation::PutTotal(_)
            | Operation::Insert(_)
            | Operation::Remove(_)
            | Operation::Append { .. }
            | Operation::SetAt { .. }
            | Operation::PutEntry { .. }
            | Operation::RemoveEntry { .. }
            | Operation::Edit(_) => false,
        }
    }

    /// Bytes of content, for limits and accounting.
    pub fn size_bytes(&self) -> usize {
        match self {
            Operation::Create | Operation::Delete => 1,
            Operation::Add(_) | Operation::PutTotal(_) => 8,
            Operation::Put(value) | Operation::Assign(value) | Operation::Insert(value) | Operation::Remove(value) => {
                value.size_bytes()
            }
            Operation::Append { value, order: _ } => value.size_bytes(),
            Operation::SetAt { index: _, value } => 4 + value.size_bytes(),
            Operation::PutEntry { key, value } => key.len() + value.size_bytes(),
            Operation::RemoveEntry { key } => key.len(),
            Operation::Edit(edit) => edit.size_bytes(),
            Operation::Merge(effect) => effect.size_bytes(),
        }
    }

    /// The read whose answer this operation changes and the fewest others do: what a writer has to have read to know its effect.
    pub fn target(&self, cell: &Cell) -> Read {
        let element = match self {
            Operation::Insert(value) | Operation::Remove(value) => Element::Member(value.clone()),
            Operation::PutEntry { key, .. } | Operation::RemoveEntry { key } => Element::Entry(key.clone()),
            Operation::SetAt { index, .. } => Element::Index(*index),
            Operation::Edit(edit) => {
                edit.inserted.as_ref().map_or(Element::Whole, |own| Element::Author(own.first.author))
            }
            Operation::Merge(effect) => effect.member().map_or(Element::Whole, |value| Element::Member(value.clone())),
            Operation::Create
            | Operation::Delete
            | Operation::Put(_)
            | Operation::Assign(_)
            | Operation::Add(_)
            | Operation::PutTotal(_)
            | Operation::Append { .. } => Element::Whole,
        };
        Read::Cell { cell: cell.clone(), element }
    }
}
