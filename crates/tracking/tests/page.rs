//! docs/limits.md says what the code does.

use iolite_tracking::limits::OPEN_ASKS_MAX;

#[test]
fn the_page_of_limits_has_these_values() {
    let row = format!("| `tracking::OPEN_ASKS_MAX` | {OPEN_ASKS_MAX} |");
    let page = include_str!("../../../docs/limits.md");
    assert_eq!(page.lines().filter(|line| line.starts_with(&row)).count(), 1, "{row}");
}
