//! A panic is a bug in the judge; its message goes to the console, since the trap itself says nothing.

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console)]
    fn error(message: &str);
}

#[wasm_bindgen(start)]
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| error(&panic.to_string())));
}
