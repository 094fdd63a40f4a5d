//! Pages point to what is there: links lead to files and headings of the repository, and paths that a page names exist.
//!
//! Links to other sites are not followed: the check needs no network.

use super::finding::Finding;
use super::sources::Source;

/// A name in code marks that begins with one of these is a path from the repository's root.
const ROOTS: &[&str] = &["crates/", "programs/", "sdks/", "docs/", "examples/", "xtask/", "scripts/"];

/// What is built there and not kept.
const BUILT: &[&str] = &["sdks/typescript/client/src/wasm", "sdks/typescript/objects/src/wasm"];

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let pages = sources.iter().filter(|source| source.has_extension(&["md"]));
    pages.flat_map(|page| check_page(page, sources)).collect()
}

fn check_page(page: &Source, sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in prose(&page.text) {
        for target in targets(line).filter(|target| !target.contains(':')) {
            if let Some(problem) = problem_of(page, target, sources) {
                findings.push(Finding::failure(&page.path, index + 1, format!("the link to {target} {problem}")));
            }
        }
        for path in named_paths(line).filter(|path| !exists(path, sources)) {
            let message = format!("names {path}, which is not there: say where it is now");
            findings.push(Finding::failure(&page.path, index + 1, message));
        }
    }
    findings
}

/// The lines outside of code blocks, with their place.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    })
}

/// What links and pictures of a line lead to.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let links = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let pictures = line.split("src=\"").skip(1).filter_map(|rest| rest.split_once('"'));
    links.chain(pictures).map(|(target, _)| target)
}

fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    let in_code = line.split('`').skip(1).step_by(2);
    let in_code = in_code.filter(|name| !BUILT.contains(name));
    in_code.filter(|name| ROOTS.iter().any(|root| name.starts_with(root)) && !name.contains([' ', '*', '{', '<', '…']))
}

fn problem_of(page: &Source, target: &str, sources: &[Source]) -> Option<&'static str> {
    let (path, heading) = target.split_once('#').map_or((target, None), |(path, heading)| (path, Some(heading)));
    let path = if path.is_empty() { page.path.clone() } else { resolved(&page.path, path) };
    if !exists(&path, sources) {
        return Some("leads nowhere: correct the path");
    }
    let known = |source: &Source| headings(&source.text).any(|own| Some(own.as_str()) == heading);
    let text = sources.iter().find(|source| source.path == path);
    (heading.is_some() && !text.is_some_and(known)).then_some("names a heading that is not on its page")
}

/// A path from the root, for one from a page's folder.
fn resolved(page: &str, path: &str) -> String {
    let mut folders: Vec<&str> = page.split('/').collect();
    folders.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(folders.pop()),
            folder => folders.push(folder),
        }
    }
    folders.join("/")
}

/// Whether it is a file of the repository, or a folder of one.
fn exists(path: &str, sources: &[Source]) -> bool {
    let path = path.trim_end_matches('/');
    let is_it = |own: &str| own.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    path.is_empty() || sources.iter().any(|source| is_it(&source.path))
}

/// The anchors that GitHub gives to headings.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let titles = prose(text).filter(|(_, line)| line.starts_with('#'));
    titles.map(|(_, line)| {
        let title = line.trim_start_matches('#').trim();
        let kept = title.chars().filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(page: &str) -> String {
        let sources = [
            Source::new("docs/a.md", page),
            Source::new("docs/images/plan.png", ""),
            Source::new("README.md", "# Iolite\n## What it can't do\n```\n# no heading\n```\n"),
            Source::new("crates/values/src/lib.rs", "//! Values."),
        ];
        check(&sources).iter().map(|finding| format!("{finding}\n")).collect()
    }

    #[test]
    fn what_is_there_passes() {
        let good = "[one](../README.md) [two](../README.md#what-it-cant-do) [three](#here) ![four](images/plan.png)\n\
            <img src=\"images/plan.png\"> [five](https://example.invalid/x) `crates/values` `crates/values/src/lib.rs`\n# Here\n";
        assert_eq!(messages(good), "");
    }

    #[test]
    fn a_link_that_leads_nowhere_is_reported_with_its_line() {
        assert!(messages("fine\n[x](b.md)").starts_with("docs/a.md:2: the link to b.md leads nowhere"));
        assert!(messages("<img src=\"images/none.png\">").contains("leads nowhere"));
    }

    #[test]
    fn a_heading_that_is_not_there_is_reported() {
        assert!(messages("[x](../README.md#no-heading)").contains("names a heading"));
        assert!(messages("[x](#none)").contains("names a heading"));
    }

    #[test]
    fn a_path_that_is_gone_is_reported() {
        assert!(messages("see `crates/values/src/old.rs`").contains("names crates/values/src/old.rs"));
        assert!(messages("see `crates/val`").contains("names crates/val,"));
        assert_eq!(messages("see `crates/*/src`\n```\n`crates/none`\n```"), "");
    }
}
