//! Mutations of tables whose isolation is weaker than strict, one for each thing that the levels promise or do not.

use iolite_values::{Cell, Level, Operation, TableId, Value};
use serde::{Deserialize, Serialize};

use super::KEYS;
use super::handle::{Handle, Stop, cell};
use super::mutators::{int, put_number};
use crate::random::Random;

/// A table of a level. Both have the same columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Weak {
    Snapshot,
    ReadCommitted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OfLevel {
    /// Reads a cell and puts what follows: two at once are a lost update.
    Relabel,
    /// Reads the next row's cell and puts what follows into its own: two at once are a write skew.
    Copy,
    /// Puts without reading.
    Label(i64),
    /// Puts the same into the next row too.
    LabelBoth(i64),
    /// Adds to a counter without reading.
    Fill(i64),
    /// Takes one of a counter that has any left, or aborts: decides on what it changes.
    Pick,
    /// Writes what it reads into a table of the strict level, so all of it is strict.
    Quote,
}

impl OfLevel {
    pub fn random(random: &mut Random) -> OfLevel {
        match random.below(7) {
            0 => OfLevel::Relabel,
            1 => OfLevel::Copy,
            2 => OfLevel::Label(random.below(50) as i64),
            5 => OfLevel::LabelBoth(random.below(50) as i64),
            3 => OfLevel::Fill(random.between(1, 2) as i64),
            4 => OfLevel::Pick,
            _ => OfLevel::Quote,
        }
    }

    /// What the schema promises to it.
    pub fn level(self, weak: Weak) -> Level {
        match (self, weak) {
            (OfLevel::Quote, _) => Level::Strict,
            (_, Weak::Snapshot) => Level::Snapshot,
            (_, Weak::ReadCommitted) => Level::ReadCommitted,
        }
    }

    /// Whether it rests on what the cell held that it writes.
    pub fn decides_on_what_it_changes(self) -> bool {
        match self {
            OfLevel::Relabel | OfLevel::Pick => true,
            OfLevel::Copy | OfLevel::Label(_) | OfLevel::LabelBoth(_) | OfLevel::Fill(_) | OfLevel::Quote => false,
        }
    }
}

impl Weak {
    pub const ALL: [Weak; 2] = [Weak::Snapshot, Weak::ReadCommitted];

    pub fn name(self) -> &'static str {
        match self {
            Weak::Snapshot => "shelves",
            Weak::ReadCommitted => "scores",
        }
    }

    pub fn table(self) -> TableId {
        TableId::of(self.name())
    }

    fn cell(self, key: i64, column: &str) -> Cell {
        cell(self.name(), &[key], column)
    }
}

pub(super) fn run(tx: &mut dyn Handle, weak: Weak, key: i64, what: OfLevel) -> Result<(), Stop> {
    let put = |value| Operation::Put(Value::Int(value));
    let label = weak.cell(key, "label");
    let next = weak.cell((key + 1) % KEYS, "label");
    match what {
        OfLevel::Relabel => {
            let value = read(tx, &label)?;
            tx.write(label, put(value + 1))
        }
        OfLevel::Copy => {
            let value = read(tx, &next)?;
            tx.write(label, put(value + 1))
        }
        OfLevel::Label(value) => tx.write(label, put(value)),
        OfLevel::LabelBoth(value) => {
            tx.write(label, put(value))?;
            tx.write(next, put(value))
        }
        OfLevel::Fill(amount) => tx.write(weak.cell(key, "left"), Operation::Add(amount)),
        OfLevel::Pick => {
            let left = weak.cell(key, "left");
            if read(tx, &left)? <= 0 {
                return Err(Stop::Abort("nothing is left".into()));
            }
            tx.write(left, Operation::Add(-1))
        }
        OfLevel::Quote => {
            let sum = read(tx, &label)? * 100 + read(tx, &weak.cell(key, "left"))?;
            put_number(tx, key, sum)
        }
    }
}

fn read(tx: &mut dyn Handle, cell: &Cell) -> Result<i64, Stop> {
    Ok(int(tx.cell(cell)?.as_ref()).unwrap_or(0))
}
