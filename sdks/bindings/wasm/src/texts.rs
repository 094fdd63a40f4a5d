//! Collaborative texts. Positions and lengths are in UTF-16 units, which are those of JavaScript's strings.

use iolite_client::{EditError, Splice};
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::core::Core;
use crate::failure::Failure;
use crate::value::{inserted as inserted_text, ticket_from_js};

#[wasm_bindgen]
impl Core {
    /// How long a text is.
    #[wasm_bindgen(js_name = textLength)]
    pub fn text_length(&mut self, table: u32, key: &Array, column: u32) -> Result<u32, JsValue> {
        Ok(self.on_table(table, |transaction, layout| {
            let (cell, _) = layout.cell(key, column)?;
            Ok(transaction.text_length(&cell)?)
        })?)
    }

    /// Removes units of a text and inserts others in their place.
    pub fn splice(
        &mut self,
        table: u32,
        key: &Array,
        column: u32,
        at: u32,
        removed: u32,
        inserted: &JsValue,
    ) -> Result<(), JsValue> {
        Ok(self.write_on_table(table, |transaction, layout| {
            let (cell, slot) = layout.cell(key, column)?;
            let inserted = inserted_text(inserted, &layout.place(slot))?;
            Ok(transaction.splice(&cell, &Splice { at, removed, inserted: &inserted })?)
        })?)
    }

    /// The arguments of the `live` mutation that does this to a text, as it is shown optimistically; to be called at once. `fresh`: an id that was
    /// never used, by which a tab that follows is told from others.
    #[wasm_bindgen(js_name = liveEdit)]
    #[allow(clippy::too_many_arguments, reason = "JavaScript hands over no structs without making an object each time")]
    pub fn live_edit(
        &mut self,
        table: u32,
        key: &Array,
        column: u32,
        at: u32,
        removed: u32,
        inserted: &JsValue,
        fresh: &str,
    ) -> Result<String, JsValue> {
        let unknown = || Failure::of_transaction(format!("there is no table {table}"));
        let layout = self.layouts.get(table as usize).ok_or_else(unknown)?;
        let (cell, slot) = layout.cell(key, column)?;
        let inserted = inserted_text(inserted, &layout.place(slot))?;
        let splice = Splice { at, removed, inserted: &inserted };
        Ok(self.role.live_edit(ticket_from_js(fresh)?, &cell, &splice).map_err(Failure::from)?)
    }

    /// What the positions of `liveEdit` are of; `undefined` while that is not known here.
    #[wasm_bindgen(js_name = liveText)]
    pub fn live_text(&mut self, table: u32, key: &Array, column: u32) -> Result<Option<String>, JsValue> {
        let unknown = || Failure::of_transaction(format!("there is no table {table}"));
        let (cell, _) = self.layouts.get(table as usize).ok_or_else(unknown)?.cell(key, column)?;
        match self.role.live_text(&cell) {
            Ok(text) => Ok(Some(text)),
            Err(EditError::NotHeld | EditError::RowMissing) => Ok(None),
            Err(error) => Err(Failure::from(error).into()),
        }
    }
}
