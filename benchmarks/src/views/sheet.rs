//! The sheet of `iolite bench views` on Iolite: a log whose operations set cells and move cursors. On Yjs it is `benchmarks/hocuspocus/src/sheet.js`.

use std::collections::BTreeMap;

use iolite::table::Register;
use iolite::{CallError, Client, Log, LogError, MutationHandle, Mutators, PeekError, Table, Value, View};

#[derive(Table)]
#[table(live, log = "sheet")]
pub struct Cells {
    #[key]
    sheet: String,
    #[key]
    at: String,
    #[column(default = "")]
    text: Register<String>,
}

#[derive(Table)]
#[table(live, log = "sheet")]
pub struct Cursors {
    #[key]
    sheet: String,
    #[key]
    who: String,
    #[column(default = "")]
    at: Register<String>,
}

/// The one sheet that there is.
pub const SHEET: &str = "budget";

pub fn operations(mutators: Mutators) -> Mutators {
    mutators
        .operation("sheet", "set_cell", |tx, (at, text): (String, String)| {
            tx.at(Cells::TEXT, (SHEET, at.as_str())).set(text)
        })
        .operation("sheet", "select", |tx, (who, at): (String, String)| {
            tx.at(Cursors::AT, (SHEET, who.as_str())).set(at)
        })
}

pub struct Sheet {
    client: Client,
    log: Log,
}

impl Sheet {
    pub fn join(client: &Client) -> Result<Sheet, LogError> {
        Ok(Sheet { client: client.clone(), log: client.log("sheet", SHEET)? })
    }

    pub fn set_cell(&self, at: &str, text: &str) -> Result<MutationHandle, CallError> {
        self.log.run("set_cell", &(at, text))
    }

    pub fn select(&self, who: &str, at: &str) -> Result<MutationHandle, CallError> {
        self.log.run("select", &(who, at))
    }

    pub fn cell(&self, view: View, at: &str) -> Result<String, PeekError> {
        self.client.peek(view, |tx| tx.at(Cells::TEXT, (SHEET, at)).get())
    }

    pub fn cells(&self, view: View) -> Result<BTreeMap<String, String>, PeekError> {
        let rows = self.client.peek(view, |tx| tx.all_with::<Cells>(&[Value::from(SHEET)]))?;
        Ok(rows.into_iter().map(|row| (row.at, row.text.0)).collect())
    }

    pub fn cursors(&self, view: View) -> Result<BTreeMap<String, String>, PeekError> {
        let rows = self.client.peek(view, |tx| tx.all_with::<Cursors>(&[Value::from(SHEET)]))?;
        Ok(rows.into_iter().map(|row| (row.who, row.at.0)).collect())
    }

    /// The cells that somebody may not see as this client does.
    pub fn uncertain(&self) -> Result<Vec<String>, PeekError> {
        let (now, seen) = (self.cells(View::Optimistic)?, self.cells(View::Delivered)?);
        Ok(now.into_iter().filter(|(at, text)| seen.get(at) != Some(text)).map(|(at, _)| at).collect())
    }
}
