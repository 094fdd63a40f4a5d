//! Blobs between Rust and JavaScript.
//!
//! Invariant: what JavaScript holds of a blob is an object of the package's own class, which the package makes. It comes here as `{ blob: bytes }`.

use std::cell::RefCell;

use iolite_values::{Blob, Value};
use js_sys::{Function, Reflect, Uint8Array};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use crate::failure::Failure;
use crate::value::Place;

thread_local! {
    static MAKE: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Has all blobs made by a function that takes the content, and the digest as text.
#[wasm_bindgen(js_name = makeBlobsWith)]
pub fn make_blobs_with(make: Function) {
    MAKE.with(|own| *own.borrow_mut() = Some(make));
}

/// The blob, if it is one.
///
/// # Errors
/// It is longer than what lies in a cell.
pub(crate) fn blob_from_js(js: &JsValue, place: &Place<'_>) -> Result<Option<Value>, Failure> {
    if !js.is_object() {
        return Ok(None);
    }
    let content = Reflect::get(js, &JsValue::from_str("blob")).ok();
    let Some(content) = content.as_ref().and_then(|content| content.dyn_ref::<Uint8Array>()) else { return Ok(None) };
    let length = content.length();
    let blob = if length as usize > Blob::INLINE_BYTES_MAX { None } else { Blob::inline(content.to_vec()).ok() };
    blob.map(|blob| Some(blob.into())).ok_or_else(|| too_large(length.into(), place))
}

/// # Errors
/// Its content does not lie in its cell.
pub(crate) fn blob_to_js(blob: &Blob, place: &Place<'_>) -> Result<JsValue, Failure> {
    let bytes = blob.bytes().ok_or_else(|| too_large(blob.length(), place))?;
    let make = MAKE.with(|make| make.borrow().clone());
    let make = make.ok_or_else(|| place.failure("nobody said how blobs are made"))?;
    let made = make.call2(
        &JsValue::UNDEFINED,
        &Uint8Array::from(&bytes[..]).into(),
        &JsValue::from_str(&blob.digest().to_string()),
    );
    made.map_err(|_| place.failure("its blob could not be made"))
}

fn too_large(length: u64, place: &Place<'_>) -> Failure {
    let max = Blob::INLINE_BYTES_MAX;
    place.failure(&format!("it is a blob of {length} bytes: those of more than {max} are not built yet"))
}
