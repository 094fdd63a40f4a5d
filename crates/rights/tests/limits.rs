//! The limits of rules have rows in docs/limits.md.

use iolite_rights::{Rights, Rule};

#[test]
fn the_page_has_these_values() {
    let page = include_str!("../../../docs/limits.md");
    for (limit, value) in [
        ("Rule::LEAVES_MAX", Rule::LEAVES_MAX),
        ("Rule::ALTERNATIVES_MAX", Rule::ALTERNATIVES_MAX),
        ("Rule::REFERENCES_MAX", Rule::REFERENCES_MAX),
        ("Rights::JSON_BYTES_MAX", Rights::JSON_BYTES_MAX),
    ] {
        let row = format!("| `rights::{limit}` | {value} |");
        assert!(page.lines().any(|line| line.starts_with(&row)), "{row}");
    }
}
