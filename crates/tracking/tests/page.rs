//! docs/limits.md says what the code does.

use iolite_tracking::limits::{MEMORY_BYTES_MAX, OPEN_ASKS_MAX};

#[test]
fn the_page_of_limits_has_these_values() {
    let page = include_str!("../../../docs/limits.md");
    for (name, value) in [("OPEN_ASKS_MAX", OPEN_ASKS_MAX), ("MEMORY_BYTES_MAX", MEMORY_BYTES_MAX)] {
        let row = format!("| `tracking::{name}` | {value} |");
        assert_eq!(page.lines().filter(|line| line.starts_with(&row)).count(), 1, "{row}");
    }
}
