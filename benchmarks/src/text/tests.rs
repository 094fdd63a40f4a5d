//! Small recordings.

use super::edits::edits_of;
use super::trace::{Patch, Trace};
use super::*;

/// Two write one line: both insert beside what the other one has not seen, and then see all.
const TWO: &str = r#"{"kind": "concurrent", "endContent": "Hello, big 🪑 world!", "numAgents": 2, "txns": [
    {"parents": [], "agent": 0, "patches": [[0, 0, "hello world"]]},
    {"parents": [0], "agent": 1, "patches": [[11, 0, "!"]]},
    {"parents": [0], "agent": 0, "patches": [[5, 0, ","], [0, 1, "H"]]},
    {"parents": [1], "agent": 1, "patches": [[6, 0, "big "]]},
    {"parents": [2, 3], "agent": 0, "patches": [[11, 0, "🪑 "]]},
    {"parents": [4], "agent": 1, "patches": [[13, 0, "x"]]},
    {"parents": [5], "agent": 0, "patches": [[13, 1, ""]]}]}"#;

async fn replayed(json: &str) -> replay::Replayed {
    let trace = Trace::of_json(json.as_bytes()).expect("a trace");
    replay::replay(edits_of(&trace).expect("its positions are there"), trace.agents()).await.expect("it runs")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_two_typed_at_once_ends_as_it_was_recorded() {
    let replay::Replayed { text, mutations, bytes_up, bytes_down, .. } = replayed(TWO).await;
    assert_eq!((text.as_str(), mutations), ("Hello, big 🪑 world!", 8));
    assert!(bytes_up > 0 && bytes_down > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_person_needs_no_parents() {
    let one = r#"{"startContent": "", "endContent": "ac", "txns": [{"patches": [[0, 0, "ab"]]}, {"patches": [[1, 1, ""], [1, 0, "c"]]}]}"#;
    assert_eq!(replayed(one).await.text, "ac");
}

#[test]
fn what_is_no_trace_says_so() {
    assert!(Trace::of_json(b"{}").is_err());
    let early = br#"{"endContent": "", "txns": [{"parents": [1], "agent": 0, "patches": []}, {"parents": [], "agent": 0, "patches": []}]}"#;
    assert!(Trace::of_json(early).is_err_and(|error| error.to_string().contains("transaction 0")));
    let outside = br#"{"endContent": "", "txns": [{"patches": [[3, 0, "x"]]}]}"#;
    assert!(edits_of(&Trace::of_json(outside).expect("a trace")).is_err());
    assert_eq!(Trace::of_json(TWO.as_bytes()).expect("a trace").transactions[2].patches[1], Patch(0, 1, "H".into()));
}
