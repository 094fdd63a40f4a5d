//! Cells by number: each direction of a session numbers the cells that it speaks of.
//!
//! A name beside a number defines the number, before it is used. The sender chooses what to define again: here the clock rule, so that
//! cells in use keep their numbers. Invariant: both sides hold the same cell under the same number, for no others are used.
//! Source: HPACK's dynamic table (RFC 7541); the clock rule is Corbató's (1968).

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

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
    /// By the hash of the cell, which costs a small part of comparing keys. No order is read from it.
    numbers: BTreeSet<(u64, u32)>,
    slots: Vec<Slot>,
    /// Where the search for a number to define again goes on.
    hand: usize,
    /// What the message in hand defined, and what the number meant before.
    defined: Vec<(u32, Option<Slot>)>,
}

#[derive(Debug)]
struct Slot {
    hash: u64,
    cell: Cell,
    used: bool,
}

impl SentCells {
    fn number(&mut self, cell: &Cell) -> NumberedCell {
        let hash = hash(cell);
        let mut alike = self.numbers.range((hash, 0)..=(hash, u32::MAX)).map(|(_, number)| *number);
        if let Some(number) = alike.find(|number| self.slots[*number as usize].cell == *cell) {
            self.slots[number as usize].used = true;
            return NumberedCell { number, name: None };
        }
        let number = self.define(hash, cell.clone());
        NumberedCell { number, name: Some(Box::new(name(cell))) }
    }

    fn define(&mut self, hash: u64, cell: Cell) -> u32 {
        let slot = Slot { hash, cell, used: true };
        let (at, before) = if self.slots.len() < NUMBERED_CELLS.most {
            self.slots.push(slot);
            (self.slots.len() - 1, None)
        } else {
            let at = self.least_used();
            let before = std::mem::replace(&mut self.slots[at], slot);
            self.numbers.remove(&(before.hash, number(at)));
            (at, Some(before))
        };
        let number = number(at);
        self.numbers.insert((hash, number));
        self.defined.push((number, before));
        number
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
            let slot = &mut self.slots[number as usize];
            self.numbers.remove(&(slot.hash, number));
            match before {
                Some(before) => {
                    self.numbers.insert((before.hash, number));
                    *slot = before;
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
