//! Conflicts of causal tables, as arrays.

use iolite_client::{Base, Cells, Choice, Conflict, Keep, RowVersion};
use iolite_values::{Operation, Row, Value};
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::blobs::failure;
use crate::core::{Core, wall};
use crate::failure::Failure;
use crate::layout::Layout;
use crate::role::Role;

#[wasm_bindgen]
impl Core {
    /// The conflicts of a causal table, in the order of keys: `[key, base, local, server, version, calls]` each. A row is an array as runs read it, or `null`
    /// if there is none.
    ///
    /// # Errors
    /// Code `call`: the table is not causal.
    pub fn conflicts(&self, table: u32) -> Result<Array, JsValue> {
        let layout = self.layout_of(table)?;
        let Role::Leads(client) = &self.role else { return Ok(Array::new()) };
        let conflicts = client.conflicts(layout.name()).map_err(|error| failure(&error.to_string()))?;
        let listed: Result<Vec<Array>, Failure> = conflicts.iter().map(|conflict| listed(layout, conflict)).collect();
        Ok(listed?.into_iter().collect())
    }

    /// Decides conflicts: `[key, version, keep, columns, values]` each, where `keep` is `local`, `server` or `values`. Returns the counter of the call that
    /// this is.
    ///
    /// # Errors
    /// Code `call`: a row was written again meanwhile, or is in no conflict; a value does not fit its column.
    pub fn resolve(&mut self, table: u32, choices: &Array, wall_ms: f64) -> Result<f64, JsValue> {
        let layout = self.layout_of(table)?;
        let choices: Result<Vec<Choice>, Failure> = choices.iter().map(|choice| read_choice(layout, &choice)).collect();
        let (choices, name) = (choices?, layout.name().to_owned());
        let resolved = self.role.client()?.resolve(wall(wall_ms), &name, &choices);
        Ok(resolved.map_err(|error| failure(&error.to_string()))?.0 as f64)
    }
}

impl Core {
    fn layout_of(&self, table: u32) -> Result<&Layout, Failure> {
        self.layouts.get(table as usize).ok_or_else(|| failure("there is no such table"))
    }
}

fn listed(layout: &Layout, conflict: &Conflict) -> Result<Array, Failure> {
    let row = |row: Option<&Row>| match row {
        Some(row) => layout.plain_row_to_js(&conflict.key, row).map(JsValue::from),
        None => Ok(JsValue::NULL),
    };
    let base = match &conflict.base {
        Base::Row(row) => Some(row).filter(|row| row.exists()),
        Base::Version(_) => None,
    };
    let version = JsValue::from_str(&version_to_text(conflict.server_version));
    let parts = [
        layout.key_to_js(&conflict.key)?.into(),
        row(base)?,
        row(conflict.local.as_ref())?,
        row(conflict.server.as_ref())?,
        version,
        JsValue::from_f64(conflict.calls.len() as f64),
    ];
    Ok(parts.iter().collect())
}

fn read_choice(layout: &Layout, choice: &JsValue) -> Result<Choice, Failure> {
    let none = || failure("a choice is [key, version, keep, columns, values]");
    let parts: &Array = choice.dyn_ref().ok_or_else(none)?;
    let array = |at: u32| parts.get(at).dyn_into::<Array>().map_err(|_| none());
    let key = layout.row_key(&array(0)?)?;
    let server = version_of_text(&parts.get(1).as_string().ok_or_else(none)?)?;
    let keep = match parts.get(2).as_string().as_deref() {
        Some("local") => Keep::Local,
        Some("server") => Keep::Server,
        Some("values") => {
            let columns: Vec<u32> = array(3)?.iter().filter_map(|place| place.as_f64()).map(|at| at as u32).collect();
            Keep::Values(cells(layout, &columns, &array(4)?)?)
        }
        Some(_) | None => return Err(none()),
    };
    Ok(Choice { key, server, keep })
}

fn cells(layout: &Layout, columns: &[u32], values: &Array) -> Result<Cells, Failure> {
    let content = layout.content(columns, values)?;
    let cell = |operations: Vec<Operation>| match operations.into_iter().next() {
        Some(Operation::Put(value) | Operation::Assign(value)) => value,
        _ => Value::Null,
    };
    Ok(content.into_iter().map(|(column, operations)| (column, cell(operations))).collect())
}

pub(crate) fn version_to_text(RowVersion(bytes): RowVersion) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// # Errors
/// Code `call`: no version of a row.
pub(crate) fn version_of_text(text: &str) -> Result<RowVersion, Failure> {
    let wrong = || failure(&format!("{text:?} is no version of a row: take one from version() of a table"));
    let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32);
    number.map(|number| RowVersion(number.to_be_bytes())).ok_or_else(wrong)
}
