//! The table with the delivered view: mutations, one for each way in which a row comes, changes and goes, and what reactive transactions read of it.

use std::collections::BTreeMap;

use iolite_client::Content;
use iolite_values::{Cell, ColumnId, Operation, RowKey, TableId, Value};
use serde::{Deserialize, Serialize};

use super::handle::{Handle, Stop, between, cell, row_key};
use super::mutators::int;
use super::questions::{ordered, stand_from};
use crate::random::Random;

/// Rooms, and chairs in each.
pub const ROOMS: i64 = 2;
const CHAIRS: u64 = 3;
/// Keys that a room has.
pub const ROOM: i64 = 10;
/// A wall: nothing stands behind it.
pub const WIDTH: i64 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OfChair {
    /// Puts it at a place, whether it is there or not.
    Place(i64),
    /// Moves it on from where it stands, or aborts at the wall.
    Push,
    /// Adds to a counter without reading.
    Sit,
    Remove,
}

impl OfChair {
    pub fn random(random: &mut Random) -> OfChair {
        match random.below(8) {
            0..=2 => OfChair::Place(random.below(WIDTH as u64) as i64),
            3 | 4 => OfChair::Push,
            5 | 6 => OfChair::Sit,
            _ => OfChair::Remove,
        }
    }
}

/// A reactive transaction of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfRoom {
    /// All chairs of a room.
    All { room: i64 },
    /// One chair, and whether another one is there.
    One { room: i64, chair: i64 },
    /// Chairs that stand at a place or behind it, whatever their rooms are: an index.
    Behind { least: i64, limit: Option<usize>, reverse: bool },
}

impl OfRoom {
    pub fn random(random: &mut Random) -> OfRoom {
        let (room, chair) = some(random);
        let limit = if random.chance(500) { Some(random.between(1, 2) as usize) } else { None };
        match random.below(4) {
            0 | 1 => OfRoom::All { room },
            2 => OfRoom::One { room, chair },
            _ => OfRoom::Behind { least: random.below(WIDTH as u64) as i64, limit, reverse: random.chance(500) },
        }
    }

    pub(super) fn run(self, tx: &mut dyn Handle) -> Result<String, Stop> {
        match self {
            OfRoom::All { room } => {
                let keys = between(&[number(room, 0)], &[number(room + 1, 0)]);
                Ok(format!("{:?}", tx.range(table(), &keys, None, false)?))
            }
            OfRoom::One { room, chair } => {
                let found = tx.row(table(), &row(room, chair))?;
                Ok(format!("{found:?} {}", tx.exists(table(), &row(room, chair + 1))?))
            }
            OfRoom::Behind { least, limit, reverse } => {
                Ok(format!("{:?}", tx.ask(table(), &ordered(stand_from(least), "x", reverse, limit))?))
            }
        }
    }
}

/// A chair at random: its room, and its number there.
pub fn some(random: &mut Random) -> (i64, i64) {
    (random.below(ROOMS as u64) as i64, random.below(CHAIRS) as i64)
}

pub fn table() -> TableId {
    TableId::of("chairs")
}

/// The key of a chair: those of a room stand together.
pub fn number(room: i64, chair: i64) -> i64 {
    room * ROOM + chair
}

fn row(room: i64, chair: i64) -> RowKey {
    row_key(&[number(room, chair)])
}

fn place_of(room: i64, chair: i64) -> Cell {
    cell("chairs", &[number(room, chair)], "x")
}

pub(super) fn run(tx: &mut dyn Handle, room: i64, chair: i64, what: OfChair) -> Result<(), Stop> {
    let put = |x: i64| Operation::Put(Value::Int(x));
    match what {
        OfChair::Place(x) => {
            if tx.exists(table(), &row(room, chair))? {
                return tx.write(place_of(room, chair), put(x));
            }
            let content: Content = BTreeMap::from([(ColumnId::of("x"), vec![put(x)])]);
            tx.insert(table(), &row(room, chair), content)
        }
        OfChair::Push => match int(tx.cell(&place_of(room, chair))?.as_ref()) {
            Some(x) if x < WIDTH => tx.write(place_of(room, chair), put(x + 1)),
            Some(_) => Err(Stop::Abort("it stands at the wall".into())),
            None => Err(Stop::Abort("no such chair".into())),
        },
        OfChair::Sit => tx.write(cell("chairs", &[number(room, chair)], "sat"), Operation::Add(1)),
        OfChair::Remove => tx.delete(table(), &row(room, chair)),
    }
}
