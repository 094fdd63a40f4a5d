//! What a cell holds once its operations are applied in timestamp order.
//!
//! Invariant: the state is a function of the operations and their order alone. Which of them may be reordered: conflict.rs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Lives, Merged, MergedState, Operation, Text, Value};

/// The state of one cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CellState {
    /// Whether the row exists.
    Row(bool),
    Scalar(Value),
    Register(Value),
    Counter(i64),
    Set(BTreeSet<Value>),
    List(Vec<Value>),
    Map(BTreeMap<Arc<str>, Value>),
    /// Apart, because it is larger than the others, and cells lie side by side.
    Text(Box<Text>),
    /// A cell of a table that merges.
    Merged(Box<Merged>),
}

/// An operation of another data type than the cell has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cell is a {is} and the operation is a {wants}'s: check the schema")]
pub struct TypeMismatch {
    pub is: &'static str,
    pub wants: &'static str,
}

impl CellState {
    /// The state of a cell of the operation's type on which nothing has happened yet.
    pub fn empty_for(operation: &Operation) -> CellState {
        match operation {
            Operation::Create | Operation::Delete => CellState::Row(false),
            Operation::Put(_) => CellState::Scalar(Value::Null),
            Operation::Assign(_) => CellState::Register(Value::Null),
            Operation::Add(_) | Operation::PutTotal(_) => CellState::Counter(0),
            Operation::Insert(_) | Operation::Remove(_) => CellState::Set(BTreeSet::new()),
            Operation::Append { .. } | Operation::SetAt { .. } => CellState::List(Vec::new()),
            Operation::PutEntry { .. } | Operation::RemoveEntry { .. } => CellState::Map(BTreeMap::new()),
            Operation::Edit(_) => CellState::Text(Box::default()),
            Operation::Merge(effect) => {
                CellState::Merged(Box::new(Merged::new(MergedState::empty_for(effect), &Lives::default())))
            }
        }
    }

    /// Applies an operation. Before the first one of a cell its state is that of [`CellState::empty_for`]. A counter that merges shows nothing
    /// here, because only its row knows its lives.
    ///
    /// # Errors
    /// [`TypeMismatch`], and the state is as before.
    pub fn apply(&mut self, operation: &Operation) -> Result<(), TypeMismatch> {
        match (&mut *self, operation) {
            (CellState::Row(exists), Operation::Create) => *exists = true,
            (CellState::Row(exists), Operation::Delete) => *exists = false,
            (CellState::Scalar(own), Operation::Put(value)) | (CellState::Register(own), Operation::Assign(value)) => {
                *own = value.clone();
            }
            (CellState::Counter(total), Operation::Add(amount)) => *total = total.wrapping_add(*amount),
            (CellState::Counter(total), Operation::PutTotal(value)) => *total = *value,
            (CellState::Set(set), Operation::Insert(value)) => drop(set.insert(value.clone())),
            (CellState::Set(set), Operation::Remove(value)) => drop(set.remove(value)),
            (CellState::List(list), Operation::Append { value, order: _ }) => list.push(value.clone()),
            (CellState::List(list), Operation::SetAt { index, value }) => {
                if let Some(element) = list.get_mut(*index as usize) {
                    *element = value.clone();
                }
            }
            (CellState::Map(map), Operation::PutEntry { key, value }) => drop(map.insert(key.clone(), value.clone())),
            (CellState::Map(map), Operation::RemoveEntry { key }) => drop(map.remove(key)),
            (CellState::Text(text), Operation::Edit(edit)) => text.apply(edit),
            (CellState::Merged(merged), Operation::Merge(effect)) => merged.apply(effect, &Lives::default())?,
            (state, operation) => {
                return Err(TypeMismatch { is: state.name(), wants: CellState::empty_for(operation).name() });
            }
        }
        Ok(())
    }

    pub fn name(&self) -> &'static str {
        match self {
            CellState::Row(_) => "row",
            CellState::Scalar(_) => "scalar",
            CellState::Register(_) => "register",
            CellState::Counter(_) => "counter",
            CellState::Set(_) => "set",
            CellState::List(_) => "list",
            CellState::Map(_) => "map",
            CellState::Text(_) => "text",
            CellState::Merged(merged) => merged.state().name(),
        }
    }

    /// Bytes of content, for limits and accounting.
    pub fn size_bytes(&self) -> usize {
        match self {
            CellState::Row(_) => 1,
            CellState::Scalar(value) | CellState::Register(value) => value.size_bytes(),
            CellState::Counter(_) => 8,
            CellState::Set(set) => set.iter().map(Value::size_bytes).sum(),
            CellState::List(list) => list.iter().map(Value::size_bytes).sum(),
            CellState::Map(map) => map.iter().map(|(key, value)| key.len() + value.size_bytes()).sum(),
            CellState::Text(text) => text.size_bytes(),
            CellState::Merged(merged) => merged.state().size_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ListOrder;

    fn after(operations: &[Operation]) -> CellState {
        let mut state = CellState::empty_for(operations.first().expect("an operation"));
        for operation in operations {
            state.apply(operation).expect("one type");
        }
        state
    }

    #[test]
    fn every_type_does_what_it_is_named_for() {
        let (x, y) = (Value::from("x"), Value::from("y"));
        let append = |value: &Value| Operation::Append { value: value.clone(), order: ListOrder::Strict };
        assert_eq!(after(&[Operation::Create, Operation::Delete]), CellState::Row(false));
        assert_eq!(after(&[Operation::Add(i64::MAX), Operation::Add(1)]), CellState::Counter(i64::MIN));
        assert_eq!(after(&[Operation::Add(5), Operation::PutTotal(2), Operation::Add(1)]), CellState::Counter(3));
        assert_eq!(
            after(&[Operation::Insert(x.clone()), Operation::Insert(y.clone()), Operation::Remove(x.clone())]),
            CellState::Set([y.clone()].into())
        );
        assert_eq!(
            after(&[append(&x), append(&x), Operation::SetAt { index: 1, value: y.clone() }]),
            CellState::List(vec![x.clone(), y.clone()])
        );
        assert_eq!(after(&[append(&x), Operation::SetAt { index: 1, value: y }]), CellState::List(vec![x]));
    }

    #[test]
    fn another_type_is_an_error_and_changes_nothing() {
        let mut state = CellState::Counter(3);
        let error = state.apply(&Operation::Create).expect_err("a counter is no row");
        assert_eq!(error, TypeMismatch { is: "counter", wants: "row" });
        assert_eq!(state, CellState::Counter(3));
    }
}
