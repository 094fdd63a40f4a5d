//! The repository stands alone: no file mentions the folder beside it, which no reader has.

use super::finding::Finding;
use super::sources::Source;

/// Written in two parts, so that this file does not report itself.
const OUTSIDE: &str = concat!("../", "shared");

pub fn check(source: &Source) -> Vec<Finding> {
    let mentions = source.text.lines().enumerate().filter(|(_, line)| line.contains(OUTSIDE));
    mentions
        .map(|(index, _)| {
            let message =
                format!("mentions {OUTSIDE}, which readers of this repository do not have: say it here instead");
            Finding::failure(&source.path, index + 1, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_of_the_folder_beside_the_repository_is_reported_with_its_line() {
        let findings = check(&Source::new("docs/a.md", &format!("fine\nsee {OUTSIDE}/DESIGN.md\n")));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, 2);
    }

    #[test]
    fn a_sibling_folder_of_another_name_passes() {
        assert!(check(&Source::new("a.ts", "import '../wasm/core.js'")).is_empty());
    }
}
