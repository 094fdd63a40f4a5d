//! Every limit stands on its page, and the tests that the page names exist.
//!
//! The values on the page are held by the crates' own tests, which know them; this rule sees to it that no limit is left out.

use super::finding::Finding;
use super::sources::Source;

const PAGE: &str = "docs/limits.md";
/// Where products are built from; other code limits nobody but itself.
const PRODUCT: &[&str] = &["crates/", "programs/", "sdks/"];
const NOT_PRODUCT: &[&str] = &["/tests/", "/testing/", "tests.rs", ".test.ts", "crates/simulation/", "/examples/"];
/// Constants with the name of a limit that limit nothing that anybody could meet.
const NO_LIMITS: &[&str] = &[
    // The range of a shorter encoding; beyond it the longer one is used.
    "NEAR_MAX",
    // How many syncs a metric looks back on.
    "RECENT_MAX",
    // The delay proxy of measurements.
    "CHUNKS_MAX",
    // The longest wait that browsers' timers know; longer ones are made of several.
    "TIMER_MAX_MS",
];

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let page = sources.iter().find(|source| source.path == PAGE);
    let rows: Vec<(usize, Vec<&str>)> = page.into_iter().flat_map(|page| rows(&page.text)).collect();
    let mut findings = missing(sources, &rows);
    let named = rows.iter().flat_map(|(line, cells)| tests_of(cells).map(|test| (*line, test)));
    findings.extend(named.filter(|(_, test)| !sources.iter().any(|source| has_test(source, test))).map(
        |(line, test)| {
            Finding::failure(
                PAGE,
                line,
                format!("names the test {test}, which is not there: name the one that meets the limit"),
            )
        },
    ));
    findings
}

/// The rows of the page's tables whose first cell is a name in code marks.
fn rows(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let rows = text.lines().enumerate().filter(|(_, line)| line.starts_with("| `"));
    rows.map(|(index, line)| (index + 1, line.trim_matches('|').split('|').map(str::trim).collect()))
}

fn missing(sources: &[Source], rows: &[(usize, Vec<&str>)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| is_product(&source.path)) {
        for (index, name) in constants(&source.text) {
            let listed = rows.iter().any(|(_, cells)| is_of(cells[0], name, &source.path));
            if !listed && !NO_LIMITS.contains(&name) {
                let message =
                    format!("the limit {name} is not in {PAGE}: add it, with what happens past it and the test");
                findings.push(Finding::failure(&source.path, index + 1, message));
            }
        }
    }
    findings
}

fn is_product(path: &str) -> bool {
    let in_product =
        PRODUCT.iter().any(|root| path.starts_with(root)) && (path.ends_with(".rs") || path.ends_with(".ts"));
    in_product && !NOT_PRODUCT.iter().any(|part| path.contains(part))
}

/// Constants that are called a maximum.
fn constants(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let declared = text.lines().enumerate().filter_map(|(index, line)| {
        let line = line.trim_start();
        let line = line
            .strip_prefix("export ")
            .or(line.strip_prefix("pub(crate) "))
            .or(line.strip_prefix("pub "))
            .unwrap_or(line);
        let name = line.strip_prefix("const ")?.split([':', ' ']).next()?;
        Some((index, name))
    });
    declared.filter(|(_, name)| name.split('_').any(|word| word == "MAX"))
}

/// Whether the first cell of a row, such as `engine::RECORD_BYTES_MAX`, is this constant of a file of that folder.
fn is_of(cell: &str, name: &str, path: &str) -> bool {
    let (package, rest) = cell.trim_matches('`').split_once("::").unwrap_or_default();
    rest.rsplit("::").next() == Some(name) && path.split('/').any(|folder| folder == package)
}

/// The names in code marks of the last cell.
fn tests_of<'a>(cells: &[&'a str]) -> impl Iterator<Item = &'a str> {
    cells.last().into_iter().flat_map(|cell| cell.split('`').skip(1).step_by(2))
}

/// Tests of TypeScript are named by a sentence.
fn has_test(source: &Source, name: &str) -> bool {
    let declared = if name.contains(' ') { format!("(\"{name}\"") } else { format!("fn {name}(") };
    source.has_extension(&["rs", "ts", "tsx"]) && source.text.contains(&declared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(code: &str, page: &str) -> String {
        let sources = [Source::new("crates/a/src/lib.rs", code), Source::new(PAGE, page)];
        check(&sources).iter().map(|finding| format!("{finding}\n")).collect()
    }

    #[test]
    fn a_limit_that_the_page_lacks_is_reported_where_it_is_declared() {
        let code =
            "//! A.\n    pub(crate) const KEY_BYTES_MAX: usize = 7;\nconst MAX: u8 = 3;\nconst MAXIMAL: u8 = 1;\n";
        let found = messages(code, "| `a::MAX` | 3 | refused | `it_is_met` |\n");
        assert!(found.contains("crates/a/src/lib.rs:2: the limit KEY_BYTES_MAX is not in docs/limits.md"), "{found}");
        assert!(!found.contains("limit MAX ") && !found.contains("MAXIMAL"), "{found}");
        assert!(messages("const MAX: u8 = 3;", "| `b::MAX` | 3 | refused | none yet |\n").contains("limit MAX "));
    }

    #[test]
    fn a_test_that_is_not_there_is_reported() {
        let code = "fn it_is_met() {}";
        assert_eq!(messages(code, "| `a::MAX` | 3 | refused | `it_is_met` |\n"), "");
        let found = messages(code, "x\n| `a::MAX` | 3 | refused | `it_is_met`, `it_is` |\n");
        assert_eq!(found.lines().count(), 1);
        assert!(found.contains("docs/limits.md:2: names the test it_is,"), "{found}");
        assert_eq!(messages(code, "| `a::MAX` | 3 | refused | none yet |\n"), "");
        let row = "| `a::MAX` | 3 | refused | `is told` |\n";
        assert_eq!(messages("test(\"is told\", () => {})", row), "");
        assert!(messages("is told", row).contains("names the test is told,"));
    }

    #[test]
    fn limits_of_tests_are_their_own_affair() {
        let sources = [Source::new("crates/a/src/tests/b.rs", "const ROUNDS_MAX: u8 = 3;"), Source::new(PAGE, "")];
        assert!(check(&sources).is_empty());
    }
}
