//! `iolite bench blob`, `sync-overhead` and `schemes`: a tiny run of each finds nothing wrong, and has the cells and ratios that the results page needs.
//! Nothing is timed here.

use serde_json::Value;

use crate::views::{bench, cells, report};

fn ratio(report: &Value, name: &str) -> f64 {
    report["ratios"][name].as_f64().unwrap_or_else(|| panic!("{name}: {report}"))
}

#[test]
fn a_blob_goes_whole_changed_and_over_a_link_that_is_cut() {
    let report = report(&["blob", "--bytes", "6MiB", "--cuts", "2", "--durability", "memory"]);
    let of: Vec<_> = cells(&report).iter().map(|cell| cell["of"].as_str().expect("a name")).collect();
    assert_eq!(of, ["first, small", "whole", "one byte changed", "cut"], "{report}");
    // One chunk and one node.
    let changed = 200.0 * 1024.0 * ratio(&report, "one byte changed: writer's frames of 200 KiB");
    assert!(changed > 65_536.0 && changed < 80_000.0, "{report}");
    for name in ["whole: sent of its length", "cut: received of its length", "cut: growth of the server of 64 MiB"] {
        assert!(ratio(&report, name) >= 0.0, "{name}: {report}");
    }
}

#[test]
fn the_bytes_of_a_change_set_are_counted_beside_its_content() {
    let report =
        report(&["sync-overhead", "--rows", "1,3", "--blob", "none,5000", "--times", "1", "--durability", "memory"]);
    assert_eq!(cells(&report).len(), 8, "{report}");
    for cell in cells(&report) {
        let number = |name: &str| cell[name].as_u64().expect("a number");
        let up = cell["up"]["message_bytes"].as_u64().expect("a number");
        assert!(number("set") > 0 && up >= number("set") && up > number("payload"), "{cell}");
        assert!(cell["up"]["network_bytes"].as_u64() > cell["up"]["frame_bytes"].as_u64(), "{cell}");
    }
    assert!(ratio(&report, "1 rows, 16-byte keys, object none: bytes of the set over its content, a row") > 0.0);
}

#[test]
fn each_scheme_brings_the_last_row_to_the_reader() {
    let report = report(&["schemes", "--delay-ms", "2,4", "--away-ms", "50", "--times", "1", "--durability", "memory"]);
    let all: Vec<_> = cells(&report).iter().map(|cell| (cell["delay_ms"].as_u64(), cell["scheme"].as_str())).collect();
    let wanted = [2, 4].map(|delay| ["strong", "causal", "eventual"].map(|scheme| (Some(delay), Some(scheme))));
    assert_eq!(all, wanted.concat(), "{report}");
    for cell in cells(&report) {
        // The object, once up and once down.
        assert!(
            cell["writer_bytes"].as_u64() > Some(100 << 10) && cell["reader_bytes"].as_u64() > Some(100 << 10),
            "{cell}"
        );
    }
}

#[test]
fn options_of_rows_that_do_not_fit_are_refused_with_what_would() {
    for (arguments, words) in [
        (&["blob"][..], "--bytes 64MiB"),
        (&["blob", "--bytes", "4096"], "longer one"),
        (&["blob", "--bytes", "1GB"], "1GiB"),
        (&["views", "--bytes", "1GiB"], "takes no number"),
        (&["views", "--cuts", "2"], "--cuts"),
        (&["blob", "--bytes", "1MiB", "--away-ms", "5"], "--away-ms"),
        (&["schemes", "--rows", "1"], "--rows"),
        (&["sync-overhead", "--rows", "1001"], "1000"),
        (&["blob", "--bytes", "1MiB", "--times", "2"], "--times"),
        (&["query", "--rows", "9"], "--rows"),
        (&["queue", "--calls", "5", "--delay-ms", "1,2"], "several"),
    ] {
        let (good, _, said) = bench(arguments);
        assert!(!good && said.contains(words), "{arguments:?}: {said}");
    }
}
