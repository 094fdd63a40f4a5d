//! The app whose tables sync: what it calls, and what each call did to rows, as the checker has to know it.
//!
//! Invariant: no value is written twice in a run, so a value tells whose write a row shows.

use std::sync::{Arc, LazyLock};

use iolite_client::Content;
use iolite_values::{Cell, CellState, ColumnId, KeyRange, Operation, Row, RowKey, Schema, TableId, Value};
use serde::{Deserialize, Serialize};

use crate::app::{Handle, Stop, row_key};
use crate::random::Random;

/// Keys of each table: few, so that clients meet.
pub const KEYS: u64 = 3;
/// The columns that are written.
pub const COLUMNS: [&str; 2] = ["one", "two"];

const SCHEMA: &str = r#"{"tables":{
  "notes":{"columns":{"key":{"type":"int"},"one":{"type":"int"},"two":{"type":"int"}},"key":["key"],"consistency":"causal","onConflict":"manual"},
  "stars":{"columns":{"key":{"type":"int"},"one":{"type":"int"},"two":{"type":"int"}},"key":["key"],"consistency":"eventual"},
  "tasks":{"columns":{"key":{"type":"int"},"one":{"type":"int"}},"key":["key"]}
}}"#;

static READ: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(Schema::from_json(SCHEMA).expect("it is tested")));

pub fn schema() -> Arc<Schema> {
    READ.clone()
}

/// A table that syncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Synced {
    /// Causal: a person decides conflicts.
    Notes,
    /// Eventual: the later write of a column stands.
    Stars,
}

/// The calls of the app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OfRows {
    /// Writes a column of a row, which it inserts if it is not there.
    Write {
        table: Synced,
        key: i64,
        column: u8,
        value: i64,
    },
    /// Writes two notes, by `value` and the next one: they are one group.
    Both {
        keys: [i64; 2],
        value: i64,
    },
    /// Writes a column of a row that has to be there.
    Update {
        table: Synced,
        key: i64,
        column: u8,
        value: i64,
    },
    Delete {
        table: Synced,
        key: i64,
    },
    /// Writes both columns of a row into a task. Strong.
    Copy {
        table: Synced,
        key: i64,
        task: i64,
    },
    /// Writes the sum of all rows that sync into a task. Strong.
    Sum {
        task: i64,
    },
    /// Adds one to a task. Strong.
    Count {
        task: i64,
    },
    /// A decision of a person. It is no call that runs.
    Decide,
}

/// The change that a call made of a row, and the row that it saw before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// Effects of a row stand in the order of their places. Whoever notes it gives it one.
    pub place: u64,
    pub table: Synced,
    pub key: RowKey,
    pub saw: Row,
    pub did: Did,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Did {
    Insert(ColumnId, i64),
    Put(ColumnId, i64),
    Delete,
}

impl Synced {
    pub const ALL: [Synced; 2] = [Synced::Notes, Synced::Stars];

    pub fn name(self) -> &'static str {
        match self {
            Synced::Notes => "notes",
            Synced::Stars => "stars",
        }
    }

    pub fn table(self) -> TableId {
        TableId::of(self.name())
    }

    pub fn of(table: TableId) -> Option<Synced> {
        Synced::ALL.into_iter().find(|own| own.table() == table)
    }
}

impl Did {
    /// The value that it put, and where.
    pub fn value(&self) -> Option<(ColumnId, i64)> {
        match self {
            Did::Insert(column, value) | Did::Put(column, value) => Some((*column, *value)),
            Did::Delete => None,
        }
    }

    /// Whether nothing of an earlier effect on the same row is left in a column behind it.
    pub fn covers(&self, column: ColumnId) -> bool {
        match self {
            Did::Insert(..) | Did::Delete => true,
            Did::Put(own, _) => *own == column,
        }
    }
}

impl OfRows {
    /// A call at random. No other one has its `value` or the next three.
    pub fn random(random: &mut Random, value: i64) -> OfRows {
        let key = random.below(KEYS) as i64;
        let table = if random.chance(600) { Synced::Notes } else { Synced::Stars };
        let (column, task) = (random.below(2) as u8, random.below(KEYS) as i64);
        match random.below(20) {
            0..=5 => OfRows::Write { table, key, column, value },
            6..=8 => OfRows::Update { table, key, column, value },
            9 | 10 => OfRows::Both { keys: [key, (key + 1) % KEYS as i64], value },
            11 | 12 => OfRows::Delete { table, key },
            // The server takes no value below zero.
            13 => OfRows::Write { table: Synced::Notes, key, column, value: -value },
            14..=16 => OfRows::Copy { table, key, task },
            17 | 18 => OfRows::Sum { task },
            _ => OfRows::Count { task },
        }
    }

    /// Whether it is kept on the device, and runs once.
    pub fn is_kept(&self) -> bool {
        match self {
            OfRows::Write { .. } | OfRows::Both { .. } | OfRows::Update { .. } | OfRows::Delete { .. } => true,
            OfRows::Decide => true,
            OfRows::Copy { .. } | OfRows::Sum { .. } | OfRows::Count { .. } => false,
        }
    }

    /// Runs the closure. What it did to rows that sync is returned.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn run(&self, tx: &mut dyn Handle) -> Result<Vec<Effect>, Stop> {
        match self {
            OfRows::Write { table, key, column, value } => Ok(vec![write(tx, *table, *key, *column, *value)?]),
            OfRows::Both { keys: [one, other], value } => {
                let first = write(tx, Synced::Notes, *one, 0, *value)?;
                Ok(vec![first, write(tx, Synced::Notes, *other, 0, value + 1)?])
            }
            OfRows::Update { table, key, column, value } => {
                if tx.row(table.table(), &row_key(&[*key]))?.is_none() {
                    return Err(Stop::Abort("no such row".into()));
                }
                Ok(vec![write(tx, *table, *key, *column, *value)?])
            }
            OfRows::Delete { table, key } => {
                let key = row_key(&[*key]);
                let saw = tx.row(table.table(), &key)?.ok_or_else(|| Stop::Abort("no such row".into()))?;
                tx.delete(table.table(), &key)?;
                Ok(vec![Effect { place: 0, table: *table, key, saw, did: Did::Delete }])
            }
            OfRows::Copy { table, key, task } => {
                let row = tx.row(table.table(), &row_key(&[*key]))?;
                put_task(tx, *task, row.iter().map(sum_of).sum()).map(|()| Vec::new())
            }
            OfRows::Sum { task } => {
                let mut sum = 0;
                for table in Synced::ALL {
                    let rows = tx.range(table.table(), &KeyRange::all(), None, false)?;
                    sum += rows.iter().map(|(_, row)| sum_of(row)).sum::<i64>();
                }
                put_task(tx, *task, sum).map(|()| Vec::new())
            }
            OfRows::Count { task } => {
                let row = tx.row(TableId::of("tasks"), &row_key(&[*task]))?;
                put_task(tx, *task, row.iter().map(sum_of).sum::<i64>() + 1).map(|()| Vec::new())
            }
            OfRows::Decide => unreachable!("a person decided, and nothing runs"),
        }
    }
}

/// All of the app's rows, in words.
pub fn look(tx: &mut dyn Handle) -> Result<String, Stop> {
    let tables = ["notes", "stars", "tasks"].map(TableId::of);
    let rows: Result<Vec<_>, Stop> =
        tables.into_iter().map(|table| tx.range(table, &KeyRange::all(), None, false)).collect();
    Ok(format!("{:?}", rows?))
}

/// The number in a column of a row.
pub fn number(row: &Row, column: ColumnId) -> Option<i64> {
    match row.cell(column)? {
        CellState::Scalar(Value::Int(value)) | CellState::Register(Value::Int(value)) => Some(*value),
        _ => None,
    }
}

fn sum_of(row: &Row) -> i64 {
    COLUMNS.iter().filter_map(|column| number(row, ColumnId::of(column))).sum()
}

fn write(tx: &mut dyn Handle, table: Synced, key: i64, column: u8, value: i64) -> Result<Effect, Stop> {
    let (key, column) = (row_key(&[key]), ColumnId::of(COLUMNS[usize::from(column)]));
    let row = tx.row(table.table(), &key)?;
    let did = if row.is_some() {
        tx.write(Cell { table: table.table(), row: key.clone(), column }, Operation::Put(Value::Int(value)))?;
        Did::Put(column, value)
    } else {
        tx.insert(table.table(), &key, content(column, value))?;
        Did::Insert(column, value)
    };
    Ok(Effect { place: 0, table, key, saw: row.unwrap_or_default(), did })
}

/// A row with a value in one column, and nothing in the other.
fn content(column: ColumnId, value: i64) -> Content {
    let put = |own: &str| {
        let own = ColumnId::of(own);
        (own, vec![Operation::Put(Value::Int(if own == column { value } else { 0 }))])
    };
    COLUMNS.map(put).into()
}

fn put_task(tx: &mut dyn Handle, task: i64, value: i64) -> Result<(), Stop> {
    let (table, key, column) = (TableId::of("tasks"), row_key(&[task]), ColumnId::of("one"));
    let put = Operation::Put(Value::Int(value));
    if tx.exists(table, &key)? {
        tx.write(Cell { table, row: key, column }, put)
    } else {
        tx.insert(table, &key, [(column, vec![put])].into())
    }
}
