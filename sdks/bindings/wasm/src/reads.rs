//! Reads of a running closure. Keys are arrays of their values; rows are arrays in the order of the table's columns.

use iolite_client::{Question, Transaction};
use iolite_values::KeyRange;
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::conflicts::version_to_text;
use crate::core::Core;
use crate::failure::Failure;
use crate::layout::Layout;
use crate::value::{text, to_js, value_from_js};

#[wasm_bindgen]
impl Core {
    /// The version of a row; `undefined` if there is none.
    pub fn version(&mut self, table: u32, key: &Array) -> Result<Option<String>, JsValue> {
        Ok(self.on_table(table, |transaction, layout| {
            let version = transaction.version(layout.table, &layout.row_key(key)?)?;
            Ok(version.map(version_to_text))
        })?)
    }

    /// A row, or `undefined`. In a live table: the row as it begins, if nothing was written to it.
    pub fn row(&mut self, table: u32, key: &Array) -> Result<Option<Array>, JsValue> {
        Ok(self.on_table(table, |transaction, layout| {
            let key = layout.row_key(key)?;
            let row = transaction.row(layout.table, &key)?;
            let row = if layout.is_live() { Some(row.unwrap_or_default()) } else { row };
            row.map(|row| layout.row_to_js(transaction, &key, &row)).transpose()
        })?)
    }

    /// Several rows. If some are missing, all of those are fetched at once.
    pub fn rows(&mut self, table: u32, keys: &Array) -> Result<Array, JsValue> {
        let rows = Array::new();
        let mut stopped = None;
        for key in keys.iter() {
            match self.row(table, &Array::from(&key)) {
                Ok(row) => {
                    rows.push(&row.map_or(JsValue::UNDEFINED, JsValue::from));
                }
                Err(failure) if self.is_stopped() => stopped = Some(failure),
                Err(failure) => return Err(failure),
            }
        }
        stopped.map_or(Ok(rows), Err)
    }

    pub fn has(&mut self, table: u32, key: &Array) -> Result<bool, JsValue> {
        Ok(self.on_table(table, |transaction, layout| Ok(transaction.exists(layout.table, &layout.row_key(key)?)?))?)
    }

    /// Rows whose key begins with `prefix`, from `from` (included) or behind all that begin with `after`, to `to` (not included).
    #[allow(clippy::too_many_arguments, reason = "JavaScript hands over no structs without making an object each time")]
    pub fn range(
        &mut self,
        table: u32,
        prefix: Option<Array>,
        from: Option<Array>,
        after: Option<Array>,
        to: Option<Array>,
        limit: Option<u32>,
        reverse: bool,
    ) -> Result<Array, JsValue> {
        Ok(self.on_table(table, |transaction, layout| {
            let within = beginning_with(layout, prefix)?;
            let from = beginning_with(layout, from)?.lower;
            let behind = beginning_with(layout, after)?.upper.unwrap_or_default();
            let to = to.filter(|values| values.length() > 0);
            let to = to.map(|values| Ok::<_, Failure>(beginning_with(layout, Some(values))?.lower)).transpose()?;
            let lower = within.lower.max(from).max(behind);
            let upper = [within.upper, to].into_iter().flatten().min();
            match upper {
                Some(upper) if upper <= lower => Ok(Array::new()),
                upper => rows(transaction, layout, &KeyRange { lower, upper }, limit, reverse),
            }
        })?)
    }

    /// The rows that a question asks for, by column names: conditions, order and limit, in JSON.
    pub fn ask(&mut self, table: u32, question: &str) -> Result<Array, JsValue> {
        Ok(self.on_table(table, |transaction, layout| {
            let (name, definition) = transaction.schema().find(layout.table)?;
            let question = Question::from_json(name, definition, question)?;
            let rows = Array::new();
            for (key, row) in transaction.ask(layout.table, &question)? {
                rows.push(&JsValue::from(layout.row_to_js(transaction, &key, &row)?));
            }
            Ok(rows)
        })?)
    }

    /// What a cell holds.
    pub fn cell(&mut self, table: u32, key: &Array, column: u32) -> Result<JsValue, JsValue> {
        Ok(self.on_table(table, |transaction, layout| {
            let (cell, slot) = layout.cell(key, column)?;
            let state = transaction.cell(&cell)?;
            layout.state_to_js(transaction, &cell.row, slot, state.as_ref())
        })?)
    }

    /// Whether a set has this member.
    pub fn contains(&mut self, table: u32, key: &Array, column: u32, member: &JsValue) -> Result<bool, JsValue> {
        Ok(self.on_table(table, |transaction, layout| {
            let (cell, slot) = layout.cell(key, column)?;
            let member = value_from_js(member, slot.scalar(), &layout.place(slot))?;
            Ok(transaction.contains(&cell, &member)?)
        })?)
    }

    /// The member of a set at a place in its order, or `undefined`.
    #[wasm_bindgen(js_name = memberAt)]
    pub fn member_at(&mut self, table: u32, key: &Array, column: u32, index: u32) -> Result<JsValue, JsValue> {
        Ok(self.on_table(table, |transaction, layout| {
            let (cell, slot) = layout.cell(key, column)?;
            let member = transaction.member_at(&cell, index)?;
            member.map_or(Ok(JsValue::UNDEFINED), |value| to_js(&value, slot.is_wide(), &layout.place(slot)))
        })?)
    }

    /// A map's entry, or `undefined`.
    pub fn entry(&mut self, table: u32, key: &Array, column: u32, name: &JsValue) -> Result<JsValue, JsValue> {
        Ok(self.on_table(table, |transaction, layout| {
            let (cell, slot) = layout.cell(key, column)?;
            let place = layout.place(slot);
            let entry = transaction.entry(&cell, &text(name, &place)?)?;
            entry.map_or(Ok(JsValue::UNDEFINED), |value| to_js(&value, slot.is_wide(), &place))
        })?)
    }

    /// A list's element, or `undefined`.
    pub fn element(&mut self, table: u32, key: &Array, column: u32, index: u32) -> Result<JsValue, JsValue> {
        Ok(self.on_table(table, |transaction, layout| {
            let (cell, slot) = layout.cell(key, column)?;
            let element = transaction.element(&cell, index)?;
            element.map_or(Ok(JsValue::UNDEFINED), |value| to_js(&value, slot.is_wide(), &layout.place(slot)))
        })?)
    }

    /// A list's elements from an index to before another.
    pub fn elements(&mut self, table: u32, key: &Array, column: u32, from: u32, to: u32) -> Result<Array, JsValue> {
        Ok(self.on_table(table, |transaction, layout| {
            let (cell, slot) = layout.cell(key, column)?;
            let (elements, place) = (transaction.elements(&cell, from, to)?, layout.place(slot));
            elements.iter().map(|value| to_js(value, slot.is_wide(), &place)).collect()
        })?)
    }
}

/// All rows, if there are no values.
fn beginning_with(layout: &Layout, values: Option<Array>) -> Result<KeyRange, Failure> {
    Ok(KeyRange::prefix(&layout.key_values(&values.unwrap_or_default())?)?)
}

fn rows(
    transaction: &mut Transaction<'_>,
    layout: &Layout,
    range: &KeyRange,
    limit: Option<u32>,
    reverse: bool,
) -> Result<Array, Failure> {
    let rows = Array::new();
    for (key, row) in transaction.range(layout.table, range, limit.map(|limit| limit as usize), reverse)? {
        rows.push(&JsValue::from(layout.row_to_js(transaction, &key, &row)?));
    }
    Ok(rows)
}
