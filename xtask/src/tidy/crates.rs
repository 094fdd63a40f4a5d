//! Our crates and what they depend on, as cargo knows them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

/// One of our crates. What only its tests or build script use is not here: it does not ship.
#[derive(Clone, Debug, Default)]
pub struct OurCrate {
    pub name: String,
    /// From the repository's root.
    pub manifest: String,
    /// Our crates that it uses.
    pub ours: Vec<String>,
    /// Crates of others that it uses.
    pub others: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Crates {
    pub ours: Vec<OurCrate>,
    /// What each crate, ours or not, uses on this platform with the features that are on.
    pub resolved: BTreeMap<String, Vec<String>>,
}

pub fn read(root: &Path) -> Result<Crates> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let platform = "x86_64-unknown-linux-gnu";
    let printed = process::read(
        Command::new(cargo).args(["metadata", "--format-version=1", "--filter-platform", platform]).current_dir(root),
    )?;
    let metadata: Value = serde_json::from_str(&printed).context("cargo metadata printed no JSON")?;
    Ok(parse(&metadata, root))
}

fn parse(metadata: &Value, root: &Path) -> Crates {
    let packages = list(&metadata["packages"]);
    let names: BTreeMap<&str, &str> =
        packages.iter().map(|package| (text(&package["id"]), text(&package["name"]))).collect();
    let resolved = list(&metadata["resolve"]["nodes"])
        .iter()
        .filter_map(|node| Some(((*names.get(text(&node["id"]))?).to_owned(), shipped(node, &names))))
        .collect();
    let ours = packages.iter().filter(|package| package["source"].is_null()).map(|package| our_crate(package, root));
    Crates { ours: ours.collect(), resolved }
}

fn our_crate(package: &Value, root: &Path) -> OurCrate {
    let manifest = Path::new(text(&package["manifest_path"]));
    let shipped = list(&package["dependencies"]).iter().filter(|dependency| dependency["kind"].is_null());
    let (ours, others): (Vec<&Value>, Vec<&Value>) = shipped.partition(|dependency| dependency["path"].is_string());
    let names = |dependencies: Vec<&Value>| {
        dependencies.into_iter().map(|dependency| text(&dependency["name"]).to_owned()).collect()
    };
    OurCrate {
        name: text(&package["name"]).to_owned(),
        manifest: manifest.strip_prefix(root).unwrap_or(manifest).display().to_string(),
        ours: names(ours),
        others: names(others),
    }
}

/// The crates that a resolved one uses other than for tests and building.
fn shipped(node: &Value, names: &BTreeMap<&str, &str>) -> Vec<String> {
    let is_shipped = |edge: &&Value| list(&edge["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
    let edges = list(&node["deps"]).iter().filter(is_shipped);
    edges.filter_map(|edge| names.get(text(&edge["pkg"])).map(|name| (*name).to_owned())).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_tests_use_is_not_counted() {
        let metadata = json!({
            "packages": [
                { "id": "a 1", "name": "a", "source": null, "manifest_path": "/r/crates/a/Cargo.toml", "dependencies": [
                    { "name": "b", "kind": null, "path": "/r/crates/b" },
                    { "name": "serde", "kind": null },
                    { "name": "proptest", "kind": "dev" },
                ] },
                { "id": "serde 1", "name": "serde", "source": "registry", "dependencies": [] },
                { "id": "proptest 1", "name": "proptest", "source": "registry", "dependencies": [] },
            ],
            "resolve": { "nodes": [ { "id": "a 1", "deps": [
                { "pkg": "serde 1", "dep_kinds": [{ "kind": null }] },
                { "pkg": "proptest 1", "dep_kinds": [{ "kind": "dev" }] },
            ] } ] },
        });
        let crates = parse(&metadata, Path::new("/r"));
        assert_eq!(crates.ours.len(), 1);
        assert_eq!(crates.ours[0].manifest, "crates/a/Cargo.toml");
        assert_eq!(crates.ours[0].ours, ["b"]);
        assert_eq!(crates.ours[0].others, ["serde"]);
        assert_eq!(crates.resolved["a"], ["serde"]);
    }
}
