//! Lengths of files and functions (rule 3): past one bound look again, past the other split.

use super::finding::Finding;
use super::functions::functions;
use super::sources::Source;

const FILE_LINES_LOOK_AGAIN: usize = 400;
const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_LOOK_AGAIN: usize = 40;
const FUNCTION_LINES_MAX: usize = 70;
const CODE_EXTENSIONS: &[&str] =
    &["rs", "ts", "tsx", "js", "mjs", "jsx", "css", "html", "proto", "py", "kt", "java", "swift", "sh"];

pub fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    if source.has_extension(CODE_EXTENSIONS) {
        findings.extend(check_file(source));
    }
    if source.has_extension(&["rs"]) {
        findings.extend(check_functions(source));
    }
    findings
}

fn check_file(source: &Source) -> Option<Finding> {
    let lines = source.text.lines().count();
    if lines > FILE_LINES_MAX {
        let message = format!("{lines} lines, at most {FILE_LINES_MAX}: one concept a file, split it");
        return Some(Finding::failure(&source.path, 1, message));
    }
    (lines > FILE_LINES_LOOK_AGAIN).then(|| {
        let message = format!("{lines} lines, past {FILE_LINES_LOOK_AGAIN}: is it still one concept?");
        Finding::warning(&source.path, 1, message)
    })
}

fn check_functions(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for function in functions(&source.text) {
        let lines = function.lines();
        let name = &function.name;
        if lines > FUNCTION_LINES_MAX {
            let message = format!("`{name}` has {lines} lines, at most {FUNCTION_LINES_MAX}: split it");
            findings.push(Finding::failure(&source.path, function.first_line, message));
        } else if lines > FUNCTION_LINES_LOOK_AGAIN {
            let message =
                format!("`{name}` has {lines} lines, past {FUNCTION_LINES_LOOK_AGAIN}: does it do one thing?");
            findings.push(Finding::warning(&source.path, function.first_line, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;

    fn file_of(lines: usize) -> Option<Severity> {
        let findings = check(&Source::new("crates/a/src/b.rs", &"//\n".repeat(lines)));
        findings.first().map(|finding| finding.severity)
    }

    fn function_of(lines: usize) -> Option<(Severity, usize)> {
        let text = format!("\nfn a() {{\n{}}}\n", "  b();\n".repeat(lines - 2));
        let findings = check(&Source::new("crates/a/src/b.rs", &text));
        findings.first().map(|finding| (finding.severity, finding.line))
    }

    #[test]
    fn files_warn_past_400_lines_and_fail_past_800() {
        assert_eq!(file_of(400), None);
        assert_eq!(file_of(401), Some(Severity::Warning));
        assert_eq!(file_of(800), Some(Severity::Warning));
        assert_eq!(file_of(801), Some(Severity::Failure));
    }

    #[test]
    fn functions_warn_past_40_lines_and_fail_past_70() {
        assert_eq!(function_of(40), None);
        assert_eq!(function_of(41), Some((Severity::Warning, 2)));
        assert_eq!(function_of(70), Some((Severity::Warning, 2)));
        assert_eq!(function_of(71), Some((Severity::Failure, 2)));
    }

    #[test]
    fn lock_files_may_be_long() {
        assert!(check(&Source::new("package-lock.json", &"{}\n".repeat(5000))).is_empty());
    }
}
