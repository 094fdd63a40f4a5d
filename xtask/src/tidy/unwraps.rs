//! No `unwrap` outside tests (rule 10): an `expect` says why it holds, and all else is an error.
//!
//! Clippy's own lint counts what an integration test's plain functions do as code that ships, so it is not used.

use super::finding::Finding;
use super::plain_code::plain_code;
use super::sources::Source;

pub fn check(source: &Source) -> Vec<Finding> {
    if !source.has_extension(&["rs"]) || is_test_file(&source.path) {
        return Vec::new();
    }
    let plain: String = plain_code(&source.text).into_iter().collect();
    let lines: Vec<&str> = plain.lines().collect();
    let shipped = lines.iter().take(start_of_tests(&lines)).enumerate();
    shipped
        .filter(|(_, line)| line.contains(".unwrap()"))
        .map(|(index, _)| {
            let message = "`unwrap` outside tests: return an error, or `expect` with the reason why it holds";
            Finding::failure(&source.path, index + 1, message)
        })
        .collect()
}

fn is_test_file(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let file = parts.next().unwrap_or("");
    file == "tests.rs" || parts.any(|folder| matches!(folder, "tests" | "benches"))
}

/// The line of the first `#[cfg(test)] mod`, where the house's files put their tests: at the end.
fn start_of_tests(lines: &[&str]) -> usize {
    let opens_tests = |pair: &[&str]| pair[0].trim() == "#[cfg(test)]" && pair[1].trim().starts_with("mod ");
    lines.windows(2).position(opens_tests).unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Source::new(path, text)).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn an_unwrap_in_code_that_ships_is_reported() {
        assert_eq!(lines("crates/a/src/b.rs", "fn a() {\n    b().unwrap();\n}\n"), [2]);
        assert_eq!(lines("crates/a/build.rs", "fn main() { b().unwrap() }\n"), [1]);
    }

    #[test]
    fn tests_may_unwrap() {
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() { c().unwrap() }\n}\n";
        assert!(lines("crates/a/src/b.rs", text).is_empty());
        assert!(lines("crates/a/tests/restart/page.rs", "fn a() { b().unwrap() }\n").is_empty());
        assert!(lines("crates/a/src/b/tests.rs", "fn a() { b().unwrap() }\n").is_empty());
    }

    #[test]
    fn an_unwrap_in_a_comment_or_a_string_is_none() {
        assert!(lines("crates/a/src/b.rs", "// a.unwrap()\nlet b = \".unwrap()\";\n").is_empty());
    }
}
