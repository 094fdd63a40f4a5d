//! Rows and the states of their cells.
//!
//! Invariant: cells, members and entries come in order and once each, so one state has one encoding.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{CellState, ColumnId, Lives, Merged, MergedState, Row, Value};

use crate::DecodeError;
use crate::generated::proto::{self, row_cell::State};
use crate::limits::MAP_KEY;

use super::reader::{each, required};
use super::{Reader, Writer, merge, text, value};

impl Writer {
    pub(crate) fn row(&mut self, row: &Row) -> proto::Row {
        let cells = row.cells().map(|(column, state)| self.row_cell(column, state)).collect();
        proto::Row { exists: row.exists(), cells }
    }

    fn row_cell(&mut self, column: ColumnId, state: &CellState) -> proto::RowCell {
        let state = match state {
            CellState::Row(exists) => State::Row(*exists),
            CellState::Scalar(value) => State::Scalar(value::write(value)),
            CellState::Register(value) => State::Register(value::write(value)),
            CellState::Counter(total) => State::Counter(*total),
            CellState::Set(members) => {
                State::Set(proto::ValueList { values: members.iter().map(value::write).collect() })
            }
            CellState::List(list) => State::List(proto::ValueList { values: list.iter().map(value::write).collect() }),
            CellState::Map(map) => State::Map(proto::MapEntries {
                entries: map.iter().map(|(key, value)| self.map_entry(key, value)).collect(),
            }),
            CellState::Text(own) => State::Text(text::write(own)),
            CellState::Merged(merged) => State::Merged(Box::new(merge::write_state(merged.state()))),
        };
        proto::RowCell { column: column.0, state: Some(state) }
    }

    pub(super) fn map_entry(&mut self, key: &str, value: &Value) -> proto::MapEntry {
        proto::MapEntry { key: self.text(key, MAP_KEY), value: Some(value::write(value)) }
    }
}

impl Reader {
    pub(crate) fn row(&self, row: proto::Row) -> Result<Row, DecodeError> {
        if !row.cells.iter().map(|cell| cell.column).is_sorted_by(|a, b| a < b) {
            return Err(DecodeError::malformed("a row's cells are in the order of their columns"));
        }
        let cells: Vec<_> = each(row.cells, |cell| Ok((ColumnId(cell.column), self.state(cell.state)?)))?;
        let fits_its_place = |(column, state): &(ColumnId, CellState)| match state {
            CellState::Merged(merged) => match merged.state() {
                MergedState::Lives(lives) => row.exists && *column == ColumnId::ROW && lives.exist(),
                MergedState::Counter(_) | MergedState::Register(_) | MergedState::Set(_) => *column != ColumnId::ROW,
            },
            CellState::Row(_)
            | CellState::Scalar(_)
            | CellState::Register(_)
            | CellState::Counter(_)
            | CellState::Set(_)
            | CellState::List(_)
            | CellState::Map(_)
            | CellState::Text(_) => true,
        };
        if !cells.iter().all(fits_its_place) {
            return Err(DecodeError::malformed(
                "lives are those of a row that exists, one or more, in the place of its life",
            ));
        }
        Ok(Row::from_parts(row.exists, cells))
    }

    fn state(&self, state: Option<State>) -> Result<CellState, DecodeError> {
        Ok(match required(state, "a cell of no known type")? {
            State::Row(exists) => CellState::Row(exists),
            State::Scalar(value) => CellState::Scalar(value::read(value)?),
            State::Register(value) => CellState::Register(value::read(value)?),
            State::Counter(total) => CellState::Counter(total),
            State::Set(members) => CellState::Set(set(members)?),
            State::List(list) => CellState::List(each(list.values, value::read)?),
            State::Map(map) => CellState::Map(self.map(map)?),
            State::Merged(merged) => {
                CellState::Merged(Box::new(Merged::new(merge::read_state(*merged)?, &Lives::default())))
            }
            State::Text(own) => CellState::Text(Box::new(text::read(own)?)),
        })
    }

    fn map(&self, map: proto::MapEntries) -> Result<BTreeMap<std::sync::Arc<str>, Value>, DecodeError> {
        let mut entries = BTreeMap::new();
        for entry in map.entries {
            let key = self.map_key(entry.key)?;
            if entries.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return Err(DecodeError::malformed("a map's entries are in the order of their keys"));
            }
            entries.insert(key, value::read_required(entry.value)?);
        }
        Ok(entries)
    }
}

fn set(list: proto::ValueList) -> Result<BTreeSet<Value>, DecodeError> {
    let mut members = BTreeSet::new();
    for member in list.values {
        let member = value::read(member)?;
        if members.last().is_some_and(|last| *last >= member) {
            return Err(DecodeError::malformed("a set's members are in order"));
        }
        members.insert(member);
    }
    Ok(members)
}
