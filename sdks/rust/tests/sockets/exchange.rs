//! Two clients see each other's changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use iolite::{MutationEnd, MutationStatus, View};

use crate::notes::{hits, open, wait_for_hits};

#[tokio::test]
async fn what_one_client_does_another_sees() {
    let server = iolite::embedded().await.expect("a server");
    let (a, b) = (open(&server), open(&server));
    b.mutate("hit", "home").expect("called").confirmed().await.expect("confirmed");
    wait_for_hits(&a, 1).await;
    a.mutate("hit", "home").expect("called").confirmed().await.expect("confirmed");
    wait_for_hits(&b, 2).await;
    server.stop().await.expect("it ran");
}

#[tokio::test]
async fn a_mutation_is_visible_when_its_call_returns() {
    let server = iolite::embedded().await.expect("a server");
    let client = open(&server);
    let mut reaction = client.react(View::Optimistic, hits);
    reaction.wait_for(|total| *total == 0).await.expect("the first run");
    client.mutate("hit", "home").expect("called");
    assert_eq!(reaction.latest(), Some(Arc::new(1)));
}

#[tokio::test]
async fn an_abort_is_a_rejection_with_its_reason_and_keeps_the_payload() {
    let server = iolite::embedded().await.expect("a server");
    let client = open(&server);
    let mut settled = client.settled();
    let handle = client.mutate("fail", "not today").expect("called");
    let end = MutationEnd::Rejected { reason: "not today".into() };
    assert_eq!(handle.confirmed().await, Err(end));
    let told = settled.recv().await.expect("the client is open");
    assert_eq!(
        (told.counter, &told.status),
        (handle.counter(), &MutationStatus::Rejected { reason: "not today".into() })
    );
    let refused = client.refused();
    assert_eq!((refused.len(), &*refused[0].name, &*refused[0].arguments), (1, "fail", "\"not today\""));
    client.dismiss(handle.counter());
    assert!(client.refused().is_empty());
}

#[tokio::test]
async fn a_panic_in_a_mutator_ends_that_mutation_only() {
    let server = iolite::embedded().await.expect("a server");
    let client = open(&server);
    let end = client.mutate("panic", &()).expect("called").confirmed().await;
    assert!(matches!(&end, Err(MutationEnd::Cancelled { reason }) if reason.contains("on purpose")), "{end:?}");
    client.mutate("hit", "home").expect("called").confirmed().await.expect("confirmed");
}

#[tokio::test]
async fn mistakes_in_calls_say_what_is_wrong() {
    let server = iolite::embedded().await.expect("a server");
    let client = open(&server);
    let unknown = client.mutate("nothing", &()).expect("called").confirmed().await;
    assert!(matches!(&unknown, Err(MutationEnd::Cancelled { reason }) if reason.contains("no mutator")), "{unknown:?}");
    let arguments = client.mutate("hit", &7).expect("called").confirmed().await;
    assert!(
        matches!(&arguments, Err(MutationEnd::Cancelled { reason }) if reason.contains("\"hit\"")),
        "{arguments:?}"
    );
    let no_json = client.mutate("hit", &BTreeMap::from([((1, 2), "home")])).map(drop);
    assert!(no_json.as_ref().is_err_and(|error| error.to_string().contains("no form in JSON")), "{no_json:?}");
    assert!(client.pending().is_empty());
    let mut reaction = client.react(View::Confirmed, |tx| tx.counter("hits", "home", "totals"));
    let failed = reaction.next().await.expect_err("no such column");
    assert!(failed.to_string().contains("\"totals\""), "{failed}");
}
