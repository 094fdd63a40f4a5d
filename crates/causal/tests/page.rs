//! docs/limits.md says what the code does.

use iolite_causal::limits;

const LIMITS: &str = include_str!("../../../docs/limits.md");

#[test]
fn the_page_of_limits_has_these_values() {
    let values = [
        ("HELD_BYTES_MAX", limits::HELD_BYTES_MAX.to_string()),
        ("HELD_FOR_MAX", format!("{}s", limits::HELD_FOR_MAX.as_secs())),
        ("UNAPPLIED_BYTES_MAX", limits::UNAPPLIED_BYTES_MAX.to_string()),
        ("RECENT_BYTES_MAX", limits::RECENT_BYTES_MAX.to_string()),
        ("OUTBOX_BYTES_MAX", limits::OUTBOX_BYTES_MAX.to_string()),
        ("TIMES_MAX", limits::TIMES_MAX.to_string()),
        ("ACKNOWLEDGED_MAX", limits::ACKNOWLEDGED_MAX.to_string()),
        ("TAKEN_AT_ONCE_MAX", limits::TAKEN_AT_ONCE_MAX.to_string()),
    ];
    for (name, value) in values {
        let row = format!("| `causal::{name}` | {value} |");
        assert_eq!(LIMITS.lines().filter(|line| line.starts_with(&row)).count(), 1, "{row}");
    }
}
