//! Code on a page that says where it is from is what stands there, so an example is one that is compiled and tested.
//!
//! A code block is a quote when the line before it is `<!-- from PATH -->`. Its lines stand in that file, one after the other; how far
//! they are indented together does not matter.

use super::finding::Finding;
use super::sources::Source;

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let pages = sources.iter().filter(|source| source.has_extension(&["md"]));
    pages.flat_map(|page| check_page(page, sources)).collect()
}

fn check_page(page: &Source, sources: &[Source]) -> Vec<Finding> {
    let lines: Vec<&str> = page.text.lines().collect();
    let mut findings = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(path) = line.strip_prefix("<!-- from ").and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let block = lines[index + 1..].iter().skip(1).take_while(|line| !line.starts_with("```"));
        let quote = unindented(&block.copied().collect::<Vec<_>>());
        let original = sources.iter().find(|source| source.path == path);
        let message = match original {
            None => format!("quotes {path}, which is not there: say where the code is now"),
            Some(original) if !stands_in(&quote, &original.text) => {
                format!("the code is not what stands in {path}: copy it again")
            }
            Some(_) => continue,
        };
        findings.push(Finding::failure(&page.path, index + 1, message));
    }
    findings
}

fn stands_in(quote: &[&str], text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    !quote.is_empty() && lines.windows(quote.len()).any(|window| unindented(window) == *quote)
}

/// The lines without the white space that all of them begin with.
fn unindented<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let least = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    lines.iter().map(|line| line.get(least..).unwrap_or("")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(page: &str) -> String {
        let sources = [Source::new("README.md", page), Source::new("src/a.ts", "x\n  if (y) {\n\n    z();\n  }\n")];
        check(&sources).iter().map(|finding| format!("{finding}\n")).collect()
    }

    #[test]
    fn code_that_stands_there_passes_however_far_it_is_indented() {
        assert_eq!(messages("<!-- from src/a.ts -->\n```ts\nif (y) {\n\n  z();\n}\n```\n"), "");
        assert_eq!(messages("```ts\nfree();\n```\n"), "");
    }

    #[test]
    fn other_code_is_reported() {
        assert!(messages("<!-- from src/a.ts -->\n```ts\nif (y) {\n  z();\n}\n```\n").contains("copy it again"));
        assert!(messages("<!-- from src/a.ts -->\n```ts\n```\n").contains("copy it again"));
    }

    #[test]
    fn a_file_that_is_gone_is_reported() {
        assert!(messages("a\n<!-- from src/b.ts -->\n```ts\nx\n```\n").starts_with("README.md:2: quotes src/b.ts"));
    }
}
