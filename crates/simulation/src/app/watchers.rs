//! The reactive transactions of the app. Each tells what it saw in words, so that the checker can tell what it should have seen.

use iolite_values::{KeyRange, TableId, Value};

use super::handle::{Handle, Stop, cell, row_key};
use super::mutators::int;
use crate::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watcher {
    /// All accounts: their sum never changes.
    Bank,
    /// One counter and one number.
    Pair { key: i64 },
    /// A thing with all its columns.
    Thing { key: i64 },
    /// A number that says which thing to look at: the read set changes between runs.
    Pointer { key: i64 },
    /// The last two seats of a group, and whether one tag is there.
    Seats { group: i64 },
}

impl Watcher {
    pub fn random(random: &mut Random) -> Watcher {
        let key = random.below(super::KEYS as u64) as i64;
        match random.below(5) {
            0 => Watcher::Bank,
            1 => Watcher::Pair { key },
            2 => Watcher::Thing { key },
            3 => Watcher::Pointer { key },
            _ => Watcher::Seats { group: key },
        }
    }

    /// # Errors
    /// [`Stop::Missing`].
    pub fn run(self, tx: &mut dyn Handle) -> Result<String, Stop> {
        match self {
            Watcher::Bank => {
                let rows = tx.range(TableId::of("accounts"), &KeyRange::all(), None, false)?;
                Ok(format!("{rows:?}"))
            }
            Watcher::Pair { key } => {
                let hits = tx.cell(&cell("hits", &[key], "value"))?;
                let number = tx.cell(&cell("numbers", &[key], "value"))?;
                Ok(format!("{hits:?} {number:?}"))
            }
            Watcher::Thing { key } => {
                let row = tx.row(TableId::of("things"), &row_key(&[key]))?;
                Ok(format!("{row:?}"))
            }
            Watcher::Pointer { key } => {
                let number = tx.cell(&cell("numbers", &[key], "value"))?;
                let target = int(number.as_ref()).unwrap_or(0) % super::KEYS;
                let log = tx.cell(&cell("things", &[target], "log"))?;
                let first = tx.element(&cell("things", &[target], "notes"), 0)?;
                Ok(format!("{target} {log:?} {first:?}"))
            }
            Watcher::Seats { group } => {
                let range = KeyRange::prefix(&[Value::Int(group)]).expect("an integer is a key");
                let seats = tx.range(TableId::of("seats"), &range, Some(2), true)?;
                let tag = tx.contains(&cell("things", &[group], "tags"), &Value::Int(1))?;
                Ok(format!("{seats:?} {tag}"))
            }
        }
    }
}
