//! The sentences of a Markdown page as a reader sees them, each with its line and its words.
//!
//! Headings, code blocks and the targets of links are no sentences; a code span is one word. An item of a list and a cell of a table end
//! a sentence, as a full stop does.

/// A sentence that people read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The line of its first word, from 1.
    pub line: usize,
    pub words: usize,
    /// The first words, to find it by.
    pub beginning: String,
    /// Whether it stands in a cell of a table, where a word may be all that is said.
    pub in_table: bool,
}

/// How many words are quoted to find a sentence by.
const BEGINNING_WORDS: usize = 5;

/// A full stop that ends one of these ends no sentence.
const ABBREVIATIONS: &[&str] = &["e.g.", "i.e.", "cf.", "vs.", "al.", "approx."];

/// Punctuation that may stand before or after a sentence's own.
const WRAPPING: &[char] = &['*', '_', '(', ')', '[', ']', '"', '\'', '“', '”', '‘', '’', ','];

pub fn sentences(page: &str) -> Vec<Sentence> {
    paragraphs(page).iter().flat_map(Paragraph::sentences).collect()
}

/// Text that no sentence leaves: a paragraph, an item of a list, a cell of a table.
struct Paragraph {
    line: usize,
    text: String,
    in_table: bool,
}

fn paragraphs(page: &str) -> Vec<Paragraph> {
    let mut found = Vec::new();
    let mut open: Option<Paragraph> = None;
    let mut in_code = false;
    for (index, line) in page.lines().enumerate() {
        let text = line.trim_start().trim_start_matches('>').trim();
        let fence = text.starts_with("```");
        in_code ^= fence;
        if fence || in_code || text.is_empty() || text.starts_with('#') {
            found.extend(open.take());
        } else if text.starts_with('|') {
            found.extend(open.take());
            found.extend(cells(text).map(|text| Paragraph { line: index + 1, text, in_table: true }));
        } else if let Some(item) = item_of_list(text) {
            found.extend(open.replace(Paragraph { line: index + 1, text: item.to_owned(), in_table: false }));
        } else {
            let paragraph =
                open.get_or_insert_with(|| Paragraph { line: index + 1, text: String::new(), in_table: false });
            if !paragraph.text.is_empty() {
                paragraph.text.push('\n');
            }
            paragraph.text.push_str(text);
        }
    }
    found.extend(open);
    found
}

fn cells(row: &str) -> impl Iterator<Item = String> {
    let row = row.replace("\\|", "/");
    row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>().into_iter()
}

fn item_of_list(text: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "+ "].iter().find_map(|mark| text.strip_prefix(mark));
    let numbered = text.trim_start_matches(|character: char| character.is_ascii_digit());
    bullet.or_else(|| numbered.strip_prefix(". ").filter(|_| numbered.len() < text.len()))
}

impl Paragraph {
    fn sentences(&self) -> Vec<Sentence> {
        let text = visible(&self.text);
        let lines = text.split('\n').enumerate();
        let words: Vec<(usize, &str)> = lines
            .flat_map(|(offset, line)| line.split_whitespace().map(move |word| (self.line + offset, word)))
            .collect();
        let mut found = Vec::new();
        let mut start = 0;
        for (at, (_, word)) in words.iter().enumerate() {
            if words.get(at + 1).is_none_or(|(_, next)| ends_before(word, next)) {
                found.extend(sentence(&words[start..=at], self.in_table));
                start = at + 1;
            }
        }
        found
    }
}

/// The sentence of these words; none if they are only punctuation.
fn sentence(words: &[(usize, &str)], in_table: bool) -> Option<Sentence> {
    let counted = words.iter().filter(|(_, word)| word.contains(char::is_alphanumeric)).count();
    let beginning: Vec<&str> = words.iter().take(BEGINNING_WORDS).map(|(_, word)| *word).collect();
    let (line, _) = words.first()?;
    (counted > 0).then(|| Sentence { line: *line, words: counted, beginning: beginning.join(" "), in_table })
}

/// Whether a sentence ends between two words.
fn ends_before(word: &str, next: &str) -> bool {
    let word = word.trim_matches(WRAPPING);
    let goes_on = next.trim_start_matches(WRAPPING).starts_with(char::is_lowercase);
    word.ends_with(['.', '!', '?', '…']) && !goes_on && !ABBREVIATIONS.contains(&word)
}

/// The text without what a page does not show. Line breaks stay, so that places stay right.
fn visible(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let bytes = match hidden(rest) {
            Some((bytes, instead)) => {
                shown.push_str(instead);
                shown.extend(rest[..bytes].chars().filter(|&character| character == '\n'));
                bytes
            }
            None => {
                shown.push(next);
                next.len_utf8()
            }
        };
        rest = &rest[bytes..];
    }
    shown
}

/// How many bytes at the beginning are not shown as they are, and what is read instead.
fn hidden(text: &str) -> Option<(usize, &'static str)> {
    if text.starts_with('`') {
        let marks = text.len() - text.trim_start_matches('`').len();
        let (run, rest) = text.split_at(marks);
        return rest.find(run).map(|end| (marks + end + marks, "`code`"));
    }
    let up_to = |end: &str| text.find(end).map(|at| (at + end.len(), ""));
    if text.starts_with("<!--") {
        return up_to("-->");
    }
    if text.starts_with("](") {
        return up_to(")");
    }
    let tag = text.strip_prefix('<')?;
    if tag.starts_with(|character: char| character.is_alphabetic() || character == '/') { up_to(">") } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(page: &str) -> Vec<(usize, usize)> {
        sentences(page).iter().map(|sentence| (sentence.line, sentence.words)).collect()
    }

    #[test]
    fn a_sentence_ends_at_its_full_stop_or_with_its_paragraph() {
        assert_eq!(read("One two.\nThree four five\nsix. Seven?\n\nEight nine"), [(1, 2), (2, 4), (3, 1), (5, 2)]);
        assert_eq!(read("**One two.** (Three four.) `five` six."), [(1, 2), (1, 2), (1, 2)]);
    }

    #[test]
    fn a_full_stop_inside_a_sentence_does_not_end_it() {
        assert_eq!(
            read("Rust from 1.89, e.g. that of Lebeck et al. (2020), in `a. B` or main.rs. Two."),
            [(1, 14), (1, 1)]
        );
        assert_eq!(read("In 0.5 s. of time"), [(1, 5)]);
    }

    #[test]
    fn items_of_lists_and_cells_of_tables_are_read_one_by_one() {
        assert_eq!(read("Either:\n- one two\n  three\n- four\n1. five six"), [(1, 1), (2, 3), (4, 1), (5, 2)]);
        assert_eq!(read("| A b | C |\n|---|---:|\n| d e f. G | `h \\| i` |"), [(1, 2), (1, 1), (3, 3), (3, 1), (3, 1)]);
        assert_eq!(read("> one\n> two"), [(1, 2)]);
    }

    #[test]
    fn what_a_page_does_not_show_is_not_counted() {
        let hidden = "# Five words in a heading\n```\nsome code\n```\n<!-- a\ncomment --> one [two three](a/b.md \"c d\") <br> – `f g h`.";
        assert_eq!(read(hidden), [(6, 4)]);
        assert_eq!(read("a < b and `open"), [(1, 4)]);
    }

    #[test]
    fn a_sentence_is_found_by_its_first_words() {
        assert_eq!(sentences("One *two* three four five six.")[0].beginning, "One *two* three four five");
    }
}
