//! What a client holds has a bound: what goes past it, what stays, and who is told.

use iolite::{Client, Embedded, MutationEnd, ReactionError, TransactError, Transaction, View};

use crate::notes::{open, options, schema, wait_for_hits};

const NOTES: i64 = 5;
const BODY_BYTES: usize = 10_000;

async fn server_with_notes() -> Embedded {
    let server = iolite::embedded().await.expect("a server");
    let writer = open(&server);
    for id in 1..=NOTES {
        writer.mutate("add", &(id.to_string(), "a note")).expect("called");
        let written = writer.mutate("write", &(id.to_string(), "x".repeat(BODY_BYTES)));
        written.expect("called").confirmed().await.expect("confirmed");
    }
    server
}

/// A client with room for so many notes, and half a one.
async fn with_room_for(server: &Embedded, notes: usize) -> Client {
    let bytes = notes * BODY_BYTES + BODY_BYTES / 2;
    let client = server.client(schema(), options().cache_bytes_max(bytes)).expect("in memory");
    client.online().await.expect("let in");
    client
}

fn look(tx: &mut Transaction<'_>, id: i64) -> iolite::Result<()> {
    assert!(tx.row("notes", id.to_string())?.is_some(), "note {id} is there");
    Ok(())
}

/// Looks at notes one after the other, and leaves each.
async fn visit(client: &Client, ids: impl IntoIterator<Item = i64>) {
    for id in ids {
        client.read(View::Confirmed, move |tx| look(tx, id)).await.expect("it has room");
    }
}

/// Which notes are on this device.
async fn held(client: &Client) -> Vec<i64> {
    client.go_offline();
    let mut held = Vec::new();
    for id in 1..=NOTES {
        match client.read(View::Confirmed, move |tx| look(tx, id)).await {
            Ok(_) => held.push(id),
            Err(ReactionError::Unavailable) => {}
            Err(other) => panic!("{other}"),
        }
    }
    client.go_online();
    client.online().await.expect("let in");
    held
}

#[tokio::test]
async fn what_was_used_least_recently_goes_when_the_cache_is_full() {
    let server = server_with_notes().await;
    let client = with_room_for(&server, 3).await;
    visit(&client, [1, 2, 3, 1, 4]).await;
    assert_eq!(held(&client).await, [1, 3, 4]);
}

#[tokio::test]
async fn what_is_pinned_stays_in_a_full_cache_until_the_pin_is_gone() {
    let server = server_with_notes().await;
    let client = with_room_for(&server, 3).await;
    let mut pin = client.pin(|tx| look(tx, 1));
    pin.next().await.expect("it has room");
    visit(&client, 2..=5).await;
    assert_eq!(held(&client).await, [1, 4, 5]);
    drop(pin);
    visit(&client, 2..=4).await;
    assert_eq!(held(&client).await, [2, 3, 4]);
}

#[tokio::test]
async fn what_is_needed_at_once_and_has_no_room_fails_and_says_why() {
    let server = server_with_notes().await;
    let client = with_room_for(&server, 2).await;
    let mut first = client.react(View::Confirmed, |tx| tx.counter("notes", "1", "likes"));
    let mut pin = client.pin(|tx| look(tx, 1).and_then(|()| look(tx, 2)));
    pin.next().await.expect("it has room");
    let refused = client.read(View::Confirmed, |tx| look(tx, 3)).await;
    assert!(matches!(&refused, Err(ReactionError::Failed(why)) if why.contains("read less at a time")), "{refused:?}");
    // What has its place goes on, and there is room again when some of it is not needed any more.
    open(&server).mutate("like", "1").expect("called").confirmed().await.expect("confirmed");
    first.wait_for(|likes| *likes == 1).await.expect("it is told");
    drop(pin);
    visit(&client, [3]).await;
}

#[tokio::test]
async fn a_transaction_that_reads_more_than_the_cache_has_room_for_is_given_up_with_the_reason() {
    let server = server_with_notes().await;
    let client = with_room_for(&server, 2).await;
    let ended = client.transact(|tx| {
        (1..=3).try_for_each(|id| look(tx, id))?;
        tx.add("hits", "home", "total", 1)
    });
    let end = ended.await.expect_err("it has no room");
    let TransactError::End(MutationEnd::Quarantined { reason } | MutationEnd::Cancelled { reason }) = &end else {
        panic!("{end:?}")
    };
    assert!(reason.contains("read less at a time"), "{reason}");
    client.mutate("hit", "home").expect("called").confirmed().await.expect("what follows goes on");
    wait_for_hits(&client, 1).await;
}
