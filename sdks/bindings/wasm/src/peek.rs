//! Peeks at a view, and the differences between two views.

use iolite_client::{Difference, DifferenceError, View};
use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::core::Core;
use crate::failure::Failure;

#[wasm_bindgen]
impl Core {
    /// Begins a peek at a view: until `endPeek`, reads are of it.
    ///
    /// # Errors
    /// Code `call`, while a closure runs.
    #[wasm_bindgen(js_name = beginPeek)]
    pub fn begin_peek(&mut self, view: &str) -> Result<(), JsValue> {
        let view = view_of(view)?;
        let begun = if self.peek.is_some() { None } else { self.role.begin_peek(view) };
        self.peek = Some(begun.ok_or_else(Failure::nested_peek)?);
        Ok(())
    }

    /// Ends the peek.
    ///
    /// # Errors
    /// Code `not-held`: something was missing, so that no value counts.
    #[wasm_bindgen(js_name = endPeek)]
    pub fn end_peek(&mut self) -> Result<(), JsValue> {
        let peek = self.peek.take().ok_or_else(|| Failure::of_transaction("no peek was begun"))?;
        Ok(self.role.end_peek(peek).map_err(Failure::from)?)
    }

    /// The values that differ between two views, of all tables or of one: for each the table's number, the values of the key, or the text of a failure
    /// if they cannot be shown, and the column's name.
    ///
    /// # Errors
    /// Codes `not-held` and `transaction`.
    pub fn difference(&self, a: &str, b: &str, table: Option<String>) -> Result<Array, JsValue> {
        let found = self.role.difference(view_of(a)?, view_of(b)?, table.as_deref()).map_err(Failure::from)?;
        let array = Array::new();
        for Difference { table, key, column } in found {
            let place = self.layouts.iter().position(|layout| layout.name() == table);
            let Some(place) = place else { continue };
            let key = match self.layouts[place].key_to_js(&key) {
                Err(failure) if failure.is_of_showing() => JsValue::from(failure),
                key => key?.into(),
            };
            array.push(&Array::of3(&JsValue::from_f64(place as f64), &key, &JsValue::from_str(&column)));
        }
        Ok(array)
    }

    /// A number that is another one whenever what some view shows may be another.
    #[wasm_bindgen(js_name = viewsNumber)]
    pub fn views_number(&self) -> f64 {
        self.role.views_number() as f64
    }
}

/// # Errors
/// There is no such view.
pub(crate) fn view_of(name: &str) -> Result<View, Failure> {
    let views = [View::Optimistic, View::Durable, View::Confirmed, View::Delivered];
    let found = views.into_iter().find(|view| view.name() == name);
    found.ok_or_else(|| Failure::of_transaction(format!("there is no view {name:?}")))
}

impl From<DifferenceError> for Failure {
    fn from(error: DifferenceError) -> Failure {
        match error {
            DifferenceError::NotHeld(error) => error.into(),
            DifferenceError::NoTable { .. } => Failure::of_transaction(error.to_string()),
            DifferenceError::NotDelivered(error) => error.into(),
        }
    }
}
