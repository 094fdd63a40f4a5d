//! A client that asks for batches is told of others' changes only so often, and of its own mutations at once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use iolite::View;

use crate::notes::{PATIENCE, hits, open, options, schema, wait_for_hits};

/// How often it is told can only be fewer times than periods have passed, however slow the machine is.
#[tokio::test]
async fn who_asks_for_batches_is_told_while_changes_go_on_and_no_more_often_than_it_asked() {
    let period = Duration::from_millis(200);
    let server = iolite::embedded().await.expect("a server");
    let (writer, reader) = (open(&server), server.client(schema(), options().batch(period)).expect("in memory"));
    let totals = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = totals.clone();
    let mut shown = reader.react(View::Confirmed, move |tx| {
        let total = hits(tx)?;
        seen.lock().expect("nothing panicked").insert(total);
        Ok(total)
    });
    shown.wait_for(|total| *total == 0).await.expect("it is told");
    let times_told = || totals.lock().expect("nothing panicked").len() - 1;
    let begun = Instant::now();
    let writing = async {
        let mut written = 0;
        while times_told() < 4 {
            writer.mutate("hit", "home").expect("called").confirmed().await.expect("confirmed");
            written += 1;
        }
        shown.wait_for(|total| *total == written).await.expect("it is told of the last one too");
    };
    tokio::time::timeout(PATIENCE, writing).await.expect("it is told while others go on");
    let periods = begun.elapsed().as_millis() / period.as_millis();
    assert!(times_told() as u128 <= 1 + periods, "{} times in {periods} periods", times_told());
}

/// If each waited for its batch, they would take more than a minute.
#[tokio::test]
async fn own_mutations_do_not_wait_for_a_batch_and_bring_along_what_does() {
    let server = iolite::embedded().await.expect("a server");
    let longest = options().batch(Duration::from_secs(10));
    let (other, client) = (open(&server), server.client(schema(), longest).expect("in memory"));
    wait_for_hits(&client, 0).await;
    let rounds = async {
        for round in 1..=10 {
            other.mutate("hit", "home").expect("called").confirmed().await.expect("confirmed");
            client.mutate("hit", "home").expect("called").confirmed().await.expect("confirmed");
            assert_eq!(*client.read(View::Confirmed, hits).await.expect("it is held"), 2 * round);
        }
    };
    tokio::time::timeout(PATIENCE, rounds).await.expect("none waits");
}
