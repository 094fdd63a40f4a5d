//! Builds the browser modules: compile for wasm, then write their JavaScript and declarations.
//! `wasm-opt` is not run: measured on the values and wire crates it took 3 s to save 3 % of the gzipped size.
//!
//! Invariant: the generated folder changes only where its content does, so that nothing after it is built again for nothing.

mod debian;
mod route;
mod rustup;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::process;
use route::Route;

pub const TARGET: &str = "wasm32-unknown-unknown";

/// A browser module.
struct Module {
    package: &'static str,
    /// The beginning of its files' names.
    name: &'static str,
    generated: &'static str,
    /// Past this size somebody has to look at what made the module grow.
    gzipped_bytes_max: u64,
}

const MODULES: &[Module] = &[
    Module {
        package: "iolite-wasm",
        name: "iolite_wasm",
        generated: "sdks/typescript/client/src/wasm",
        // Since clients move between data centres: with that it has 786,692 bytes, and had 776,922 some commits before.
        // Since clients have users and ask for tokens it has 791,647, and since logs can be closed to a user 794,880.
        gzipped_bytes_max: 784 * 1024,
    },
    Module {
        package: "iolite-wasm-objects",
        name: "iolite_wasm_objects",
        generated: "sdks/typescript/objects/src/wasm",
        // It had 91,356 bytes before there were managers, 130,291 with 13 of them, and 143,408 since there are coordinators. A page has none: their code can go.
        // Since pages keep their objects it has 146,794, and since devices ask for tokens 148,163.
        gzipped_bytes_max: 146 * 1024,
    },
    // Tests of rights load it, and no page.
    Module {
        package: "iolite-wasm-rights",
        name: "iolite_wasm_rights",
        generated: "sdks/typescript/client/src/wasm",
        // It has 233,229 bytes, most of them schemas and JSON.
        gzipped_bytes_max: 240 * 1024,
    },
];

/// Makes sure that a compiler for wasm is there. Quiet if it is.
pub fn install(root: &Path) -> Result<Route> {
    let route = route::choose(root)?;
    match route {
        Route::Rustup => rustup::install()?,
        Route::Debian => debian::install(root)?,
    }
    Ok(route)
}

pub fn build(root: &Path) -> Result<()> {
    let route = install(root)?;
    // A folder for each route: their compilers differ, and neither waits for a native build's lock.
    let target_dir = root.join("target/web").join(route.name());
    let mut cargo = match route {
        Route::Rustup => rustup::cargo(),
        Route::Debian => debian::cargo()?,
    };
    let build = cargo
        .args(["build", "--quiet", "--locked", "--profile", "wasm", "--target", TARGET])
        .args(packages())
        .arg("--target-dir")
        .arg(&target_dir)
        .current_dir(root);
    process::run(build)?;
    MODULES.iter().try_for_each(|module| bind(root, &target_dir, module, route))
}

fn packages() -> impl Iterator<Item = &'static str> {
    MODULES.iter().flat_map(|module| ["--package", module.package])
}

/// Writes what belongs to a module that was compiled, and looks at its size.
fn bind(root: &Path, target_dir: &Path, module: &Module, route: Route) -> Result<()> {
    let compiled = target_dir.join(TARGET).join("wasm").join(module.name).with_extension("wasm");
    let bindings = target_dir.join("bindings").join(module.name);
    generate(root, &compiled, &bindings)?;
    let generated = root.join(module.generated);
    copy_changed(&bindings, &generated)?;
    report(&generated.join(format!("{}_bg.wasm", module.name)), module, route)
}

/// Clippy on the browser crates, for wasm where clippy's own compiler has that target.
pub fn lint(root: &Path) -> Result<()> {
    let mut clippy = rustup::cargo();
    clippy.args(["clippy", "--quiet", "--locked", "--all-targets"]).args(packages()).current_dir(root);
    clippy.arg("--target-dir").arg(root.join("target/web/lint"));
    if rustup::is_installed() {
        clippy.args(["--target", TARGET]);
    } else {
        println!("clippy has no {TARGET} here: the browser crates are linted as native code");
    }
    process::run(clippy.args(["--", "-D", "warnings"]))
}

fn generate(root: &Path, module: &Path, bindings: &Path) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let generator = ["run", "--quiet", "--locked", "--package", "xtask-bindgen", "--"];
    process::run(Command::new(cargo).args(generator).arg(module).arg(bindings).current_dir(root))
}

fn copy_changed(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry?;
        let content = fs::read(entry.path())?;
        let copy = to.join(entry.file_name());
        if fs::read(&copy).ok().as_ref() != Some(&content) {
            fs::write(&copy, content).with_context(|| format!("cannot write {}", copy.display()))?;
        }
    }
    Ok(())
}

fn report(file: &Path, module: &Module, route: Route) -> Result<()> {
    let Module { package, gzipped_bytes_max, .. } = module;
    let bytes = fs::metadata(file)?.len();
    let gzipped =
        Command::new("gzip").args(["-9", "-c"]).stdin(fs::File::open(file)?).stdout(Stdio::piped()).output()?;
    let gzipped_bytes = gzipped.stdout.len() as u64;
    println!("{package}: {bytes} bytes, {gzipped_bytes} gzipped ({} compiler)", route.name());
    ensure!(
        gzipped_bytes <= *gzipped_bytes_max,
        "the module of {package} is over {gzipped_bytes_max} bytes gzipped: find what grew"
    );
    Ok(())
}
