//! Bad English that must be reported, and figures that only fall.

use super::super::finding::Severity;
use super::*;

/// Thirty words.
const LONG: &str = "w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w";

fn sources(figures: &str, files: &[(&str, &str)]) -> Vec<Source> {
    let files = files.iter().map(|(path, text)| Source::new(path, text));
    files.chain([Source::new(PATH, figures)]).collect()
}

fn messages(figures: &str, files: &[(&str, &str)]) -> String {
    check(&sources(figures, files)).iter().map(|finding| format!("{finding}\n")).collect()
}

#[test]
fn a_sentence_past_30_words_is_reported_with_its_line_and_how_it_begins() {
    let page = format!("Short.\n\n{LONG}.\nThe next {LONG}.\n");
    let found = messages("", &[("docs/a.md", &page)]);
    assert_eq!(found, "docs/a.md:4: the sentence \"The next w w w …\" has 32 words, past 30: break it\n");
}

#[test]
fn a_doc_comment_that_points_is_reported_with_its_line_and_word() {
    let code = "//! The file.\n\n/// Whether it is.\nfn a() {}\n/// Those of it.\nfn b() {}\n";
    let found = messages("", &[("crates/a/src/b.rs", code)]);
    let message = "the doc comment begins with `Those`: begin with what the thing is or does";
    assert_eq!(found, format!("crates/a/src/b.rs:5: {message}\n"));
    assert!(messages("", &[("a.ts", "/** Who asks. */")]).starts_with("a.ts:1: the doc comment begins with `Who`"));
    assert!(messages("", &[("a.tsx", "/**\n * So be it. */")]).starts_with("a.tsx:2: "));
}

#[test]
fn every_pointing_word_is_reported_and_other_beginnings_pass() {
    for word in POINTING {
        assert!(messages("", &[("a.rs", &format!("/// {word} a.\n"))]).contains(word), "{word}");
    }
    assert_eq!(
        messages("", &[("a.rs", "/// The cell.\n"), ("b.rs", "// What is said.\n"), ("c.py", "/// What\n")]),
        ""
    );
}

#[test]
fn a_page_and_a_comment_that_raise_a_figure_are_reported_with_all_lines_to_choose_from() {
    let page = format!("The {LONG}.\n\nOf {LONG}.\n");
    let found = messages("1 docs/a.md\n", &[("docs/a.md", &page)]);
    assert_eq!(found.lines().count(), 1);
    assert!(found.starts_with("docs/a.md:1: the sentence \"The w w w w …\" has 31 words"), "{found}");
    assert!(found.contains("2 such places, and at most 1 may stay") && found.contains("lines 1, 3"), "{found}");
    let found = messages("1 a.rs\n", &[("a.rs", "//! What is.\n/// Its own.\n")]);
    assert!(found.starts_with("a.rs:1: the doc comment begins with `What`") && found.contains("lines 1, 2"), "{found}");
}

#[test]
fn a_figure_that_was_met_passes_and_one_that_fell_is_a_warning_at_its_row() {
    assert_eq!(messages("1 a.rs\n", &[("a.rs", "//! What is.\n")]), "");
    let found = check(&sources("# How.\n2 a.rs\n", &[("a.rs", "//! What is.\n")]));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].severity, found[0].line, found[0].path.as_str()), (Severity::Warning, 2, PATH));
    assert_eq!(found[0].message, "the figure of a.rs is 2, and the file has 1: run `cargo xtask english --lower`");
}

#[test]
fn a_file_that_is_gone_is_a_warning_and_one_that_moved_keeps_its_figure() {
    let moved = check(&sources("1 crates/a/b.rs\n", &[("crates/a/c/b.rs", "//! What is.\n")]));
    let severities: Vec<Severity> = moved.iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Warning]);
    assert!(moved[0].message.starts_with("crates/a/b.rs is not there any more"), "{}", moved[0].message);
}

#[test]
fn lowering_raises_nothing_and_follows_a_file_that_moved() {
    let files =
        [("a.rs", "//! What.\n"), ("b.rs", "//! What.\n/// Of.\n"), ("c/e/d.rs", "//! So.\n"), ("f.rs", "//! So.\n")];
    let sources = sources("# Old.\n3 a.rs\n1 b.rs\n2 c/d.rs\n4 gone.rs\n", &files);
    assert_eq!(lowered(&sources), format!("{HEADER}1 a.rs\n1 b.rs\n1 c/e/d.rs\n"));
}

#[test]
fn the_table_counts_pages_and_comments() {
    let page = format!("Short. The {LONG}.\n\n| cell | The {LONG} |\n");
    let table = table(&sources("", &[("a.md", &page), ("b.rs", "//! What.\n\n/// The b.\n")]));
    assert!(table.contains("2        2  a.md\n"), "{table}");
    assert!(table.contains("2        2  all pages\n2 doc comments, 1 of them"), "{table}");
}
