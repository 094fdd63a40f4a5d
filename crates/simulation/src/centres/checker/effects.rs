//! A plain model of effects: all that there ever were, in no order.
//!
//! Invariant: a value follows from the set of effects alone. So the store, which applies them one after the other, has to come to the same.
//! Source: Shapiro 2011; docs/protocols/operations.md. `crates/values/src/mergeable` is the product's.

use std::collections::{BTreeMap, BTreeSet};

use iolite_values::{Cell, CellState, ColumnId, Effect, Mark, Operation, Row, RowKey, TableId, Value, Write};

#[derive(Debug, Default)]
pub struct Effects {
    cells: BTreeMap<Cell, Vec<Effect>>,
}

impl Effects {
    /// # Errors
    /// A write that is no effect.
    pub fn add(&mut self, write: &Write) -> Result<(), String> {
        let Operation::Merge(effect) = &write.operation else { return Err(format!("{write:?} is no effect")) };
        self.cells.entry(write.cell.clone()).or_default().push((**effect).clone());
        Ok(())
    }

    /// The rows of a table that exist, with the plain values of their columns.
    pub fn rows(&self, table: TableId) -> Vec<(RowKey, Row)> {
        let keys: BTreeSet<&RowKey> =
            self.cells.keys().filter(|cell| cell.table == table).map(|cell| &cell.row).collect();
        let rows = keys.into_iter().filter_map(|key| {
            let lives = self.lives(&Cell::row(table, key.clone()));
            let own = self.cells.iter().filter(|(cell, _)| cell.table == table && cell.row == *key);
            let columns = own.filter(|(cell, _)| cell.column != ColumnId::ROW);
            let cells = columns.filter_map(|(cell, effects)| Some((cell.column, plain(effects, &lives)?)));
            (!lives.is_empty()).then(|| (key.clone(), Row::from_parts(true, cells)))
        });
        rows.collect()
    }

    /// The lives of which a mark is left that nothing saw.
    fn lives(&self, row: &Cell) -> BTreeSet<Mark> {
        let effects = self.cells.get(row).map(Vec::as_slice).unwrap_or_default();
        let seen: BTreeSet<Mark> = effects.iter().flat_map(seen_by).collect();
        let left = effects.iter().filter_map(|effect| match effect {
            Effect::Touch { life, mark, .. } if !seen.contains(mark) => Some(*life),
            _ => None,
        });
        left.collect()
    }
}

fn seen_by(effect: &Effect) -> BTreeSet<Mark> {
    match effect {
        Effect::Touch { seen, .. } | Effect::Bury { seen } | Effect::Remove { seen, .. } => seen.clone(),
        Effect::Add { .. } | Effect::Assign { .. } | Effect::Insert { .. } => BTreeSet::new(),
    }
}

fn plain(effects: &[Effect], lives: &BTreeSet<Mark>) -> Option<CellState> {
    match effects.first()? {
        Effect::Add { .. } => {
            let amounts = effects.iter().map(|effect| match effect {
                Effect::Add { life, amount } if lives.contains(life) => *amount,
                _ => 0,
            });
            Some(CellState::Counter(amounts.fold(0, i64::wrapping_add)))
        }
        Effect::Assign { .. } => {
            let assigned = effects.iter().filter_map(|effect| match effect {
                Effect::Assign { stamp, value } => Some((stamp, value)),
                _ => None,
            });
            assigned.max_by_key(|(stamp, _)| **stamp).map(|(_, value)| CellState::Register(value.clone()))
        }
        Effect::Insert { .. } | Effect::Remove { .. } => Some(CellState::Set(members(effects))),
        Effect::Touch { .. } | Effect::Bury { .. } => None,
    }
}

/// Values of which an insertion is left that no removal saw.
fn members(effects: &[Effect]) -> BTreeSet<Value> {
    let seen: BTreeSet<Mark> = effects.iter().flat_map(seen_by).collect();
    let left = effects.iter().filter_map(|effect| match effect {
        Effect::Insert { value, mark } if !seen.contains(mark) => Some(value.clone()),
        _ => None,
    });
    left.collect()
}
