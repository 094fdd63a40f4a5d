//! What is pending and what was refused, as arrays.

use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::core::{Core, wall_ms};
use crate::output::pending_to_js;

#[wasm_bindgen]
impl Core {
    /// What is pending, in order: `[counter, name, arguments, calledAt, status]` each.
    pub fn pending(&self) -> Array {
        let list = Array::new();
        for each in self.client.pending() {
            let text = |text: Option<&str>| text.map_or(JsValue::UNDEFINED, JsValue::from_str);
            list.push(&Array::of5(
                &JsValue::from_f64(each.counter.0 as f64),
                &text(each.name.as_deref()),
                &text(each.arguments.as_deref()),
                &JsValue::from_f64(wall_ms(each.called_at)),
                &pending_to_js(&each.status),
            ));
        }
        list
    }

    /// What was refused, in order: `[counter, name, arguments, calledAt, [reason, byApp]]` each.
    pub fn refused(&self) -> Array {
        let list = Array::new();
        for each in self.client.refused() {
            list.push(&Array::of5(
                &JsValue::from_f64(each.counter.0 as f64),
                &JsValue::from_str(&each.name),
                &JsValue::from_str(&each.arguments),
                &JsValue::from_f64(wall_ms(each.called_at)),
                &Array::of2(&JsValue::from_str(&each.reason), &each.by_app.into()),
            ));
        }
        list
    }
}
