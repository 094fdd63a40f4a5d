//! Folders and source files are named after features (rule 11), never after having found no name.

use super::finding::Finding;
use super::sources::Source;

const FORBIDDEN: &[&str] = &["util", "utils", "common", "misc", "helper", "helpers", "manager", "managers", "v2"];
/// Deployment managers are a term of the objects paper.
const MAY_MANAGE: &[&str] = &["crates/objects/", "sdks/rust/src/objects/"];
const SOURCE_EXTENSIONS: &[&str] =
    &["rs", "ts", "tsx", "js", "mjs", "jsx", "css", "proto", "py", "kt", "java", "swift", "c", "h", "sh"];

pub fn check(source: &Source) -> Option<Finding> {
    let (folders, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let stem = if source.has_extension(SOURCE_EXTENSIONS) { file.split('.').next().unwrap_or("") } else { "" };
    let word = folders.split('/').chain([stem]).find_map(forbidden_word)?;
    if word.starts_with("manager") && MAY_MANAGE.iter().any(|folder| source.path.starts_with(folder)) {
        return None;
    }
    Some(Finding::failure(&source.path, 1, format!("`{word}` in a name says nothing: name the feature it holds")))
}

/// Words of a name are parted by `_`, `-` or capitals.
fn forbidden_word(name: &str) -> Option<&'static str> {
    let mut parted = String::new();
    for character in name.chars() {
        if character.is_uppercase() {
            parted.push('_');
        }
        parted.extend(character.to_lowercase());
    }
    parted.split(['_', '-']).find_map(|word| FORBIDDEN.iter().copied().find(|forbidden| *forbidden == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_reported(path: &str) -> bool {
        check(&Source::new(path, "")).is_some()
    }

    #[test]
    fn names_without_meaning_are_reported() {
        for path in [
            "crates/utils/src/lib.rs",
            "crates/store/src/util.rs",
            "crates/store/src/test_helpers.rs",
            "sdks/typescript/client/src/sessionManager.ts",
            "crates/wire/common/frame.proto",
            "crates/engine-v2/src/lib.rs",
            "docs/misc/notes.md",
        ] {
            assert!(is_reported(path), "{path}");
        }
    }

    #[test]
    fn names_of_features_pass_even_if_they_contain_the_letters() {
        for path in [
            "crates/store/src/commonality.rs",
            "crates/store/src/utility_bill.rs",
            "docs/why-not-utils.md",
            "crates/objects/src/managers/caching.rs",
            "Cargo.toml",
        ] {
            assert!(!is_reported(path), "{path}");
        }
    }
}
