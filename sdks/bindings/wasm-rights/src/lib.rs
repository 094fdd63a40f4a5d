//! The judge of rights for the tests of an app in JavaScript: the code by which servers judge, over rows that a test gives.
//!
//! Invariant: JSON goes in and comes out, as `crates/rights` reads it. An error is a sentence for whoever writes the test.

mod panic;

use iolite_rights::{Caller, Claims, Explanation, Mistake, Rights, Trial as Tried, Wanted};
use iolite_values::{RowKey, Schema};
use serde_json::{Map, Value as Json, json};
use wasm_bindgen::prelude::*;

/// Rights that are tried, beside the rows that a test gives.
#[wasm_bindgen]
pub struct Trial(Tried);

#[wasm_bindgen]
impl Trial {
    /// Both as JSON.
    ///
    /// # Errors
    /// They cannot be read, or do not fit each other.
    #[wasm_bindgen(constructor)]
    pub fn new(schema: &str, rights: &str) -> Result<Trial, JsValue> {
        let schema = Schema::from_json(schema).map_err(|error| told(&error))?;
        let rights = Rights::from_json(rights).map_err(|error| told(&error))?;
        Ok(Trial(Tried::new(schema, rights).map_err(|error| told(&error))?))
    }

    /// Puts a row into the store, whoever may. Returns the name of its key, by which [`Trial::sees`] tells it.
    ///
    /// # Errors
    /// It does not fit the schema.
    pub fn give(&mut self, table: &str, row: &str) -> Result<String, JsValue> {
        let writes = Wanted::row(self.0.schema(), table, &read(row)?).map_err(|error| told(&error))?;
        self.0.give(&writes).map_err(|error| told(&error))?;
        Ok(writes.first().map(|write| name_of(&write.cell.row)).unwrap_or_default())
    }

    /// Whether somebody may write this, or do this with a log or an object: `{"allowed":false,"text":"denied: …"}`.
    ///
    /// # Errors
    /// The question does not fit the schema.
    pub fn may(&self, caller: &str, now_ms: f64, wanted: &str) -> Result<String, JsValue> {
        let explanation = self.judged(caller, now_ms, wanted).map_err(|error| told(&error))?;
        let text = explanation.text(self.0.schema());
        Ok(json!({ "allowed": explanation.is_allowed(), "text": text }).to_string())
    }

    /// The names of the keys of the rows that somebody may see, in the order of the keys.
    ///
    /// # Errors
    /// There is no such table.
    pub fn sees(&self, caller: &str, now_ms: f64, table: &str) -> Result<Vec<String>, JsValue> {
        let caller = caller_of(caller, now_ms).map_err(|error| told(&error))?;
        let rows = self.0.sees(&caller, table).map_err(|error| told(&error))?;
        Ok(rows.iter().map(|(key, _)| name_of(key)).collect())
    }
}

impl Trial {
    fn judged(&self, caller: &str, now_ms: f64, wanted: &str) -> Result<Explanation, Mistake> {
        let wanted = serde_json::from_str(wanted).unwrap_or(Json::Null);
        let caller = caller_of(caller, now_ms)?;
        match Wanted::from_json(self.0.schema(), &wanted)? {
            Wanted::Commit(writes) => self.0.may(&caller, &writes),
            Wanted::See(row) => Ok(self.0.may_see(&caller, &row)),
            Wanted::Use(object, right, method) => Ok(self.0.may_use(&caller, &object, right, method.as_deref())),
            Wanted::Join(log) => Ok(self.0.may_join(&caller, &log)),
            Wanted::Run(log, operation) => Ok(self.0.may_run(&caller, &log, &operation)),
        }
    }
}

fn name_of(key: &RowKey) -> String {
    key.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A user as an object of their claims, `sub` included.
fn caller_of(json: &str, now_ms: f64) -> Result<Caller, Mistake> {
    let claims: Map<String, Json> = serde_json::from_str(json).unwrap_or_default();
    let subject = claims.get("sub").and_then(Json::as_str).unwrap_or_default();
    Ok(Caller { claims: Claims::from_json(subject, &claims, None)?, now_ms: now_ms as i64 })
}

fn read(json: &str) -> Result<Json, JsValue> {
    serde_json::from_str(json).map_err(|error| told(&error))
}

fn told(error: &dyn std::error::Error) -> JsValue {
    error.to_string().into()
}
