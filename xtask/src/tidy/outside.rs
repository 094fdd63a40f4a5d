//! Packages outside of the workspace have the versions of its lock file: their tests are built with its libraries.

use super::finding::Finding;
use super::sources::Source;
use crate::suite::outside::OUTSIDE;

/// Whether a manifest is one of a package outside of the workspace.
pub fn is_outside(path: &str) -> bool {
    path.strip_suffix("/Cargo.toml").is_some_and(|folder| OUTSIDE.iter().any(|outside| outside.folder == folder))
}

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let text_of = |path: &str| sources.iter().find(|source| source.path == path).map_or("", |source| &source.text);
    let own: Vec<&str> = packages(text_of("Cargo.lock")).collect();
    let mut findings = Vec::new();
    for outside in OUTSIDE {
        let path = format!("{}/Cargo.lock", outside.folder);
        let others: Vec<&str> = packages(text_of(&path)).filter(|package| !own.contains(package)).collect();
        if !text_of(&path).contains("[[package]]") || !others.is_empty() {
            let folder = outside.folder;
            let message = format!(
                "has other versions than the workspace: {others:?}. Run `cp Cargo.lock {folder}` and `cargo metadata` there"
            );
            findings.push(Finding::failure(&path, 1, message));
        }
    }
    findings
}

/// Names and versions of the packages of a lock file that come from registries.
fn packages(lock: &str) -> impl Iterator<Item = &str> {
    let packages = lock.split("[[package]]\n").skip(1);
    packages
        .filter(|package| package.contains("\nsource = "))
        .filter_map(|package| Some(package.split_once("\nsource")?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_than_the_workspace_has_is_reported() {
        let lock = |version: &str| {
            format!("version = 4\n\n[[package]]\nname = \"a\"\nversion = \"{version}\"\nsource = \"r\"\n")
        };
        let found = |outside: &str| {
            let path = format!("{}/Cargo.lock", OUTSIDE[0].folder);
            check(&[Source::new("Cargo.lock", &lock("1.0.0")), Source::new(&path, outside)]).len()
        };
        assert_eq!((found(&lock("1.0.0")), found(&lock("1.0.1")), found("")), (0, 1, 1));
    }
}
