//! Writes the JavaScript and TypeScript declarations for a compiled wasm module: `xtask-bindgen MODULE.wasm OUT_DIR`.
//!
//! Invariant: its version equals that of the `wasm-bindgen` the module was compiled with; the one lock file keeps them together.
//! It is a crate of its own because its dependencies take longer to compile than the rest of `xtask`: only
//! `cargo xtask wasm` pays for them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    match generate() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn generate() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let module = arguments.next().context("usage: xtask-bindgen MODULE.wasm OUT_DIR")?;
    let out_dir = arguments.next().context("usage: xtask-bindgen MODULE.wasm OUT_DIR")?;
    let context = || format!("cannot generate bindings for {} into {}", module.display(), out_dir.display());

    let mut bindgen = Bindgen::new();
    // `web` gives one module for all hosts: browsers fetch the .wasm beside it, Node passes its bytes to `initSync`.
    bindgen.input_path(&module).web(true).with_context(context)?;
    bindgen.typescript(true).omit_default_module_path(false);
    // Nobody reads these in a browser, and every page load would pay for them.
    bindgen.remove_name_section(true).remove_producers_section(true);
    bindgen.generate(&out_dir).with_context(context)?;
    let name = module.file_stem().context("a module is a file")?;
    name_library(&out_dir.join(name).with_extension("d.ts")).with_context(context)
}

/// The declarations use `Symbol.dispose`, which apps that check the types of their packages need not have otherwise.
fn name_library(declarations: &Path) -> Result<()> {
    let written = std::fs::read_to_string(declarations)?;
    Ok(std::fs::write(declarations, format!("/// <reference lib=\"esnext.disposable\" />\n{written}"))?)
}
