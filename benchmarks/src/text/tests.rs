//! Small recordings.

use std::sync::Arc;

use iolite_values::{Author, Edit, Insertion, Unit};

use super::edits::{Made, edits_of};
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
    let documents = edits_of(&trace).expect("its positions are there");
    assert_eq!(documents.text, trace.end, "documents alone end so too");
    let (replayed, alive) = replay::replay(documents.made, trace.agents()).await.expect("it runs");
    alive.end().await.expect("it ends");
    replayed
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

#[tokio::test(flavor = "multi_thread")]
async fn what_a_replay_holds_is_there_when_memory_is_looked_at() {
    // Other tests hold memory too for a moment, but not so much.
    const HELD: u64 = 128 << 20;
    let trace = Trace::of_json(TWO.as_bytes()).expect("a trace");
    let before = resident_bytes().expect("the system says");
    let mut made = edits_of(&trace).expect("its positions are there").made;
    // Of an author who has no client.
    let first = Unit { author: Author(9), number: 0 };
    let inserted = Some(Insertion { first, left: None, right: None, text: "x".repeat(HELD as usize).into() });
    made.push(Made { agent: 8, edits: vec![Arc::new(Edit { inserted, removed: Vec::new() })], seen: Vec::new() });
    let (_, alive) = replay::replay(made, trace.agents()).await.expect("it runs");
    let more = resident_bytes().expect("the system says").saturating_sub(before);
    assert!(more >= HELD / 2, "{more} of {HELD} bytes");
    alive.end().await.expect("it ends");
}
