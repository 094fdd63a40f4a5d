//! Manifests: every dependency says why it is there (rule 17), versions are exact and stand in the root only.
//!
//! A reason is a comment on the dependency's line, above it, or above the block of lines it belongs to.

use super::finding::Finding;
use super::outside::is_outside;
use super::sources::Source;

/// Which table of a manifest a line is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    /// `[workspace.dependencies]`: the one place for versions.
    Versions,
    /// The dependencies of one crate.
    Dependencies,
    /// Lists none.
    Other,
}

pub fn check(source: &Source) -> Vec<Finding> {
    if source.path != "Cargo.toml" && !source.path.ends_with("/Cargo.toml") {
        return Vec::new();
    }
    let mut findings = check_dependencies(source);
    if is_outside(&source.path) {
        return findings;
    }
    let is_package = source.text.lines().any(|line| line.trim() == "[package]");
    if is_package && !source.text.lines().any(|line| line.trim() == "rust-version.workspace = true") {
        let message = "sets no rust-version: add `rust-version.workspace = true` under [package]";
        findings.push(Finding::failure(&source.path, 1, message));
    }
    findings
}

fn check_dependencies(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut table = Table::Other;
    let mut has_reason_above = false;
    let mut depth = 0_isize;
    for (index, line) in source.text.lines().enumerate() {
        let line = line.trim();
        let (code, comment) = line.split_once('#').map_or((line, None), |(code, comment)| (code, Some(comment)));
        if code.is_empty() {
            // A comment counts for the lines below it, up to the next empty one.
            has_reason_above = comment.is_some();
        } else if depth == 0 && code.starts_with('[') {
            table = table_of(code);
            has_reason_above = false;
            findings.extend(check_header(code).map(|message| Finding::failure(&source.path, index + 1, message)));
        } else if depth == 0 && table != Table::Other {
            let has_reason = has_reason_above || comment.is_some();
            let messages = check_entry(table, code, has_reason, is_outside(&source.path));
            findings.extend(messages.into_iter().map(|message| Finding::failure(&source.path, index + 1, message)));
        }
        depth += code.matches(['[', '{']).count() as isize - code.matches([']', '}']).count() as isize;
    }
    findings
}

fn table_of(header: &str) -> Table {
    let name = header.trim().trim_matches(['[', ']']);
    let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
    match name {
        "workspace.dependencies" => Table::Versions,
        _ if tables.iter().any(|table| name == *table || name.ends_with(&format!(".{table}"))) => Table::Dependencies,
        _ => Table::Other,
    }
}

fn check_header(header: &str) -> Option<String> {
    header
        .contains("dependencies.")
        .then(|| format!("{} is a table of one dependency: write it as a line under [dependencies]", header.trim()))
}

fn check_entry(table: Table, code: &str, has_reason: bool, is_outside: bool) -> Vec<String> {
    let name = code.split(['.', '=']).next().unwrap_or(code).trim();
    let mut messages = Vec::new();
    if !has_reason {
        messages.push(format!("`{name}` has no reason: write a comment beside it saying why it is there"));
    }
    if (table == Table::Versions || is_outside) && !code.contains("path =") && !code.contains("\"=") {
        messages.push(format!("`{name}` is not pinned: write its exact version, as \"=1.2.3\""));
    }
    if table == Table::Dependencies && !is_outside && !code.contains("workspace = true") {
        messages.push(format!("`{name}` does not take its version from the root: write `{name}.workspace = true`"));
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGE: &str = "[package]\nrust-version.workspace = true\n";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Source::new(path, text)).into_iter().map(|finding| finding.line).collect()
    }

    fn member(text: &str) -> Vec<usize> {
        lines("crates/a/Cargo.toml", &format!("{PACKAGE}{text}"))
    }

    #[test]
    fn a_dependency_without_a_reason_is_reported() {
        assert_eq!(member("[dependencies]\nserde.workspace = true\n"), [4]);
        assert_eq!(member("[dev-dependencies]\n# Why.\n\nserde.workspace = true\n"), [6]);
        assert_eq!(member("[dependencies]\n# Why.\na.workspace = true\n\nb.workspace = true\n"), [7]);
        assert_eq!(member("# Why.\n[dependencies]\na.workspace = true\n"), [5]);
        assert_eq!(member("[target.'cfg(unix)'.dependencies]\na = { workspace = true }\n"), [4]);
    }

    #[test]
    fn a_reason_above_or_beside_passes_and_so_do_other_tables() {
        assert!(member("[dependencies]\n# Why both.\na.workspace = true\nb.workspace = true\n").is_empty());
        assert!(member("[dependencies]\n# Why.\na = { workspace = true, features = [\n  \"x\",\n] }\n").is_empty());
        assert!(member("[dependencies]\na.workspace = true # why\n[features]\nx = []\n").is_empty());
    }

    #[test]
    fn a_table_of_one_dependency_is_reported_because_it_hides_from_these_rules() {
        assert_eq!(member("# Why.\n[dependencies.serde]\nworkspace = true\n"), [4]);
    }

    #[test]
    fn a_version_outside_the_root_is_reported() {
        assert_eq!(member("[dependencies]\n# Why.\nserde = \"=1.0.0\"\n"), [5]);
    }

    #[test]
    fn a_package_outside_of_the_workspace_pins_exactly() {
        let outside =
            |text: &str| lines("examples/rate-limit/Cargo.toml", &format!("[package]\n[dependencies]\n{text}"));
        assert!(outside("# Why.\na = { path = \"../../a\" }\nb = { version = \"=1.0.0\" }\n").is_empty());
        assert_eq!(outside("# Why.\nb = \"1.0.0\"\n\nc = \"=1.0.0\"\n"), [4, 6]);
    }

    #[test]
    fn the_root_pins_exactly() {
        let root = |text: &str| lines("Cargo.toml", &format!("[workspace.dependencies]\n{text}"));
        assert!(root("# Ours.\na = { path = \"a\" }\nb = { path = \"b\" }\n").is_empty());
        assert_eq!(root("# Why.\nserde = \"=1.0.0\"\n\nlog = \"=0.4.0\"\n"), [5]);
        assert_eq!(root("# Why.\nserde = \"1.0.0\"\n"), [3]);
    }

    #[test]
    fn a_package_without_the_shared_rust_version_is_reported() {
        assert_eq!(lines("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"), [1]);
    }
}
