/** The client for browsers and Node. What works today: loading the core, which is Rust compiled to wasm. */

export { default as loadCore, initSync as loadCoreFromBytes, version } from "./wasm/iolite_wasm.js";
