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

/// Has all blobs made by a function that takes the content (a text, if it is in chunks), the digest as text, and the length.
#[wasm_bindgen(js_name = makeBlobsWith)]
pub fn make_blobs_with(make: Function) {
    MAKE.with(|own| *own.borrow_mut() = Some(make));
}

/// The blob, if it is one: `{ blob: bytes }`, or `{ blob: text }` for one whose content is in chunks.
///
/// # Errors
/// It is longer than what lies in a cell, or the text is none of a blob.
pub(crate) fn blob_from_js(js: &JsValue, place: &Place<'_>) -> Result<Option<Value>, Failure> {
    if !js.is_object() {
        return Ok(None);
    }
    let Ok(content) = Reflect::get(js, &JsValue::from_str("blob")) else { return Ok(None) };
    if let Some(tree) = content.as_string() {
        return blob_of_text(&tree).map(|blob| Some(blob.into())).ok_or_else(|| place.failure("it is no blob"));
    }
    let Some(content) = content.dyn_ref::<Uint8Array>() else { return Ok(None) };
    let length = content.length();
    let blob = if length as usize > Blob::INLINE_BYTES_MAX { None } else { Blob::inline(content.to_vec()).ok() };
    blob.map(|blob| Some(blob.into())).ok_or_else(|| too_large(length.into(), place))
}

/// A blob as the package keeps one whose content is in chunks.
pub(crate) fn blob_of_text(text: &str) -> Option<Blob> {
    serde_json::from_str(text).ok()
}

pub(crate) fn text_of_blob(blob: &Blob) -> String {
    serde_json::to_string(blob).expect("strings and numbers are JSON")
}

/// # Errors
/// The package did not say how blobs are made.
pub(crate) fn blob_to_js(blob: &Blob, place: &Place<'_>) -> Result<JsValue, Failure> {
    made(blob).ok_or_else(|| place.failure("its blob could not be made"))
}

/// The package's object for a blob.
pub(crate) fn made(blob: &Blob) -> Option<JsValue> {
    let make = MAKE.with(|make| make.borrow().clone())?;
    let content = match blob.bytes() {
        Some(bytes) => Uint8Array::from(&bytes[..]).into(),
        None => JsValue::from_str(&text_of_blob(blob)),
    };
    let digest = JsValue::from_str(&blob.digest().to_string());
    make.call3(&JsValue::UNDEFINED, &content, &digest, &JsValue::from_f64(blob.length() as f64)).ok()
}

fn too_large(length: u64, place: &Place<'_>) -> Failure {
    let max = Blob::INLINE_BYTES_MAX;
    place.failure(&format!("it is a blob of {length} bytes: make those of more than {max} with blobs.put()"))
}
