//! Every Rust file opens with its purpose (rule 5).

use super::finding::Finding;
use super::sources::Source;

pub fn check(source: &Source) -> Option<Finding> {
    if !source.has_extension(&["rs"]) {
        return None;
    }
    let first = source.text.lines().next().unwrap_or("");
    let Some(purpose) = first.strip_prefix("//!") else {
        let message = "does not open with `//!`: say its purpose, invariants and source in the first lines";
        return Some(Finding::failure(&source.path, 1, message));
    };
    if purpose.trim().is_empty() {
        return Some(Finding::failure(&source.path, 1, "opens with an empty `//!`: say the file's purpose"));
    }
    if purpose.contains("being built") {
        return Some(Finding::warning(&source.path, 1, "says only that it is being built: say what it is for"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;

    fn severity(text: &str) -> Option<Severity> {
        check(&Source::new("crates/a/src/lib.rs", text)).map(|finding| finding.severity)
    }

    #[test]
    fn a_file_without_a_purpose_is_reported() {
        assert_eq!(severity("use std::fmt;\n"), Some(Severity::Failure));
        assert_eq!(severity("/// An item.\nstruct A;\n"), Some(Severity::Failure));
        assert_eq!(severity("//!\nstruct A;\n"), Some(Severity::Failure));
        assert_eq!(severity(""), Some(Severity::Failure));
    }

    #[test]
    fn a_placeholder_is_a_warning_and_a_purpose_passes() {
        assert_eq!(severity("//! (being built)\n"), Some(Severity::Warning));
        assert_eq!(severity("//! Merges records.\n"), None);
    }

    #[test]
    fn only_rust_files_are_asked() {
        assert_eq!(check(&Source::new("a.ts", "let a;")), None);
    }
}
