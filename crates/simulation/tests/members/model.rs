//! The app of the members: operations on one log, as closures and as a model.

use std::collections::BTreeMap;

use iolite_client::{Closed, RunError, Transaction};
use iolite_values::{Cell, CellState, ColumnId, KeyRange, Operation, Row, RowKey, TableId, Value};
use serde::{Deserialize, Serialize};

pub const SCHEMA: &str = r#"{"logs":{"board":{"initial":"begin"}},"tables":{
  "places":{"columns":{"board":{"type":"int"},"at":{"type":"string"},"text":{"type":"string","default":""},"number":{"type":"int","default":0}},
    "key":["board","at"],"live":true,"consistency":"log","log":"board"},
  "members":{"columns":{"board":{"type":"int"},"user":{"type":"string"}},"key":["board","user"],"indexes":{"byUser":["user"]}},
  "hits":{"columns":{"key":{"type":"int"},"value":{"type":"counter"}},"key":["key"],"live":true}}}"#;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    Add {
        by: i64,
    },
    Double,
    /// Takes the place of nobody, or gives up.
    Claim,
    Leave,
    /// Writes what it draws, which every member has to draw alike.
    Draw,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Unlike that of every other call: client and number.
    pub id: String,
    pub board: i64,
    pub step: Step,
}

/// The content of a board: its numbers and texts. What was drawn is apart, as the model cannot draw.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    pub rows: BTreeMap<String, (String, i64)>,
}

impl State {
    pub fn number(&self) -> i64 {
        self.rows.get("sum").map_or(0, |(_, number)| *number)
    }

    pub fn owner(&self) -> &str {
        self.rows.get("owner").map_or("", |(text, _)| text)
    }

    /// The ids of the operations that took effect, in order.
    pub fn trace(&self) -> Vec<String> {
        let all = self.rows.get("trace").map_or("", |(text, _)| text.as_str());
        all.split(' ').filter(|id| !id.is_empty()).map(str::to_owned).collect()
    }

    /// Without what was drawn.
    pub fn shown(&self) -> State {
        let rows = self.rows.iter().filter(|(at, _)| *at != "drawn").map(|(at, row)| (at.clone(), row.clone()));
        State { rows: rows.collect() }
    }

    /// The state after an operation, if that does not give up.
    pub fn after(&self, call: &Call) -> State {
        let mut next = self.clone();
        match &call.step {
            Step::Add { by } => next.row("sum").1 = next.number().wrapping_add(*by),
            Step::Double => next.row("sum").1 = next.number().wrapping_mul(2),
            Step::Claim if !self.owner().is_empty() => return next,
            Step::Claim => next.row("owner").0.clone_from(&call.id),
            Step::Leave => next.row("owner").0.clear(),
            Step::Draw => {}
        }
        let trace = &mut next.row("trace").0;
        trace.push_str(&call.id);
        trace.push(' ');
        next
    }

    fn row(&mut self, at: &str) -> &mut (String, i64) {
        self.rows.entry(at.to_owned()).or_default()
    }
}

fn key(board: i64, at: &str) -> RowKey {
    RowKey::new(&[Value::Int(board), Value::from(at)]).expect("short")
}

fn cell(board: i64, at: &str, column: &str) -> Cell {
    Cell { table: TableId::of("places"), row: key(board, at), column: ColumnId::of(column) }
}

fn number(tx: &mut Transaction<'_>, board: i64, at: &str) -> Result<i64, RunError> {
    Ok(match tx.cell(&cell(board, at, "number"))? {
        Some(CellState::Scalar(Value::Int(number))) => number,
        _ => 0,
    })
}

fn text(tx: &mut Transaction<'_>, board: i64, at: &str) -> Result<String, RunError> {
    Ok(match tx.cell(&cell(board, at, "text"))? {
        Some(CellState::Scalar(Value::String(text))) => text.to_string(),
        _ => String::new(),
    })
}

fn put_text(tx: &mut Transaction<'_>, board: i64, at: &str, text: &str) -> Result<(), RunError> {
    tx.write(cell(board, at, "text"), Operation::Put(Value::from(text)))
}

/// Runs an operation by its full name.
pub fn operate(tx: &mut Transaction<'_>, name: &str, arguments: &str) -> Closed {
    match name {
        "board.begin" => Closed::Returned,
        "board.step" => {
            let call: Call = serde_json::from_str(arguments).expect("arguments come back as they were given");
            match step(tx, &call) {
                Ok(true) => Closed::Returned,
                Ok(false) => Closed::Aborted("taken".into()),
                Err(error) => Closed::Failed(error.to_string()),
            }
        }
        "hit" => {
            let hit = Cell {
                table: TableId::of("hits"),
                row: RowKey::new(&[Value::Int(1)]).expect("short"),
                column: ColumnId::of("value"),
            };
            match tx.write(hit, Operation::Add(1)) {
                Ok(()) => Closed::Returned,
                Err(error) => Closed::Failed(error.to_string()),
            }
        }
        _ => Closed::Unknown,
    }
}

fn step(tx: &mut Transaction<'_>, call: &Call) -> Result<bool, RunError> {
    let board = call.board;
    match &call.step {
        Step::Add { by } => {
            let before = number(tx, board, "sum")?;
            tx.write(cell(board, "sum", "number"), Operation::Put(Value::Int(before.wrapping_add(*by))))?;
        }
        Step::Double => {
            let before = number(tx, board, "sum")?;
            tx.write(cell(board, "sum", "number"), Operation::Put(Value::Int(before.wrapping_mul(2))))?;
        }
        Step::Claim if !text(tx, board, "owner")?.is_empty() => return Ok(false),
        Step::Claim => put_text(tx, board, "owner", &call.id)?,
        Step::Leave => put_text(tx, board, "owner", "")?,
        Step::Draw => {
            let drawn = (tx.random() % 1000) as i64;
            tx.write(cell(board, "drawn", "number"), Operation::Put(Value::Int(drawn)))?;
        }
    }
    let trace = text(tx, board, "trace")?;
    put_text(tx, board, "trace", &format!("{trace}{} ", call.id))?;
    Ok(true)
}

/// All of a board.
pub fn look(tx: &mut Transaction<'_>, board: i64) -> Result<State, RunError> {
    let range = KeyRange::prefix(&[Value::Int(board)]).expect("short");
    let rows = tx.range(TableId::of("places"), &range, None, false)?;
    let read = |(key, row): (RowKey, Row)| {
        let at = match key.values().ok()?.pop()? {
            Value::String(at) => at.to_string(),
            _ => return None,
        };
        let text = match row.cell(ColumnId::of("text")) {
            Some(CellState::Scalar(Value::String(text))) => text.to_string(),
            _ => String::new(),
        };
        let number = match row.cell(ColumnId::of("number")) {
            Some(CellState::Scalar(Value::Int(number))) => *number,
            _ => 0,
        };
        Some((at, (text, number)))
    };
    Ok(State { rows: rows.into_iter().filter_map(read).collect() })
}
