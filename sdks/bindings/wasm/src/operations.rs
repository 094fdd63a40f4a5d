//! Operations from JavaScript values: for closures, and for `live` bindings.

use iolite_values::{ColumnType, ListOrder, Operation};
use wasm_bindgen::JsValue;

use crate::failure::Failure;
use crate::layout::Slot;
use crate::value::{Place, integer, text, value_from_js};

/// A scalar or a register gets a value.
pub(crate) fn put(slot: &Slot, place: &Place<'_>, value: &JsValue) -> Result<Operation, Failure> {
    let value = slot.value(value, place)?;
    Ok(match slot.kind {
        ColumnType::Register(_) => Operation::Assign(value),
        ColumnType::Scalar(_)
        | ColumnType::Counter
        | ColumnType::Set(_)
        | ColumnType::List { .. }
        | ColumnType::Map(_)
        | ColumnType::Text => Operation::Put(value),
    })
}

/// A counter is changed by `sign` times `amount`.
pub(crate) fn add(place: &Place<'_>, amount: &JsValue, sign: i32) -> Result<Operation, Failure> {
    Ok(Operation::Add(integer(amount, place)?.wrapping_mul(i64::from(sign))))
}

pub(crate) fn put_total(place: &Place<'_>, total: &JsValue) -> Result<Operation, Failure> {
    Ok(Operation::PutTotal(integer(total, place)?))
}

/// A value is put into a set, or taken out.
pub(crate) fn set_member(
    slot: &Slot,
    place: &Place<'_>,
    member: &JsValue,
    present: bool,
) -> Result<Operation, Failure> {
    let member = value_from_js(member, slot.scalar(), place)?;
    Ok(if present { Operation::Insert(member) } else { Operation::Remove(member) })
}

/// Appends to a list.
pub(crate) fn push(slot: &Slot, place: &Place<'_>, value: &JsValue) -> Result<Operation, Failure> {
    let value = value_from_js(value, slot.scalar(), place)?;
    let order = match slot.kind {
        ColumnType::List { of: _, order } => order,
        ColumnType::Scalar(_)
        | ColumnType::Register(_)
        | ColumnType::Counter
        | ColumnType::Set(_)
        | ColumnType::Map(_)
        | ColumnType::Text => ListOrder::Strict,
    };
    Ok(Operation::Append { value, order })
}

/// Replaces a list's element.
pub(crate) fn set_element(slot: &Slot, place: &Place<'_>, index: u32, value: &JsValue) -> Result<Operation, Failure> {
    Ok(Operation::SetAt { index, value: value_from_js(value, slot.scalar(), place)? })
}

/// Gives a map's entry a value, or removes it if that is `undefined`.
pub(crate) fn set_entry(slot: &Slot, place: &Place<'_>, name: &JsValue, value: &JsValue) -> Result<Operation, Failure> {
    let key = text(name, place)?;
    if value.is_undefined() {
        return Ok(Operation::RemoveEntry { key });
    }
    Ok(Operation::PutEntry { key, value: value_from_js(value, slot.scalar(), place)? })
}
