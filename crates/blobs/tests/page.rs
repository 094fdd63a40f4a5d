//! docs/protocols/blobs.md and docs/limits.md say what the code does.

use std::collections::BTreeSet;

use iolite_blobs::{DownloadError, Effect, SessionInput, SweepEffect, SweepInput, UploadError, limits};
use iolite_wire::blobs::{BlobRefusal, BlobReply, BlobRequest};

const PAGE: &str = include_str!("../../../docs/protocols/blobs.md");
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

/// The first column of the table with this heading.
fn table(title: &str) -> BTreeSet<&'static str> {
    let (_, after) = PAGE.split_once(title).expect("the page has this table");
    let rows = after.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|line| line.split('|').nth(1).expect("a cell").trim().trim_matches('`')).collect()
}

#[test]
fn the_page_has_every_message() {
    assert_eq!(table("\n| Message | What it asks |"), names!(BlobRequest: Hello, Lease, Have, Put, Seal, Get));
    let replies = names!(BlobReply: Welcome, Leased, Refused, HaveReply, Stored, Sealed, Unsealed, Chunk, Gone,
        Unavailable, LeaseOver, Goodbye);
    assert_eq!(table("\n| Message | What it says |"), replies);
}

#[test]
fn the_page_has_every_input_and_effect_of_a_session() {
    assert_eq!(table("\n| Input | What it is |"), names!(SessionInput: Request, Put, Done));
    let effects = names!(Effect: Send, Commit, Store, Load, Look, ReadCell, End);
    assert_eq!(table("\n| Effect | What the host does |"), effects);
}

#[test]
fn the_page_has_every_input_and_effect_of_a_sweep() {
    let inputs = names!(SweepInput: Listed, ListEnd, Named, Loaded, Validated, Waited, Deleted, Failed);
    assert_eq!(table("\n| Input of a sweep | What it is |"), inputs);
    let effects = names!(SweepEffect: List, Read, Load, Validate, Wait, Delete, Done);
    assert_eq!(table("\n| Effect of a sweep | What the host does |"), effects);
}

#[test]
fn the_page_has_what_is_refused_and_what_a_client_does_about_it() {
    for name in names!(BlobRefusal: StoreFull, TooManyLeases, Unavailable, UserFull) {
        assert!(PAGE.contains(&format!("`{name}`")), "{name}");
    }
    let ends = names!(UploadError: CellChanged, NotHere, Damaged, NothingToSend);
    let fetched = names!(DownloadError: Gone, Damaged, Node);
    assert!(ends.contains("CellChanged") && fetched.contains("Damaged"));
    for name in ["CellChanged", "Damaged"] {
        assert!(PAGE.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_page_of_limits_has_these_values() {
    let values = [
        ("WINDOW_BYTES_MAX", limits::WINDOW_BYTES_MAX),
        ("GETS_OPEN_MAX", limits::GETS_OPEN_MAX),
        ("HAVE_CHUNKS_MAX", limits::HAVE_CHUNKS_MAX),
        ("LOOKS_OPEN_MAX", limits::LOOKS_OPEN_MAX),
        ("LACKS_MAX", limits::LACKS_MAX),
        ("LEASES_OF_CLIENT_MAX", limits::LEASES_OF_CLIENT_MAX),
        ("SEALS_OF_LEASE_MAX", limits::SEALS_OF_LEASE_MAX),
        ("CELLS_KNOWN_MAX", limits::CELLS_KNOWN_MAX),
    ];
    for (name, value) in values {
        let row = format!("| `blobs::{name}` | {value} |");
        assert_eq!(LIMITS.lines().filter(|line| line.starts_with(&row)).count(), 1, "{row}");
    }
}
