//! What a `live` binding writes, without a transaction: checked at once, and made into the arguments of one mutation.

use iolite_client::{LIVE, live_arguments};
use iolite_values::{Schema, Write};
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::failure::Failure;
use crate::layout::Layout;
use crate::operations;

/// The name under which a client is called with the arguments.
#[wasm_bindgen(js_name = liveName)]
pub fn live_name() -> String {
    LIVE.to_owned()
}

/// Collects operations on cells. It needs no core, so it works while there is none.
#[wasm_bindgen]
pub struct LiveWriter {
    schema: Schema,
    layouts: Vec<Layout>,
    writes: Vec<Write>,
}

#[wasm_bindgen]
impl LiveWriter {
    /// # Errors
    /// Code `schema`.
    #[wasm_bindgen(constructor)]
    pub fn new(schema: &str) -> Result<LiveWriter, JsValue> {
        let schema = Schema::from_json(schema).map_err(Failure::from)?;
        Ok(LiveWriter { schema, layouts: Vec::new(), writes: Vec::new() })
    }

    /// As of a core.
    ///
    /// # Errors
    /// A table or column that the schema does not have.
    #[wasm_bindgen(js_name = addTable)]
    pub fn add_table(&mut self, name: &str, columns: Vec<String>, wide: &Array) -> Result<u32, JsValue> {
        let wide: Vec<bool> = wide.iter().map(|flag| flag.is_truthy()).collect();
        self.layouts.push(Layout::new(&self.schema, name, &columns, &wide)?);
        Ok(self.layouts.len() as u32 - 1)
    }

    /// Whether a row can have this key.
    ///
    /// # Errors
    /// Values of other types or of another number than the primary key's.
    #[wasm_bindgen(js_name = checkKey)]
    pub fn check_key(&self, table: u32, key: &Array) -> Result<(), JsValue> {
        Ok(self.layout(table)?.row_key(key).map(drop)?)
    }

    /// Adds an operation, by the name that it has in a transaction of the core, and with the same arguments after the cell.
    ///
    /// # Errors
    /// What does not fit the column.
    pub fn write(
        &mut self,
        call: &str,
        table: u32,
        key: &Array,
        column: u32,
        given: &JsValue,
        more: &JsValue,
    ) -> Result<(), JsValue> {
        let layout = self.layout(table)?;
        let (cell, slot) = layout.cell(key, column)?;
        let place = layout.place(slot);
        let number = |js: &JsValue| js.as_f64().unwrap_or_default();
        let operation = match call {
            "put" => operations::put(slot, &place, given)?,
            "add" => operations::add(&place, given, number(more) as i32)?,
            "putTotal" => operations::put_total(&place, given)?,
            "setMember" => operations::set_member(slot, &place, given, more.is_truthy())?,
            "push" => operations::push(slot, &place, given)?,
            "setElement" => operations::set_element(slot, &place, number(given) as u32, more)?,
            "setEntry" => operations::set_entry(slot, &place, given, more)?,
            other => return Err(Failure::of_transaction(format!("{other:?} needs a transaction")).into()),
        };
        let write = Write { cell, operation };
        self.schema.check_asked(&write).map_err(Failure::from)?;
        self.writes.push(write);
        Ok(())
    }

    /// The arguments of one mutation that makes everything written since the last call.
    ///
    /// # Errors
    /// None for what was written here.
    pub fn take(&mut self) -> Result<String, JsValue> {
        let writes = std::mem::take(&mut self.writes);
        Ok(live_arguments(&self.schema, &writes).map_err(Failure::from)?)
    }
}

impl LiveWriter {
    fn layout(&self, table: u32) -> Result<&Layout, Failure> {
        self.layouts.get(table as usize).ok_or_else(|| Failure::of_transaction(format!("there is no table {table}")))
    }
}
