//! The pages of links and of limits say what the code does.

use super::super::refused::REASONS;
use super::super::*;

const PAGE: &str = include_str!("../../../../../docs/protocols/links.md");
const LIMITS: &str = include_str!("../../../../../docs/limits.md");

#[test]
fn the_page_has_every_reason_of_a_refusal_in_the_order_of_the_code() {
    let (_, section) = PAGE.split_once("## Refusals").expect("the section is there");
    let (section, _) = section.split_once("\n## ").expect("another follows");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.collect::<Vec<_>>(), REASONS);
}

#[test]
fn the_page_of_limits_has_the_values_of_links() {
    let LinkLimits {
        outbox_bytes_max,
        links_max,
        handshakes_max,
        hello_within,
        keep_alive_after,
        silence_max,
        retry_first,
        retry_last,
    } = LinkLimits::default();
    let rows = [
        ("OUTBOX_BYTES_MAX", outbox_bytes_max.to_string()),
        ("LINKS_MAX", links_max.to_string()),
        ("HANDSHAKES_MAX", handshakes_max.to_string()),
        ("HELLO_WITHIN_MAX", format!("{hello_within:?}")),
        ("SILENCE_MAX", format!("{silence_max:?}")),
        ("KEEP_ALIVE_AFTER", format!("{keep_alive_after:?}")),
        ("RETRY_FIRST", format!("{retry_first:?}")),
        ("RETRY_LAST", format!("{retry_last:?}")),
        ("CLOSE_LINK_WITHIN", format!("{:?}", link::CLOSE_LINK_WITHIN)),
        ("NodeName::BYTES_MAX", NodeName::BYTES_MAX.to_string()),
        ("SAID_BYTES_MAX", hello::SAID_BYTES_MAX.to_string()),
        ("HELLO_BYTES_MAX", hello::HELLO_BYTES_MAX.to_string()),
        ("REFUSAL_BYTES_MAX", hello::REFUSAL_BYTES_MAX.to_string()),
        ("GOODBYE_BYTES_MAX", frames::GOODBYE_BYTES_MAX.to_string()),
        ("HELD_BYTES_MAX", delivery::HELD_BYTES_MAX.to_string()),
        ("METERED_PEERS_MAX", traffic::METERED_PEERS_MAX.to_string()),
        ("LINES_MAX", traffic::LINES_MAX.to_string()),
    ];
    for (name, value) in rows {
        assert!(LIMITS.contains(&format!("\n| `host::{name}` | {value} |")), "the page lacks {name} with {value}");
    }
}
