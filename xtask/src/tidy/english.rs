//! Plain English: long sentences of pages, and doc comments that begin with a word that points, may only become fewer.
//!
//! Invariant: a file that has more of them than its figure in `english.txt` fails the check. One that has fewer is a warning: if it
//! failed, two branches that each repair a file would merge to a figure that no one wrote, and the merge would be red.

mod doc_comments;
mod figures;
mod sentences;

use super::finding::Finding;
use super::sources::Source;
use figures::Figures;
pub use figures::PATH;
use sentences::sentences;

/// The most words that a sentence of a page has; CONTRIBUTING.md asks for 25.
const WORDS_MAX: usize = 30;

/// Words that begin a fragment or point at what was not yet named. `Whether`, `How`, `Where`, `Why` and `When` are the usual beginnings for
/// flags, counts, places, reasons and times.
const POINTING: &[&str] = &[
    "It", "Its", "Neither", "Nobody", "Nothing", "Of", "So", "That", "Their", "These", "They", "Those", "What",
    "Whatever", "Which", "Who", "Whoever", "Whom", "Whose",
];

const HEADER: &str = "\
# How many places each file may still have that are hard to read: in pages, sentences past 30 words; in code, doc comments that begin with
# a word such as What, Of or Those. A file without a row may have none. CONTRIBUTING.md, \"Write for someone who arrives today\", says how
# to write them. `cargo xtask tidy` fails when a file has more than its figure; `cargo xtask english --lower` writes this file anew, and
# raises nothing. It also ends a merge's conflicts in this file. A file that is split shares its figure by hand.
";

/// A place that is hard to read.
struct Place {
    line: usize,
    /// The beginning of a finding that says what is wrong.
    problem: String,
}

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let (figures, mut findings) = Figures::read(sources);
    for source in sources {
        let places = places(source);
        let most = figures.of(&source.path);
        if places.len() > most {
            findings.extend(raised(source, &places, most));
        } else if places.len() < most {
            let (path, has) = (&source.path, places.len());
            let message =
                format!("the figure of {path} is {most}, and the file has {has}: run `cargo xtask english --lower`");
            findings.push(Finding::warning(PATH, figures.line_of(&source.path), message));
        }
    }
    findings.extend(figures.gone(sources).into_iter().map(|(line, path)| {
        let message = format!("{path} is not there any more: run `cargo xtask english --lower`");
        Finding::warning(PATH, line, message)
    }));
    findings
}

/// All places of a file that may have none; else one finding that names the lines, for nobody can say which of them is new.
fn raised(source: &Source, places: &[Place], most: usize) -> Vec<Finding> {
    if most == 0 {
        return places.iter().map(|place| Finding::failure(&source.path, place.line, place.problem.clone())).collect();
    }
    let lines: Vec<String> = places.iter().map(|place| place.line.to_string()).collect();
    let message = format!(
        "{}; the file has {} such places, and at most {most} may stay: rewrite what you added or any of lines {}",
        places[0].problem,
        places.len(),
        lines.join(", ")
    );
    vec![Finding::failure(&source.path, places[0].line, message)]
}

fn places(source: &Source) -> Vec<Place> {
    if source.has_extension(&["md"]) {
        let long = sentences(&source.text).into_iter().filter(|sentence| sentence.words > WORDS_MAX);
        return long
            .map(|sentence| Place {
                line: sentence.line,
                problem: format!(
                    "the sentence \"{} …\" has {} words, past {WORDS_MAX}: break it",
                    sentence.beginning, sentence.words
                ),
            })
            .collect();
    }
    if !source.has_extension(&["rs", "ts", "tsx"]) {
        return Vec::new();
    }
    let openings = doc_comments::openings(&source.text).into_iter();
    let pointing = openings.filter(|opening| POINTING.contains(&opening.word));
    pointing
        .map(|opening| Place {
            line: opening.line,
            problem: format!("the doc comment begins with `{}`: begin with what the thing is or does", opening.word),
        })
        .collect()
}

/// `english.txt` as it is to be: figures that have fallen are lowered, files that moved have their new paths, and nothing is raised.
pub fn lowered(sources: &[Source]) -> String {
    let (figures, _) = Figures::read(sources);
    let mut rows: Vec<(&str, usize)> = sources
        .iter()
        .map(|source| (source.path.as_str(), places(source).len().min(figures.of(&source.path))))
        .filter(|(_, figure)| *figure > 0)
        .collect();
    rows.sort_unstable();
    let rows: String = rows.iter().map(|(path, figure)| format!("{figure} {path}\n")).collect();
    format!("{HEADER}{rows}")
}

/// A line a page: its sentences outside of tables, and all that are past the bound. Then all pages, and all doc comments.
pub fn table(sources: &[Source]) -> String {
    let mut table = String::from("sentences  past 30  page\n");
    let (mut all, mut long) = (0, 0);
    for page in sources.iter().filter(|source| source.has_extension(&["md"])) {
        let outside = sentences(&page.text).iter().filter(|sentence| !sentence.in_table).count();
        let past = places(page).len();
        table.push_str(&format!("{outside:9}  {past:7}  {}\n", page.path));
        all += outside;
        long += past;
    }
    let code = || sources.iter().filter(|source| source.has_extension(&["rs", "ts", "tsx"]));
    let comments: usize = code().map(|source| doc_comments::openings(&source.text).len()).sum();
    let pointing: usize = code().map(|source| places(source).len()).sum();
    table.push_str(&format!("{all:9}  {long:7}  all pages\n"));
    table.push_str(&format!("{comments} doc comments, {pointing} of them begin with a word that points\n"));
    table
}

#[cfg(test)]
mod tests;
