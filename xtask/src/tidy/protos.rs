//! Wire messages: one a file (rule 15), so that each has its own history, golden bytes and since-version; and the field numbers that are reserved for systems
//! that come.

use super::finding::Finding;
use super::sources::Source;

pub fn check(source: &Source) -> Option<Finding> {
    if !source.has_extension(&["proto"]) {
        return None;
    }
    let messages = top_level_messages(&source.text);
    match messages[..] {
        [_] => None,
        [] => Some(Finding::failure(&source.path, 1, "holds no message: one message a file")),
        [_, second, ..] => {
            let message = format!("holds {} messages: move this one to a file of its own", messages.len());
            Some(Finding::failure(&source.path, second, message))
        }
    }
}

const PAGE: &str = "docs/protocols/wire.md";

/// A row of the page's table of field numbers that are reserved.
struct Row<'a> {
    line: usize,
    message: &'a str,
    number: u32,
}

/// The numbers that the page reserves for systems that come are those that the messages reserve, each for one system.
pub fn check_reserved(sources: &[Source]) -> Vec<Finding> {
    let page = sources.iter().find(|source| source.path == PAGE);
    let rows: Vec<Row<'_>> = page.into_iter().flat_map(|page| reserved_rows(&page.text)).collect();
    let mut findings = Vec::new();
    for (index, Row { line, message, number }) in rows.iter().enumerate() {
        let reserved = sources.iter().find(|source| source.path == *message).map(|source| reserved(&source.text));
        if reserved.is_none_or(|reserved| reserved.iter().all(|(_, own)| own != number)) {
            let problem = format!("{message} does not reserve {number}: reserve it there, or remove this row");
            findings.push(Finding::failure(PAGE, *line, problem));
        }
        if rows[..index].iter().any(|row| (row.message, row.number) == (*message, *number)) {
            let problem = format!("{number} of {message} is reserved twice: take the next one");
            findings.push(Finding::failure(PAGE, *line, problem));
        }
    }
    for source in sources.iter().filter(|source| rows.iter().any(|row| row.message == source.path)) {
        for (line, number) in reserved(&source.text) {
            if rows.iter().all(|row| (row.message, row.number) != (source.path.as_str(), number)) {
                let problem = format!("reserves {number}, and {PAGE} does not say for what: add it to the table there");
                findings.push(Finding::failure(&source.path, line, problem));
            }
        }
    }
    findings
}

/// The rows of the table whose first cell is the path of a message and whose second one is a number.
fn reserved_rows(text: &str) -> impl Iterator<Item = Row<'_>> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let (message, rest) = line.strip_prefix("| `")?.split_once(".proto` | ")?;
        let (number, _) = rest.split_once(" |")?;
        let message = &line["| `".len()..][..message.len() + ".proto".len()];
        Some(Row { line: index + 1, message, number: number.parse().ok()? })
    })
}

/// The numbers that a message reserves, each with its line.
fn reserved(text: &str) -> Vec<(usize, u32)> {
    let mut numbers = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(list) = line.trim().strip_prefix("reserved ").and_then(|rest| rest.strip_suffix(';')) else {
            continue;
        };
        for part in list.split(',').map(str::trim) {
            let (first, last) = part.split_once(" to ").unwrap_or((part, part));
            if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
                numbers.extend((first..=last).map(|number| (index + 1, number)));
            }
        }
    }
    numbers
}

/// The lines of messages that are not nested in another.
fn top_level_messages(text: &str) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        if depth == 0 && code.trim_start().starts_with("message ") {
            lines.push(index + 1);
        }
        depth += code.matches('{').count();
        depth = depth.saturating_sub(code.matches('}').count());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Option<usize> {
        check(&Source::new("crates/wire/proto/hello.proto", text)).map(|finding| finding.line)
    }

    #[test]
    fn a_second_message_is_reported_where_it_stands() {
        assert_eq!(line("message A { int32 a = 1; }\n\nmessage B {}\n"), Some(3));
    }

    #[test]
    fn a_file_without_a_message_is_reported() {
        assert_eq!(line("syntax = \"proto3\";\n// message A {}\n"), Some(1));
    }

    #[test]
    fn one_message_with_nested_ones_passes() {
        assert_eq!(line("message A {\n  message Part {}\n  enum Kind { X = 0; }\n}\nenum Reason { Y = 0; }\n"), None);
    }

    fn reserving(rows: &str, message: &str) -> Vec<(String, usize)> {
        let page = format!("| Message | Number | For |\n|---|---|---|\n{rows}");
        let sources = [Source::new(PAGE, &page), Source::new("a/b.proto", message)];
        check_reserved(&sources).into_iter().map(|finding| (finding.path, finding.line)).collect()
    }

    #[test]
    fn numbers_that_page_and_message_reserve_pass() {
        let rows = "| `a/b.proto` | 2 | logs |\n| `a/b.proto` | 3 | rows |\n| `a/b.proto` | 7 | objects |\n";
        assert_eq!(reserving(rows, "message B {\n  reserved 2 to 3, 7;\n}\n"), []);
    }

    #[test]
    fn a_number_that_only_the_page_reserves_is_reported_there() {
        let rows = "| `a/b.proto` | 2 | logs |\n| `a/c.proto` | 2 | logs |\n";
        let at = |line| (PAGE.to_owned(), line);
        assert_eq!(reserving(rows, "message B {\n  uint32 log = 2;\n}\n"), [at(3), at(4)]);
    }

    #[test]
    fn a_number_that_only_the_message_reserves_is_reported_there() {
        let message = "message B {\n  reserved 2;\n  reserved 3;\n}\n";
        assert_eq!(reserving("| `a/b.proto` | 2 | logs |\n", message), [("a/b.proto".to_owned(), 3)]);
    }

    #[test]
    fn a_number_that_two_systems_take_is_reported() {
        let rows = "| `a/b.proto` | 2 | logs |\n| `a/b.proto` | 2 | rows |\n";
        assert_eq!(reserving(rows, "message B {\n  reserved 2;\n}\n"), [(PAGE.to_owned(), 4)]);
    }
}
