//! Digests of what was read, so that a closure runs again only when an answer of its own has changed.

use std::hash::Hash;

use iolite_values::{CellState, ColumnId, Digest, DigestHasher, Element, Row, RowKey, Value};

/// Feeds what a read returned to a hasher.
#[derive(Default)]
pub(crate) struct Answer {
    hasher: DigestHasher,
}

impl Answer {
    pub(crate) fn cell(&mut self, row: Option<&Row>, column: ColumnId, element: &Element) {
        row.is_some_and(Row::exists).hash(&mut self.hasher);
        if column != ColumnId::ROW {
            self.part(row.and_then(|row| row.cell(column)), element);
        }
    }

    pub(crate) fn row(&mut self, key: &RowKey, row: &Row) {
        key.hash(&mut self.hasher);
        row.exists().hash(&mut self.hasher);
        row.cells().count().hash(&mut self.hasher);
        for (column, state) in row.cells() {
            column.hash(&mut self.hasher);
            self.part(Some(state), &Element::Whole);
        }
    }

    pub(crate) fn digest(&self) -> Digest {
        self.hasher.digest()
    }

    fn part(&mut self, state: Option<&CellState>, element: &Element) {
        match (state, element) {
            (Some(CellState::Set(set)), Element::Member(value)) => set.contains(value).hash(&mut self.hasher),
            (Some(CellState::Set(set)), Element::UpTo(last)) => set.range(..=last).for_each(|value| self.value(value)),
            (Some(CellState::Text(text)), Element::Author(author)) => text.count(*author).hash(&mut self.hasher),
            (None, Element::Author(_)) => 0u32.hash(&mut self.hasher),
            (None, Element::Member(_)) => false.hash(&mut self.hasher),
            (None, Element::UpTo(_) | Element::Slice { .. }) => {}
            (Some(CellState::Map(map)), Element::Entry(key)) => self.optional(map.get(key)),
            (Some(CellState::List(list)), Element::Index(index)) => self.optional(list.get(*index as usize)),
            (Some(CellState::List(list)), Element::Slice { from, to }) => {
                list.iter().take(*to as usize).skip(*from as usize).for_each(|value| self.value(value));
            }
            (None, Element::Entry(_) | Element::Index(_)) => self.optional(None),
            (Some(state), _) => self.state(state),
            (None, Element::Whole) => 0u8.hash(&mut self.hasher),
        }
    }

    fn state(&mut self, state: &CellState) {
        state.name().hash(&mut self.hasher);
        match state {
            CellState::Row(exists) => exists.hash(&mut self.hasher),
            CellState::Scalar(value) | CellState::Register(value) => self.value(value),
            CellState::Counter(total) => total.hash(&mut self.hasher),
            CellState::Set(set) => set.iter().for_each(|value| self.value(value)),
            CellState::List(list) => list.iter().for_each(|value| self.value(value)),
            CellState::Map(map) => map.iter().for_each(|(key, value)| {
                key.hash(&mut self.hasher);
                self.value(value);
            }),
            CellState::Merged(merged) => self.state(merged.plain()),
            CellState::Text(text) => text.digest().hash(&mut self.hasher),
        }
    }

    fn optional(&mut self, value: Option<&Value>) {
        value.is_some().hash(&mut self.hasher);
        if let Some(value) = value {
            self.value(value);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => 0u8.hash(&mut self.hasher),
            Value::Bool(value) => (1u8, value).hash(&mut self.hasher),
            Value::Int(value) => (2u8, value).hash(&mut self.hasher),
            Value::Float(value) => (3u8, value.to_bits()).hash(&mut self.hasher),
            Value::String(text) => (4u8, text).hash(&mut self.hasher),
            Value::Bytes(bytes) => (5u8, bytes).hash(&mut self.hasher),
            Value::Id(id) => (6u8, id).hash(&mut self.hasher),
            Value::Blob(blob) => (7u8, blob).hash(&mut self.hasher),
        }
    }
}
