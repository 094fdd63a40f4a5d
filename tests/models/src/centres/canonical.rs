//! A node's state as text, in which numbers that only count are replaced by their order.
//!
//! Invariant: a machine compares these numbers and never looks at how far apart they are: timestamps, numbers of requests, and how late it is.
//! Two nodes with one text do the same from then on.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Numbers that are replaced by their place among all of their kind.
const RANKED: [&str; 3] = ["Timestamp(", "RequestId(", "Own("];
/// Numbers that count what has been, and are left out.
const COUNTS: [&str; 2] = ["own_requests: ", "last: "];
/// A moment. What counts is how much later than now it is.
const INSTANT: &str = "Instant(";
/// Wall clocks are looked at by nobody here.
const WALL: &str = "WallTime(";
/// A map by numbers of requests, which `Own` has as well.
const BY_NUMBER: &str = "purposes: {";

/// The text of a node. `now`: the machine's.
pub fn canonical(text: &str, now: u64) -> String {
    let ranks = RANKED.map(|prefix| ranks(text, prefix));
    let mut canonical = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        let (before, word) = rest.split_at(at);
        canonical.push_str(before);
        rest = replace(word, now, &ranks, &mut canonical);
    }
    canonical.push_str(rest);
    canonical
}

/// Writes the word that the text begins with, and gives what follows.
fn replace<'a>(text: &'a str, now: u64, ranks: &[BTreeMap<u64, usize>; 3], canonical: &mut String) -> &'a str {
    let mut put = |of: &dyn std::fmt::Display| write!(canonical, "{of}").expect("a text takes all");
    for (prefix, ranks) in RANKED.iter().zip(ranks) {
        if let Some((number, rest)) = number_after(text, prefix) {
            put(&format_args!("{prefix}{}", ranks[&number]));
            return rest;
        }
    }
    for prefix in COUNTS {
        if let Some((_, rest)) = number_after(text, prefix) {
            return rest;
        }
    }
    if let Some((at, rest)) = number_after(text, INSTANT) {
        put(&format_args!("{INSTANT}{}", at.saturating_sub(now)));
        return rest;
    }
    if let Some((_, rest)) = number_after(text, WALL) {
        return rest;
    }
    if let Some(rest) = text.strip_prefix(BY_NUMBER) {
        return without_keys(rest, canonical);
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let end = end + usize::from(matches!(text.as_bytes().get(end), Some(b'(' | b':' | b' ')));
    let end = end + usize::from(text[..end].ends_with(':') && text.as_bytes().get(end) == Some(&b' '));
    let (word, rest) = text.split_at(end);
    put(&word);
    rest
}

/// Leaves out the keys of a map of numbers, up to its end.
fn without_keys<'a>(text: &'a str, canonical: &mut String) -> &'a str {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            '0'..='9' if depth == 1 => continue,
            _ => {}
        }
        if depth == 0 {
            return &text[at..];
        }
        canonical.push(c);
    }
    ""
}

fn number_after<'a>(text: &'a str, prefix: &str) -> Option<(u64, &'a str)> {
    let rest = text.strip_prefix(prefix)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((rest[..end].parse().ok()?, &rest[end..]))
}

/// Zero is before everything, and stays so.
fn ranks(text: &str, prefix: &str) -> BTreeMap<u64, usize> {
    let found = text.match_indices(prefix).filter_map(|(at, _)| Some((number_after(&text[at..], prefix)?.0, 0)));
    let mut ranks: BTreeMap<u64, usize> = found.chain([(0, 0)]).collect();
    ranks.values_mut().enumerate().for_each(|(place, rank)| *rank = place);
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_only_count_are_told_by_their_order() {
        let text = |base: u64| {
            let [at, later, first, second] = [base, base + 7, base + 1, base + 5];
            format!(
                "N {{ last: {second}, at: Timestamp({at}), to: Timestamp({later}), asked: {{RequestId({first}): \
                 Own({second})}}, purposes: {{{second}: Take(us, Place(4))}}, due: Instant({}), place: Place(9) }}",
                base + 100
            )
        };
        assert_eq!(canonical(&text(10), 10), canonical(&text(50), 50));
        assert_ne!(canonical(&text(10), 10), canonical(&text(50), 40), "it is due later");
        let other = text(10).replace("Place(9)", "Place(8)");
        assert_ne!(canonical(&text(10), 10), canonical(&other, 10), "places are told to others");
        assert_ne!(canonical("Timestamp(5) Timestamp(6)", 0), canonical("Timestamp(6) Timestamp(5)", 0));
    }
}
