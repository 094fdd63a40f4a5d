//! Cells by number: each direction of a session numbers the cells that it speaks of.
//!
//! A name beside a number defines the number, before it is used. The sender chooses what to define again: here the clock rule, so that
//! cells in use keep their numbers. Invariant: both sides hold the same cell under the same number, for no others are used.
//! Source: HPACK's dynamic table (RFC 7541); the clock rule is Corbató's (1968).

use std::hash::{DefaultHasher, Hash, Hasher};

use hashbrown::HashTable;
use iolite_values::{Cell, ColumnId, RowKey, TableId};

use crate::DecodeError;
use crate::generated::proto;
use crate::limits::NUMBERED_CELLS;

use super::{Reader, Writer};

/// A cell as two fields have it.
#[derive(Debug)]
pub(crate) struct NumberedCell {
    pub number: u32,
    pub name: Option<Box<proto::CellName>>,
}

/// The sender's side.
#[derive(Debug, Default)]
pub(super) struct SentCells {
    /// By the hash of the cell. No order is read from it.
    numbers: HashTable<u32>,
    slots: Vec<Slot>,
    /// Where the search for a number to define again goes on.
    hand: usize,
    /// What the message in hand defined, and what the number meant before.
    defined: Vec<(u32, Option<Slot>)>,
}

#[derive(Debug)]
struct Slot {
    cell: Cell,
    hash: u64,
    used: bool,
}

impl SentCells {
    fn number(&mut self, cell: &Cell) -> NumberedCell {
        let hash = hash(cell);
        if let Some(at) = self.find(cell, hash) {
            self.slots[at].used = true;
            return NumberedCell { number: number(at), name: None };
        }
        let number = self.define(Slot { cell: cell.clone(), hash, used: true });
        NumberedCell { number, name: Some(Box::new(name(cell))) }
    }

    fn find(&self, cell: &Cell, hash: u64) -> Option<usize> {
        let found = self.numbers.find(hash, |number| self.slots[*number as usize].cell == *cell);
        found.map(|number| *number as usize)
    }

    fn define(&mut self, slot: Slot) -> u32 {
        let (at, before) = if self.slots.len() < NUMBERED_CELLS.most {
            self.slots.push(slot);
            (self.slots.len() - 1, None)
        } else {
            let at = self.least_used();
            self.leave(at);
            (at, Some(std::mem::replace(&mut self.slots[at], slot)))
        };
        self.enter(at);
        self.defined.push((number(at), before));
        number(at)
    }

    fn enter(&mut self, at: usize) {
        let slots = &self.slots;
        self.numbers.insert_unique(slots[at].hash, number(at), |number| slots[*number as usize].hash);
    }

    fn leave(&mut self, at: usize) {
        let entry = self.numbers.find_entry(self.slots[at].hash, |own| *own as usize == at);
        entry.expect("every slot is found by its hash").remove();
    }

    /// The first slot from the hand on that was not used since the hand last passed.
    fn least_used(&mut self) -> usize {
        while std::mem::take(&mut self.slots[self.hand].used) {
            self.hand = (self.hand + 1) % self.slots.len();
        }
        let found = self.hand;
        self.hand = (self.hand + 1) % self.slots.len();
        found
    }

    pub(super) fn commit(&mut self) {
        self.defined.clear();
    }

    /// Which slots were used lately is not taken back: that is the sender's choice anyway.
    pub(super) fn rollback(&mut self) {
        while let Some((number, before)) = self.defined.pop() {
            let at = number as usize;
            self.leave(at);
            match before {
                Some(before) => {
                    self.slots[at] = before;
                    self.enter(at);
                }
                None => drop(self.slots.pop()),
            }
        }
        self.hand = if self.slots.is_empty() { 0 } else { self.hand % self.slots.len() };
    }
}

/// The receiver's side.
#[derive(Debug, Default)]
pub(super) struct ReceivedCells {
    cells: Vec<Cell>,
}

impl ReceivedCells {
    fn resolve(&mut self, number: u32, defined: Option<Cell>) -> Result<Cell, DecodeError> {
        let at = number as usize;
        match defined {
            None => self.cells.get(at).cloned().ok_or(DecodeError::malformed("a cell's number was never defined")),
            Some(cell) if at < self.cells.len() => {
                self.cells[at] = cell.clone();
                Ok(cell)
            }
            Some(cell) if at == self.cells.len() && at < NUMBERED_CELLS.most => {
                self.cells.push(cell.clone());
                Ok(cell)
            }
            Some(_) if at >= NUMBERED_CELLS.most => Err(DecodeError::TooLarge { limit: NUMBERED_CELLS }),
            Some(_) => Err(DecodeError::malformed("cells are numbered without a gap")),
        }
    }
}

impl Writer {
    pub(crate) fn cell(&mut self, cell: &Cell) -> NumberedCell {
        self.cells.number(cell)
    }
}

impl Reader {
    pub(crate) fn cell(&mut self, number: u32, name: Option<Box<proto::CellName>>) -> Result<Cell, DecodeError> {
        let defined = name.map(|name| named(*name)).transpose()?;
        self.cells.resolve(number, defined)
    }
}

fn hash(cell: &Cell) -> u64 {
    let mut hasher = DefaultHasher::new();
    cell.hash(&mut hasher);
    hasher.finish()
}

fn number(at: usize) -> u32 {
    u32::try_from(at).expect("there are few numbers")
}

/// A cell in full.
pub(crate) fn name(cell: &Cell) -> proto::CellName {
    proto::CellName { table: cell.table.0, row: cell.row.as_bytes().to_vec(), column: cell.column.0 }
}

pub(crate) fn named(name: proto::CellName) -> Result<Cell, DecodeError> {
    Ok(Cell { table: TableId(name.table), row: row_key(&name.row)?, column: ColumnId(name.column) })
}

pub(crate) fn row_key(bytes: &[u8]) -> Result<RowKey, DecodeError> {
    if bytes.len() > RowKey::MAX_BYTES {
        return Err(DecodeError::malformed("a row key is too long"));
    }
    RowKey::from_bytes(bytes).map_err(|_| DecodeError::malformed("a row key is not the encoding of any values"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cell(number: u32) -> Cell {
        let row = RowKey::new(&[iolite_values::Value::Int(number.into())]).expect("short");
        Cell { table: TableId(1), row, column: ColumnId(1) }
    }

    fn all_are_found(sent: &SentCells) -> bool {
        let mut slots = sent.slots.iter().enumerate();
        sent.numbers.len() == sent.slots.len()
            && slots.all(|(at, slot)| sent.find(&slot.cell, hash(&slot.cell)) == Some(at))
    }

    proptest! {
        #[test]
        fn what_was_sent_is_resolved_whatever_messages_were_taken_back(
            messages in prop::collection::vec((prop::collection::vec(0_u32..40, 0..20), any::<bool>()), 0..12),
        ) {
            let (mut sent, mut received) = (SentCells::default(), ReceivedCells::default());
            for (cells, is_sent) in messages {
                let numbered: Vec<_> = cells.iter().map(|number| sent.number(&cell(*number))).collect();
                prop_assert!(all_are_found(&sent));
                if !is_sent {
                    sent.rollback();
                    prop_assert!(all_are_found(&sent));
                    continue;
                }
                sent.commit();
                for (number, NumberedCell { number: sent_as, name }) in cells.into_iter().zip(numbered) {
                    let defined = name.map(|name| named(*name).expect("it was a cell"));
                    prop_assert_eq!(received.resolve(sent_as, defined), Ok(cell(number)));
                }
            }
        }
    }
}
