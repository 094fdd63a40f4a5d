//! The canonical form of a schema, so that the package can be held to it.

use iolite_values::{Schema, SchemaHash};
use wasm_bindgen::prelude::*;

use crate::failure::Failure;

/// The canonical JSON of a schema.
///
/// # Errors
/// Code `schema`.
#[wasm_bindgen(js_name = canonicalSchema)]
pub fn canonical_schema(json: &str) -> Result<String, JsValue> {
    let schema = Schema::from_json(json).map_err(Failure::from)?;
    Ok(schema.to_json())
}

/// The hash of a schema's canonical JSON, in hexadecimal digits.
///
/// # Errors
/// Code `schema`.
#[wasm_bindgen(js_name = schemaHash)]
pub fn schema_hash(json: &str) -> Result<String, JsValue> {
    let SchemaHash(bytes) = Schema::from_json(json).map_err(Failure::from)?.hash();
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
