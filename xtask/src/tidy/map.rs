//! The map of the repository has a part for every package (rule 18).

use super::finding::Finding;
use super::sources::Source;

const MAP: &str = "ARCHITECTURE.md";

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let Some(map) = sources.iter().find(|source| source.path == MAP) else {
        return vec![Finding::failure(MAP, 1, "is missing: say where everything is")];
    };
    let manifests = sources.iter().filter_map(|source| folder_of_manifest(&source.path));
    let unsaid = manifests.filter(|folder| !map.text.contains(&format!("`{folder}`")));
    unsaid
        .map(|folder| Finding::failure(MAP, 1, format!("does not speak of `{folder}`: give it a paragraph")))
        .collect()
}

/// The folder of a package, for the path of its manifest; nothing for the workspace's own.
fn folder_of_manifest(path: &str) -> Option<&str> {
    path.strip_suffix("/Cargo.toml").or(path.strip_suffix("/package.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(map: &[Source]) -> String {
        let manifests = [
            Source::new("Cargo.toml", ""),
            Source::new("crates/a/Cargo.toml", ""),
            Source::new("sdks/b/package.json", ""),
        ];
        let sources: Vec<Source> = manifests.iter().chain(map).cloned().collect();
        check(&sources).iter().map(|finding| format!("{finding}\n")).collect()
    }

    #[test]
    fn a_package_without_a_paragraph_is_reported() {
        let found = messages(&[Source::new(MAP, "`crates/a` is a.")]);
        assert_eq!(found, "ARCHITECTURE.md:1: does not speak of `sdks/b`: give it a paragraph\n");
        assert_eq!(messages(&[Source::new(MAP, "`crates/a` and `sdks/b`")]), "");
    }

    #[test]
    fn a_repository_without_a_map_is_reported() {
        assert!(messages(&[]).contains("is missing"));
    }
}
