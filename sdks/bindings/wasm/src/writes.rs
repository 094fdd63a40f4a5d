//! Writes of a running closure. Keys are arrays of their values.

use iolite_values::Operation;
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::conflicts::version_of_text;
use crate::core::Core;
use crate::failure::Failure;
use crate::layout::Slot;
use crate::operations;
use crate::value::Place;

#[wasm_bindgen]
impl Core {
    /// Makes a row. `values[i]` belongs to the column of the number `columns[i]`.
    pub fn insert(&mut self, table: u32, key: &Array, columns: Vec<u32>, values: &Array) -> Result<(), JsValue> {
        Ok(self.write_on_table(table, |transaction, layout| {
            let content = layout.content(&columns, values)?;
            Ok(transaction.insert(layout.table, &layout.row_key(key)?, content)?)
        })?)
    }

    pub fn delete(&mut self, table: u32, key: &Array) -> Result<(), JsValue> {
        Ok(self.write_on_table(table, |transaction, layout| {
            Ok(transaction.delete(layout.table, &layout.row_key(key)?)?)
        })?)
    }

    /// Says which version of a row the user saw, in a table that syncs.
    pub fn base(&mut self, table: u32, key: &Array, version: &str) -> Result<(), JsValue> {
        let version = version_of_text(version)?;
        Ok(self.write_on_table(table, |transaction, layout| {
            transaction.base(&layout.row_key(key)?, version);
            Ok(())
        })?)
    }

    /// Gives a scalar or a register a value.
    pub fn put(&mut self, table: u32, key: &Array, column: u32, value: &JsValue) -> Result<(), JsValue> {
        self.operate(table, key, column, |slot, place| operations::put(slot, place, value))
    }

    /// Changes a counter by `sign` times `amount`.
    pub fn add(&mut self, table: u32, key: &Array, column: u32, amount: &JsValue, sign: i32) -> Result<(), JsValue> {
        self.operate(table, key, column, |_, place| operations::add(place, amount, sign))
    }

    /// Gives a counter a total.
    #[wasm_bindgen(js_name = putTotal)]
    pub fn put_total(&mut self, table: u32, key: &Array, column: u32, total: &JsValue) -> Result<(), JsValue> {
        self.operate(table, key, column, |_, place| operations::put_total(place, total))
    }

    /// Puts a value into a set, or takes it out.
    #[wasm_bindgen(js_name = setMember)]
    pub fn set_member(
        &mut self,
        table: u32,
        key: &Array,
        column: u32,
        member: &JsValue,
        present: bool,
    ) -> Result<(), JsValue> {
        self.operate(table, key, column, |slot, place| operations::set_member(slot, place, member, present))
    }

    /// Appends to a list.
    pub fn push(&mut self, table: u32, key: &Array, column: u32, value: &JsValue) -> Result<(), JsValue> {
        self.operate(table, key, column, |slot, place| operations::push(slot, place, value))
    }

    /// Replaces a list's element.
    #[wasm_bindgen(js_name = setElement)]
    pub fn set_element(
        &mut self,
        table: u32,
        key: &Array,
        column: u32,
        index: u32,
        value: &JsValue,
    ) -> Result<(), JsValue> {
        self.operate(table, key, column, |slot, place| operations::set_element(slot, place, index, value))
    }

    /// Gives a map's entry a value, or removes it if that is `undefined`.
    #[wasm_bindgen(js_name = setEntry)]
    pub fn set_entry(
        &mut self,
        table: u32,
        key: &Array,
        column: u32,
        name: &JsValue,
        value: &JsValue,
    ) -> Result<(), JsValue> {
        self.operate(table, key, column, |slot, place| operations::set_entry(slot, place, name, value))
    }
}

impl Core {
    fn operate(
        &mut self,
        table: u32,
        key: &Array,
        column: u32,
        operation: impl FnOnce(&Slot, &Place<'_>) -> Result<Operation, Failure>,
    ) -> Result<(), JsValue> {
        Ok(self.write_on_table(table, |transaction, layout| {
            let (cell, slot) = layout.cell(key, column)?;
            Ok(transaction.write(cell, operation(slot, &layout.place(slot))?)?)
        })?)
    }
}
