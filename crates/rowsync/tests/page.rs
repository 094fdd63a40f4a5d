//! docs/protocols/rowsync.md and docs/limits.md say what the code does.

use std::collections::BTreeSet;

use iolite_rowsync::{Broken, Change, How, Keep, limits};

const PAGE: &str = include_str!("../../../docs/protocols/rowsync.md");
const LIMITS: &str = include_str!("../../../docs/limits.md");

/// The names of all variants: the match does not compile when one is missing.
macro_rules! names {
    ($kind:ident: $($variant:ident),+) => {{
        #[allow(dead_code, reason = "it only has to compile")]
        fn complete(value: &$kind) {
            match value {
                $($kind::$variant { .. } => {})+
            }
        }
        BTreeSet::from([$(stringify!($variant)),+])
    }};
}

#[test]
fn the_page_has_every_change_end_and_choice() {
    let ends = names!(How: Confirmed, Overruled, Refused);
    let changes = names!(Change: Insert, Update, Delete);
    let choices = names!(Keep: Local, Server, Values);
    for name in ends.into_iter().chain(changes).chain(choices) {
        assert!(PAGE.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_page_has_every_broken_rule() {
    let (_, after) = PAGE.split_once("\n| Broken |").expect("the page has this table");
    let rows = after.lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut listed: BTreeSet<&str> =
        rows.map(|line| line.split('|').nth(1).expect("a cell").trim().trim_matches('`')).collect();
    listed.insert("Nothing");
    assert_eq!(listed, names!(Broken: Nothing, BaseMovesOn, JudgeBeforeOutcome, FoldWhatWasSent, OneRefusedAll));
}

#[test]
fn the_page_of_limits_has_these_values() {
    let values = [
        ("SET_BYTES_MAX", limits::SET_BYTES_MAX),
        ("SET_WRITES_MAX", limits::SET_WRITES_MAX),
        ("GROUP_BYTES_MAX", limits::GROUP_BYTES_MAX),
        ("KEPT_CALLS_MAX", limits::KEPT_CALLS_MAX),
        ("KEPT_ROWS_MAX", limits::KEPT_ROWS_MAX),
        ("KEPT_BYTES_MAX", limits::KEPT_BYTES_MAX),
    ];
    for (name, value) in values {
        let row = format!("| `rowsync::{name}` | {value} |");
        assert_eq!(LIMITS.lines().filter(|line| line.starts_with(&row)).count(), 1, "{row}");
    }
}
