//! Fingerprints of what was read, so that a closure runs again only when an answer of its own has changed.
//!
//! 128 bits from two differently seeded hashes. They live in one process and are never stored.

use std::hash::{DefaultHasher, Hash, Hasher};

use iolite_values::{CellState, ColumnId, Element, Row, RowKey, Value};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Digest(u64, u64);

impl Digest {
    pub(crate) fn builder() -> DigestBuilder {
        let mut second = DefaultHasher::new();
        second.write_u64(0x9e37_79b9_7f4a_7c15);
        DigestBuilder { first: DefaultHasher::new(), second }
    }
}

pub(crate) struct DigestBuilder {
    first: DefaultHasher,
    second: DefaultHasher,
}

impl Hasher for DigestBuilder {
    fn write(&mut self, bytes: &[u8]) {
        self.first.write(bytes);
        self.second.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.first.finish()
    }
}

impl DigestBuilder {
    pub(crate) fn cell(&mut self, row: Option<&Row>, column: ColumnId, element: &Element) {
        row.is_some_and(Row::exists).hash(self);
        if column != ColumnId::ROW {
            self.part(row.and_then(|row| row.cell(column)), element);
        }
    }

    pub(crate) fn row(&mut self, key: &RowKey, row: &Row) {
        key.hash(self);
        row.exists().hash(self);
        row.cells().count().hash(self);
        for (column, state) in row.cells() {
            column.hash(self);
            self.part(Some(state), &Element::Whole);
        }
    }

    pub(crate) fn finish(self) -> Digest {
        Digest(self.first.finish(), self.second.finish())
    }

    fn part(&mut self, state: Option<&CellState>, element: &Element) {
        match (state, element) {
            (Some(CellState::Set(set)), Element::Member(value)) => set.contains(value).hash(self),
            (Some(CellState::Set(set)), Element::UpTo(last)) => set.range(..=last).for_each(|value| self.value(value)),
            (Some(CellState::Text(text)), Element::Author(author)) => text.count(*author).hash(self),
            (None, Element::Author(_)) => 0u32.hash(self),
            (None, Element::Member(_)) => false.hash(self),
            (None, Element::UpTo(_) | Element::Slice { .. }) => {}
            (Some(CellState::Map(map)), Element::Entry(key)) => self.optional(map.get(key)),
            (Some(CellState::List(list)), Element::Index(index)) => self.optional(list.get(*index as usize)),
            (Some(CellState::List(list)), Element::Slice { from, to }) => {
                list.iter().take(*to as usize).skip(*from as usize).for_each(|value| self.value(value));
            }
            (None, Element::Entry(_) | Element::Index(_)) => self.optional(None),
            (Some(state), _) => self.state(state),
            (None, Element::Whole) => 0u8.hash(self),
        }
    }

    fn state(&mut self, state: &CellState) {
        state.name().hash(self);
        match state {
            CellState::Row(exists) => exists.hash(self),
            CellState::Scalar(value) | CellState::Register(value) => self.value(value),
            CellState::Counter(total) => total.hash(self),
            CellState::Set(set) => set.iter().for_each(|value| self.value(value)),
            CellState::List(list) => list.iter().for_each(|value| self.value(value)),
            CellState::Map(map) => map.iter().for_each(|(key, value)| {
                key.hash(self);
                self.value(value);
            }),
            CellState::Text(text) => text.fingerprint().hash(self),
        }
    }

    fn optional(&mut self, value: Option<&Value>) {
        value.is_some().hash(self);
        if let Some(value) = value {
            self.value(value);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => 0u8.hash(self),
            Value::Bool(value) => (1u8, value).hash(self),
            Value::Int(value) => (2u8, value).hash(self),
            Value::Float(value) => (3u8, value.to_bits()).hash(self),
            Value::String(text) => (4u8, text).hash(self),
            Value::Bytes(bytes) => (5u8, bytes).hash(self),
            Value::Id(id) => (6u8, id).hash(self),
        }
    }
}
