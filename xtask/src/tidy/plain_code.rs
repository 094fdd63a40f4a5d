//! Rust source with comments, strings and characters blanked, so that a brace in the result is a brace of the code.
//!
//! Invariant: the result has as many lines as the source, and each token stays on its line.

/// Blanks everything that is not code. Line breaks stay.
pub fn plain_code(source: &str) -> Vec<char> {
    let source: Vec<char> = source.chars().collect();
    let mut plain = Vec::with_capacity(source.len());
    let mut at = 0;
    while at < source.len() {
        let end = match end_of_non_code(&source, at) {
            Some(end) => end.min(source.len()),
            None => {
                plain.push(source[at]);
                at += 1;
                continue;
            }
        };
        plain.extend(source[at..end].iter().map(|&character| if character == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    plain
}

/// Where the comment, string or character that starts here ends; `None` if code starts here.
fn end_of_non_code(source: &[char], at: usize) -> Option<usize> {
    match (source[at], source.get(at + 1)) {
        ('/', Some('/')) => Some(find(source, at, '\n')),
        ('/', Some('*')) => Some(end_of_block_comment(source, at)),
        ('"', _) => Some(end_of_quoted(source, at, '"')),
        ('\'', Some('\\')) => Some(end_of_quoted(source, at, '\'')),
        // Three characters make a char; a quote without its partner there starts a lifetime.
        ('\'', Some(_)) if source.get(at + 2) == Some(&'\'') => Some(at + 3),
        ('r', Some('"' | '#')) if !continues_a_word(source, at) => end_of_raw_string(source, at),
        _ => None,
    }
}

fn find(source: &[char], from: usize, wanted: char) -> usize {
    source[from..].iter().position(|&character| character == wanted).map_or(source.len(), |offset| from + offset)
}

fn end_of_quoted(source: &[char], start: usize, quote: char) -> usize {
    let mut at = start + 1;
    while at < source.len() && source[at] != quote {
        at += if source[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

fn end_of_block_comment(source: &[char], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < source.len() {
        match (source[at], source.get(at + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                at += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    at
}

/// `None` for a raw identifier such as `r#type`.
fn end_of_raw_string(source: &[char], start: usize) -> Option<usize> {
    let hashes = source[start + 1..].iter().take_while(|&&character| character == '#').count();
    let quote = start + 1 + hashes;
    if source.get(quote) != Some(&'"') {
        return None;
    }
    let mut at = quote + 1;
    while at < source.len() {
        let closes = source[at] == '"'
            && source[at + 1..].iter().take(hashes).filter(|&&character| character == '#').count() == hashes;
        if closes {
            return Some(at + 1 + hashes);
        }
        at += 1;
    }
    Some(at)
}

/// Whether the character belongs to a longer word, as the `r` of `for` does. `br"` and `cr"` are raw strings too.
fn continues_a_word(source: &[char], at: usize) -> bool {
    let is_word = |index: usize| source[index].is_alphanumeric() || source[index] == '_';
    match at.checked_sub(1) {
        Some(before) if matches!(source[before], 'b' | 'c') => before.checked_sub(1).is_some_and(is_word),
        Some(before) => is_word(before),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::plain_code;

    fn braces(source: &str) -> String {
        plain_code(source).into_iter().filter(|character| matches!(character, '{' | '}')).collect()
    }

    #[test]
    fn braces_in_comments_strings_and_characters_are_blanked() {
        assert_eq!(braces("{ // {\n }"), "{}");
        assert_eq!(braces("{ /* { /* { */ { */ }"), "{}");
        assert_eq!(braces(r#"{ "{ \" {" }"#), "{}");
        assert_eq!(braces("{ r#\"{ \" {\"# br\"{\\\" }"), "{}");
        assert_eq!(braces(r"{ '{' b'{' '\'' '\u{7b}' }"), "{}");
    }

    #[test]
    fn lifetimes_and_raw_identifiers_are_code() {
        assert_eq!(braces("fn a<'a>(x: &'a str) -> B<'a> { r#type {} for x in y {} }"), "{{}{}}");
    }

    #[test]
    fn lines_stay_where_they_are() {
        let source = "a\n/* b\nc */\n\"d\ne\"\nf";
        let lines = |text: &[char]| text.iter().filter(|&&character| character == '\n').count();
        assert_eq!(lines(&plain_code(source)), 5);
    }

    #[test]
    fn a_source_that_ends_inside_a_literal_does_not_panic() {
        for source in ["\"", "'\\", "/*", "r#\"", "r#", "//", "'", "\"\\"] {
            plain_code(source);
        }
    }
}
