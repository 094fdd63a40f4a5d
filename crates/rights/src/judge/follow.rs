//! Values of operands, and rows that are followed by their keys.

use std::borrow::Cow;

use iolite_values::{ColumnId, KnownRow, RowKey, TableId, Value};

use super::scene::Scene;
use super::view::{Seen, View};
use super::{Needs, RowName};
use crate::{Operand, Reference, When};

impl Scene<'_> {
    pub(super) fn value(&self, operand: &Operand) -> Result<Seen<Value>, Needs> {
        Ok(match operand {
            Operand::Column { of, column } => self.version(*of).map_or(Seen::constant(None), |view| view.value(column)),
            Operand::Followed { row, column } => {
                let followed = self.follow(row)?;
                let Some(view) = followed.value else { return Ok(Seen { value: None, reads: followed.reads }) };
                let seen = view.value(column);
                Seen { reads: [followed.reads, seen.reads].concat(), ..seen }
            }
            Operand::Claim(name) => Seen::constant(self.judge.claims.value(name)),
            Operand::Literal(value) => Seen::constant(Some(value.clone())),
            Operand::Now => Seen::constant(Some(Value::Int(self.judge.now_ms))),
            Operand::Part(part) => self.part(*part),
        })
    }

    /// A row by its key. Nothing, if a part of the key is missing, or cannot be in a key.
    pub(super) fn follow(&self, reference: &Reference) -> Result<Seen<View<'_>>, Needs> {
        let (mut key, mut reads, mut needs) = (Vec::new(), Vec::new(), Needs::default());
        for part in &reference.key {
            match self.value(part) {
                Ok(seen) => {
                    reads.extend(seen.reads);
                    key.extend(seen.value);
                }
                Err(own) => needs.add(own),
            }
        }
        if !needs.is_empty() {
            return Err(needs);
        }
        let key = RowKey::new(&key).ok().filter(|_| key.len() == reference.key.len());
        let table = self.judge.schema.table(&reference.table);
        let (Some(key), Some(table)) = (key, table) else { return Ok(Seen { value: None, reads }) };
        let name = RowName { table: TableId::of(&reference.table), key };
        let own = match reference.when {
            When::At => None,
            When::After => self.writes.get(&name).map(Vec::as_slice),
        };
        let Some(own) = own else {
            return Ok(Seen { value: Some(View { table, row: self.judge.known(&name)?, name, writes: &[] }), reads });
        };
        // A row that the transaction creates is known without asking.
        let is_whole = KnownRow::of(own).is_known(ColumnId::ROW);
        let mut row = if is_whole { Cow::default() } else { self.judge.known(&name)? }.into_owned();
        for write in own {
            // An operation of another type changes nothing, here as in the store.
            let _ = row.apply(write.cell.column, &write.operation);
        }
        Ok(Seen { value: Some(View { table, name, row: Cow::Owned(row), writes: own }), reads })
    }
}
