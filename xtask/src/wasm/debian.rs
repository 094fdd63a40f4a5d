//! Debian's own compiler, for machines where rustup cannot download: it builds the standard library from source.
//!
//! Invariant: programs are called by the paths that their packages list, since rustup's come first in PATH; and no version of
//! Debian's is written down here.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

const PACKAGES: &[&str] = &["rustc-web", "cargo-web", "rust-web-src", "libstd-rust-web-dev", "rust-web-llvm"];

/// The programs of the packages above.
struct Compiler {
    cargo: PathBuf,
    rustc: PathBuf,
    rustdoc: PathBuf,
}

pub fn is_installed(root: &Path) -> bool {
    let are_there =
        |packages: &[&str]| process::ask(Command::new(apt_install(root)).arg("--check").args(packages)).is_some();
    are_there(PACKAGES) && linker_package().is_ok_and(|linker| are_there(&[&linker]))
}

pub fn install(root: &Path) -> Result<()> {
    process::run(Command::new(apt_install(root)).args(PACKAGES))
        .context("a recent compiler comes with Debian's security updates: see that /etc/apt names them as a source")?;
    process::run(Command::new(apt_install(root)).arg(linker_package()?))
}

/// Cargo, ready for the arguments of a build.
pub fn cargo() -> Result<Command> {
    let compiler = compiler()?;
    let mut cargo = Command::new(&compiler.cargo);
    // What rustup's cargo tells its children would mix the two compilers.
    for variable in
        ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTUP_HOME", "LD_LIBRARY_PATH", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"]
    {
        cargo.env_remove(variable);
    }
    // Building the standard library is an unstable option of cargo; the variable allows it on a stable compiler.
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", &compiler.rustc).env("RUSTDOC", &compiler.rustdoc);
    cargo.args(["-Z", "build-std=std,panic_abort"]);
    Ok(cargo)
}

fn apt_install(root: &Path) -> PathBuf {
    root.join("scripts/apt-install")
}

fn compiler() -> Result<Compiler> {
    let listing = process::read(Command::new("dpkg").args(["-L", "rustc-web", "cargo-web"]))?;
    let program = |name: &str| {
        program_in(&listing, name).with_context(|| format!("rustc-web and cargo-web list no program `{name}`"))
    };
    Ok(Compiler { cargo: program("cargo")?, rustc: program("rustc")?, rustdoc: program("rustdoc")? })
}

/// The program's path in what `dpkg -L` listed.
fn program_in(listing: &str, name: &str) -> Option<PathBuf> {
    listing.lines().find(|line| line.ends_with(&format!("/usr/bin/{name}"))).map(PathBuf::from)
}

/// The linker of the LLVM that the compiler was built with: the compiler's own link to it dangles without this package.
fn linker_package() -> Result<String> {
    let about = process::read(Command::new(compiler()?.rustc).arg("-vV").env_remove("LD_LIBRARY_PATH"))?;
    let major = llvm_major(&about).context("Debian's rustc -vV names no LLVM version")?;
    Ok(format!("lld-{major}"))
}

fn llvm_major(about: &str) -> Option<u32> {
    about.lines().find_map(|line| line.strip_prefix("LLVM version: ")?.split('.').next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_follows_from_the_compilers_llvm() {
        assert_eq!(llvm_major("rustc 1.96.0\nrelease: 1.96.0\nLLVM version: 22.1.8\n"), Some(22));
        assert_eq!(llvm_major("rustc 1.96.0\n"), None);
    }

    #[test]
    fn programs_are_found_in_the_packages_listing() {
        let listing = "/.\n/usr/share/cargo/bin/cargo\n/usr/bin/rustdoc\n/usr/bin/rustc\n/usr/bin/cargo\n";
        assert_eq!(program_in(listing, "rustc"), Some(PathBuf::from("/usr/bin/rustc")));
        assert_eq!(program_in(listing, "cargo"), Some(PathBuf::from("/usr/bin/cargo")));
        assert_eq!(program_in(listing, "clippy"), None);
    }
}
