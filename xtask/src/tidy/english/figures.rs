//! `english.txt`: how many places each file may have that are hard to read. The figures only fall.
//!
//! A row a file, and not one sum: branches that touch different files change different rows, so that git merges them by itself, and what
//! they leave is right without counting again. A file that moves keeps its figure: its row is found by the file's name below the same
//! first folder. A file that has no row may have no such place.

use std::collections::BTreeMap;

use super::super::finding::Finding;
use super::super::sources::Source;

pub const PATH: &str = "xtask/src/tidy/english/english.txt";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures<'a> {
    /// The row of each file: its line, from 1, and its figure.
    rows: BTreeMap<&'a str, (usize, usize)>,
    /// Rows whose files are gone, by the path of the file that took each one's place, if there is one.
    moved: BTreeMap<&'a str, &'a str>,
}

impl<'a> Figures<'a> {
    /// The figures as they are written, and what is wrong with the file.
    pub fn read(sources: &'a [Source]) -> (Figures<'a>, Vec<Finding>) {
        let text = sources.iter().find(|source| source.path == PATH).map_or("", |source| &source.text);
        let mut figures = Figures::default();
        let mut findings = Vec::new();
        for (index, row) in text.lines().enumerate().filter(|(_, row)| !row.is_empty() && !row.starts_with('#')) {
            let parsed = row.split_once(' ').and_then(|(figure, path)| Some((figure.parse().ok()?, path)));
            let Some((figure, path)) = parsed else {
                let message = "is no figure and a path, such as `3 docs/page.md`: run `cargo xtask english --lower`";
                findings.push(Finding::failure(PATH, index + 1, message));
                continue;
            };
            let row = figures.rows.entry(path).or_insert((index + 1, figure));
            // Both sides of a merge: neither file may fail by the other's figure.
            row.1 = figure.max(row.1);
            if row.0 != index + 1 {
                let message = format!("has a second row for {path}: run `cargo xtask english --lower`");
                findings.push(Finding::failure(PATH, index + 1, message));
            }
        }
        figures.follow_moves(sources);
        (figures, findings)
    }

    fn follow_moves(&mut self, sources: &'a [Source]) {
        let mut gone: Vec<&str> =
            self.rows.keys().copied().filter(|row| sources.iter().all(|source| source.path != *row)).collect();
        let unlisted = sources.iter().filter(|source| !self.rows.contains_key(&*source.path));
        for source in unlisted {
            if let Some(at) = gone.iter().position(|row| is_same_file(row, &source.path)) {
                self.moved.insert(&source.path, gone.remove(at));
            }
        }
    }

    /// How many places the file may have.
    pub fn of(&self, path: &str) -> usize {
        let row = self.moved.get(path).copied().unwrap_or(path);
        self.rows.get(row).map_or(0, |(_, figure)| *figure)
    }

    /// The line of the file's row, to lead there.
    pub fn line_of(&self, path: &str) -> usize {
        let row = self.moved.get(path).copied().unwrap_or(path);
        self.rows.get(row).map_or(1, |(line, _)| *line)
    }

    /// Rows of files that are not there any more, with their lines.
    pub fn gone(&self, sources: &[Source]) -> Vec<(usize, &'a str)> {
        let rows = self.rows.iter().filter(|(row, _)| sources.iter().all(|source| source.path != **row));
        rows.map(|(row, (line, _))| (*line, *row)).collect()
    }
}

/// Whether a file may have moved from one path to the other: its name and its first folder are the same.
fn is_same_file(from: &str, to: &str) -> bool {
    from.split('/').next() == to.split('/').next() && from.rsplit('/').next() == to.rsplit('/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(figures: &str, paths: &[&str]) -> Vec<Source> {
        paths.iter().map(|path| Source::new(path, "")).chain([Source::new(PATH, figures)]).collect()
    }

    #[test]
    fn a_file_has_the_figure_of_its_row_and_none_without_one() {
        let sources = sources("# How.\n\n3 docs/a page.md\n", &["docs/a page.md", "docs/b.md"]);
        let (figures, findings) = Figures::read(&sources);
        assert_eq!(findings, []);
        assert_eq!((figures.of("docs/a page.md"), figures.line_of("docs/a page.md")), (3, 3));
        assert_eq!(figures.of("docs/b.md"), 0);
    }

    #[test]
    fn a_file_that_moves_keeps_its_figure_and_only_one_does() {
        let moved = ["crates/a/src/sub/lib.rs", "crates/b/src/lib.rs", "docs/lib.rs"];
        let sources = sources("3 crates/a/src/lib.rs\n", &moved);
        let (figures, _) = Figures::read(&sources);
        assert_eq!(moved.map(|path| figures.of(path)), [3, 0, 0]);
        assert_eq!(figures.gone(&sources), [(1, "crates/a/src/lib.rs")]);
    }

    #[test]
    fn what_a_merge_leaves_is_reported_with_its_lines_and_read_as_the_larger_figures() {
        let sources =
            sources("<<<<<<< ours\n3 a.md\n2 b.md\n=======\n2 a.md\n4 b.md\n>>>>>>> theirs\n", &["a.md", "b.md"]);
        let (figures, findings) = Figures::read(&sources);
        let lines: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 4, 5, 6, 7]);
        assert_eq!((figures.of("a.md"), figures.of("b.md")), (3, 4));
    }
}
