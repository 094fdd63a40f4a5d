//! Values between Rust and JavaScript, without JSON.
//!
//! Invariant: nothing is rounded: an integer that a number cannot hold, and a string with half of a character, are errors that name their column.

use std::sync::Arc;

use iolite_client::Ticket;
use iolite_values::{CellState, ColumnType, Edit, Operation, Scalar, Text, Value};
use js_sys::{Array, JsString, Map, Set, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};

use crate::blob::{blob_from_js, blob_to_js};
use crate::failure::Failure;
use crate::layout::Slot;

/// Where a value belongs, for messages.
pub(crate) struct Place<'a> {
    pub(crate) table: &'a str,
    pub(crate) column: &'a str,
}

/// 2^53 - 1, the largest integer up to which numbers are exact.
const SAFE_MAX: i64 = (1 << 53) - 1;

impl Place<'_> {
    fn wrong(&self, js: &JsValue, scalar: Scalar) -> Failure {
        self.failure(&format!("it is a column of type {}, and {} was given", scalar.name(), show(js)))
    }

    pub(crate) fn failure(&self, problem: &str) -> Failure {
        Failure::of_transaction(format!("table {:?}, column {:?}: {problem}", self.table, self.column))
    }

    fn out_of_range(&self, number: &str) -> Failure {
        Failure::integer_range(format!(
            "table {:?}, column {:?}: {number} is not exact as a number: declare it s.int64(), or s.counter64()",
            self.table, self.column
        ))
    }
}

fn show(js: &JsValue) -> String {
    match js.as_string() {
        Some(text) => format!("{:?}", text.chars().take(64).collect::<String>()),
        None if js.is_object() => "an object".into(),
        None => {
            let shown = format!("{js:?}");
            shown.strip_prefix("JsValue(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(&shown).to_owned()
        }
    }
}

/// # Errors
/// A value of another type, an integer that is not exact, NaN.
pub(crate) fn value_from_js(js: &JsValue, scalar: Scalar, place: &Place<'_>) -> Result<Value, Failure> {
    let wrong = || place.wrong(js, scalar);
    match scalar {
        Scalar::Bool => js.as_bool().map(Value::Bool).ok_or_else(wrong),
        Scalar::Int => integer(js, place).map(Value::Int),
        Scalar::Float => {
            let number = js.as_f64().ok_or_else(wrong)?;
            Value::float(number).map_err(|error| place.failure(&error.to_string()))
        }
        Scalar::String => string(js, place)?.map(Value::from).ok_or_else(wrong),
        Scalar::Bytes => js.dyn_ref::<Uint8Array>().map(|bytes| Value::bytes(bytes.to_vec())).ok_or_else(wrong),
        Scalar::Id => js.as_string().and_then(|text| text.parse().ok()).map(Value::Id).ok_or_else(wrong),
        Scalar::Blob => blob_from_js(js, place)?.ok_or_else(wrong),
    }
}

/// The string, if it is one. Half of a character would become a replacement character on its way here, so that two strings, or two keys, were one.
fn string(js: &JsValue, place: &Place<'_>) -> Result<Option<String>, Failure> {
    let text = js.as_string();
    let is_suspect = text.as_ref().is_some_and(|text| text.contains(char::REPLACEMENT_CHARACTER));
    if is_suspect && !js.dyn_ref::<JsString>().is_some_and(JsString::is_valid_utf16) {
        let problem =
            "the string has half of a character, a surrogate without the other one: cut strings between characters";
        return Err(place.failure(problem));
    }
    Ok(text)
}

/// # Errors
/// No integer, or one that is not exact.
pub(crate) fn integer(js: &JsValue, place: &Place<'_>) -> Result<i64, Failure> {
    if let Some(number) = js.as_f64() {
        return match number {
            _ if number.fract() != 0.0 => Err(place.wrong(js, Scalar::Int)),
            _ if number.abs() > SAFE_MAX as f64 => Err(place.out_of_range(&number.to_string())),
            _ => Ok(number as i64),
        };
    }
    if !js.is_bigint() {
        return Err(place.wrong(js, Scalar::Int));
    }
    i64::try_from(js.clone()).map_err(|big| {
        Failure::integer_range(format!(
            "table {:?}, column {:?}: {big:?} has more than 64 bits",
            place.table, place.column
        ))
    })
}

/// # Errors
/// An integer that a number cannot hold.
pub(crate) fn to_js(value: &Value, wide: bool, place: &Place<'_>) -> Result<JsValue, Failure> {
    Ok(match value {
        Value::Null => JsValue::NULL,
        Value::Bool(value) => JsValue::from_bool(*value),
        Value::Int(value) => integer_to_js(*value, wide, place)?,
        Value::Float(value) => JsValue::from_f64(*value),
        Value::String(text) => JsValue::from_str(text),
        Value::Bytes(bytes) => Uint8Array::from(&bytes[..]).into(),
        Value::Id(id) => JsValue::from_str(&id.to_string()),
        Value::Blob(blob) => blob_to_js(blob, place)?,
    })
}

fn integer_to_js(value: i64, wide: bool, place: &Place<'_>) -> Result<JsValue, Failure> {
    if wide {
        return Ok(JsValue::from(value));
    }
    if value.unsigned_abs() > SAFE_MAX as u64 {
        return Err(place.out_of_range(&value.to_string()));
    }
    Ok(JsValue::from_f64(value as f64))
}

/// `read` says what a text says.
///
/// # Errors
/// As [`to_js`].
pub(crate) fn cell_to_js(
    state: &CellState,
    wide: bool,
    place: &Place<'_>,
    read: impl FnOnce(&Text) -> String,
) -> Result<JsValue, Failure> {
    match state {
        CellState::Row(exists) => Ok(JsValue::from_bool(*exists)),
        CellState::Scalar(value) | CellState::Register(value) => to_js(value, wide, place),
        CellState::Counter(total) => integer_to_js(*total, wide, place),
        CellState::Set(members) => {
            let set = Set::new(&JsValue::UNDEFINED);
            for member in members {
                set.add(&to_js(member, wide, place)?);
            }
            Ok(set.into())
        }
        CellState::List(elements) => {
            let list = Array::new();
            for element in elements {
                list.push(&to_js(element, wide, place)?);
            }
            Ok(list.into())
        }
        CellState::Map(entries) => {
            let map = Map::new();
            for (key, value) in entries {
                map.set(&JsValue::from_str(key), &to_js(value, wide, place)?);
            }
            Ok(map.into())
        }
        CellState::Text(text) => Ok(JsValue::from_str(&read(text))),
        CellState::Merged(merged) => cell_to_js(merged.plain(), wide, place, read),
    }
}

/// The operations that give a new cell this content. Sets and lists come as an array, maps as one of pairs.
///
/// # Errors
/// A value that does not fit the column.
pub(crate) fn operations_from_js(js: &JsValue, slot: &Slot, place: &Place<'_>) -> Result<Vec<Operation>, Failure> {
    let elements = || {
        let array = js.dyn_ref::<Array>().ok_or_else(|| place.failure("its content is iterable"))?;
        Ok::<_, Failure>(array.iter())
    };
    match slot.kind {
        ColumnType::Scalar(_) => Ok(vec![Operation::Put(slot.value(js, place)?)]),
        ColumnType::Register(_) => Ok(vec![Operation::Assign(slot.value(js, place)?)]),
        ColumnType::Counter => Ok(vec![Operation::Add(integer(js, place)?)]),
        ColumnType::Set(of) => {
            elements()?.map(|member| Ok(Operation::Insert(value_from_js(&member, of, place)?))).collect()
        }
        ColumnType::List { of, order } => elements()?
            .map(|element| Ok(Operation::Append { value: value_from_js(&element, of, place)?, order }))
            .collect(),
        ColumnType::Map(of) => elements()?
            .map(|entry| {
                let entry = entry.dyn_ref::<Array>().ok_or_else(|| place.failure("its entries are pairs"))?;
                let value = value_from_js(&entry.get(1), of, place)?;
                Ok(Operation::PutEntry { key: text(&entry.get(0), place)?, value })
            })
            .collect(),
        ColumnType::Text => {
            let first = string(js, place)?.ok_or_else(|| place.failure("a text begins with a string"))?;
            Ok(if first.is_empty() { Vec::new() } else { vec![Operation::Edit(Edit::first(&first).into())] })
        }
    }
}

/// # Errors
/// Something other than a string, or one with half of a character.
pub(crate) fn text(js: &JsValue, place: &Place<'_>) -> Result<Arc<str>, Failure> {
    string(js, place)?.map(Arc::from).ok_or_else(|| place.failure("the keys of a map are strings"))
}

/// # Errors
/// As [`text`].
pub(crate) fn inserted(js: &JsValue, place: &Place<'_>) -> Result<String, Failure> {
    string(js, place)?.ok_or_else(|| place.failure("a string is inserted into a text"))
}

/// # Errors
/// It is no id.
pub(crate) fn ticket_from_js(ticket: &str) -> Result<Ticket, Failure> {
    ticket.parse().map(Ticket).map_err(|_| Failure::of_transaction("a call is named by an id"))
}
