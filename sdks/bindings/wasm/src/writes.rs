//! Writes of a running closure. Keys are arrays of their values.

use iolite_values::{ColumnType, ListOrder, Operation};
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::core::Core;
use crate::failure::Failure;
use crate::layout::Slot;
use crate::value::{Place, integer, text, value_from_js};

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

    /// Gives a scalar or a register a value.
    pub fn put(&mut self, table: u32, key: &Array, column: u32, value: &JsValue) -> Result<(), JsValue> {
        self.operate(table, key, column, |slot, place| {
            let value = slot.value(value, place)?;
            Ok(match slot.kind {
                ColumnType::Register(_) => Operation::Assign(value),
                ColumnType::Scalar(_)
                | ColumnType::Counter
                | ColumnType::Set(_)
                | ColumnType::List { .. }
                | ColumnType::Map(_) => Operation::Put(value),
            })
        })
    }

    /// Changes a counter by `sign` times `amount`.
    pub fn add(&mut self, table: u32, key: &Array, column: u32, amount: &JsValue, sign: i32) -> Result<(), JsValue> {
        self.operate(table, key, column, |_, place| {
            Ok(Operation::Add(integer(amount, place)?.wrapping_mul(i64::from(sign))))
        })
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
        self.operate(table, key, column, |slot, place| {
            let member = value_from_js(member, slot.scalar(), place)?;
            Ok(if present { Operation::Insert(member) } else { Operation::Remove(member) })
        })
    }

    /// Appends to a list.
    pub fn push(&mut self, table: u32, key: &Array, column: u32, value: &JsValue) -> Result<(), JsValue> {
        self.operate(table, key, column, |slot, place| {
            let value = value_from_js(value, slot.scalar(), place)?;
            let order = match slot.kind {
                ColumnType::List { of: _, order } => order,
                ColumnType::Scalar(_)
                | ColumnType::Register(_)
                | ColumnType::Counter
                | ColumnType::Set(_)
                | ColumnType::Map(_) => ListOrder::Strict,
            };
            Ok(Operation::Append { value, order })
        })
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
        self.operate(table, key, column, |slot, place| {
            Ok(Operation::SetAt { index, value: value_from_js(value, slot.scalar(), place)? })
        })
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
        self.operate(table, key, column, |slot, place| {
            let key = text(name, place)?;
            if value.is_undefined() {
                return Ok(Operation::RemoveEntry { key });
            }
            Ok(Operation::PutEntry { key, value: value_from_js(value, slot.scalar(), place)? })
        })
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
