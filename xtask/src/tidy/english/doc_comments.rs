//! The first words of doc comments, in Rust (`///`, `//!`) and TypeScript (`/** */`).

/// A doc comment's beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening<'a> {
    /// The line of the first word, from 1.
    pub line: usize,
    /// The first word, without the punctuation around it. A name in code marks keeps its marks.
    pub word: &'a str,
}

/// The beginnings of all doc comments of a file. Lines of one kind that follow each other are one comment.
pub fn openings(code: &str) -> Vec<Opening<'_>> {
    let mut found = Vec::new();
    let mut before = None;
    // `/**` alone on its line: the first word is on the next one.
    let mut awaited = false;
    for (index, line) in code.lines().enumerate() {
        let line = line.trim_start();
        let kind = ["///", "//!", "/**"].into_iter().find(|mark| line.starts_with(mark));
        let text = match kind {
            Some(mark) if mark == "/**" || before != kind => line.strip_prefix(mark),
            Some(_) => None,
            None if awaited => line.strip_prefix('*'),
            None => None,
        };
        let word = text.and_then(|text| text.split_whitespace().next());
        awaited = text.is_some() && word.is_none() && kind != Some("///") && kind != Some("//!");
        found.extend(word.map(|word| Opening { line: index + 1, word: trimmed(word) }));
        before = kind;
    }
    found
}

fn trimmed(word: &str) -> &str {
    word.trim_matches(|character: char| !character.is_alphanumeric() && character != '`')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(code: &str) -> Vec<(usize, &str)> {
        openings(code).iter().map(|opening| (opening.line, opening.word)).collect()
    }

    #[test]
    fn lines_that_follow_each_other_are_one_comment() {
        let code =
            "//! What a file is.\n//! More.\n\n/// Of it.\n///\n/// So.\nfn a() {\n    /// Its, own\n    b: u8,\n}\n";
        assert_eq!(read(code), [(1, "What"), (4, "Of"), (8, "Its")]);
    }

    #[test]
    fn comments_of_typescript_begin_on_their_first_or_second_line() {
        let code = "/** What it is. */\nlet a;\n/** One.\n * Those.\n */\n/**\n * Who asks.\n * So.\n */\n";
        assert_eq!(read(code), [(1, "What"), (3, "One"), (7, "Who")]);
    }

    #[test]
    fn other_comments_and_names_in_code_marks_are_what_they_are() {
        assert_eq!(read("// What a note.\n/// `None` if absent.\n/* So */\n"), [(2, "`None`")]);
    }
}
