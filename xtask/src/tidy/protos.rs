//! Wire messages: one a file (rule 15), so that each has its own history, golden bytes and since-version.

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
}
