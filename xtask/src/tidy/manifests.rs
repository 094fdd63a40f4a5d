//! Manifests: every dependency says why it is there (rule 17), versions are exact and stand in the root only.

use super::finding::Finding;
use super::sources::Source;

/// How near the reason must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reasons {
    /// The root lists versions; a comment may head a block of them.
    HeadABlock,
    /// Each dependency has its own, on its line or just above.
    BesideEach,
}

pub fn check(source: &Source) -> Vec<Finding> {
    if source.path != "Cargo.toml" && !source.path.ends_with("/Cargo.toml") {
        return Vec::new();
    }
    let mut findings = check_dependencies(source);
    let is_package = source.text.lines().any(|line| line.trim() == "[package]");
    if is_package && !source.text.lines().any(|line| line.trim() == "rust-version.workspace = true") {
        let message = "sets no rust-version: add `rust-version.workspace = true` under [package]";
        findings.push(Finding::failure(&source.path, 1, message));
    }
    findings
}

fn check_dependencies(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut reasons = None;
    let mut reason_above = false;
    let mut depth = 0_isize;
    for (index, line) in source.text.lines().enumerate() {
        let line = line.trim();
        let (code, comment) = line.split_once('#').map_or((line, None), |(code, comment)| (code, Some(comment)));
        if depth == 0 && line.starts_with('[') {
            reasons = reasons_of(line);
            if line.contains("dependencies.") {
                let message = format!("{line} is a table of one dependency: write it as a line under [dependencies]");
                findings.push(Finding::failure(&source.path, index + 1, message));
            }
        } else if depth == 0
            && !code.is_empty()
            && let Some(reasons) = reasons
        {
            if comment.is_none() && !reason_above {
                findings.push(without_reason(source, index, code.split(['.', '=']).next().unwrap_or(code).trim()));
            }
            findings.extend(check_version(source, index, code, reasons));
            reason_above &= reasons == Reasons::HeadABlock;
        }
        if code.is_empty() {
            // A comment counts for what follows it; an empty line ends that.
            reason_above = comment.is_some();
        }
        depth += code.matches(['[', '{']).count() as isize - code.matches([']', '}']).count() as isize;
    }
    findings
}

/// Which rule holds below a table's header; `None` if the table lists no dependencies.
fn reasons_of(header: &str) -> Option<Reasons> {
    let name = header.trim_matches(['[', ']']);
    if name == "workspace.dependencies" {
        return Some(Reasons::HeadABlock);
    }
    let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
    tables.iter().any(|table| name == *table || name.ends_with(&format!(".{table}"))).then_some(Reasons::BesideEach)
}

fn without_reason(source: &Source, index: usize, name: &str) -> Finding {
    let message = format!("`{name}` has no reason: write a comment beside it saying why it is there");
    Finding::failure(&source.path, index + 1, message)
}

fn check_version(source: &Source, index: usize, code: &str, reasons: Reasons) -> Option<Finding> {
    let name = code.split(['.', '=']).next().unwrap_or(code).trim();
    let fails = |message: String| Some(Finding::failure(&source.path, index + 1, message));
    match reasons {
        Reasons::HeadABlock if !code.contains("path =") && !code.contains("\"=") => {
            fails(format!("`{name}` is not pinned: write its exact version, as \"=1.2.3\""))
        }
        Reasons::BesideEach if !code.contains("workspace = true") => {
            fails(format!("`{name}` does not take its version from the root: write `{name}.workspace = true`"))
        }
        Reasons::HeadABlock | Reasons::BesideEach => None,
    }
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
        assert_eq!(member("[dependencies]\n# Why.\na.workspace = true\nb.workspace = true\n"), [6]);
        assert_eq!(member("[target.'cfg(unix)'.dependencies]\na = { workspace = true }\n"), [4]);
    }

    #[test]
    fn a_reason_above_or_beside_passes_and_so_do_other_tables() {
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
    fn the_root_pins_exactly_and_may_head_a_block() {
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
