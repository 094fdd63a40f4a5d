//! Work without a connection, kept in a directory across restarts of the client.

use std::path::PathBuf;

use iolite::{Client, Embedded, MutationEnd, MutationHandle, MutationStatus, ReactionError, Transaction, View, abort};

use crate::notes::{hits, open, options, schema, wait_for_hits};

/// Removed when it is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("iolite-test-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open_stored(server: &Embedded, folder: &Folder) -> Client {
    server.client(schema(), options().directory(&folder.0)).expect("a new or closed folder")
}

#[tokio::test]
async fn mutations_made_offline_take_effect_once_after_a_restart_of_the_client() {
    let folder = Folder::new("offline");
    let server = iolite::embedded().await.expect("a server");
    let client = open_stored(&server, &folder);
    wait_for_hits(&client, 0).await;
    client.go_offline();
    for _ in 0..20 {
        client.mutate("hit", "home").expect("called").durable().await.expect("durable");
    }
    client.close().await;

    let client = open_stored(&server, &folder);
    client.go_offline();
    assert_eq!(client.pending().len(), 20);
    let shown = client.react(View::Optimistic, hits).next().await.expect("the row is on this device");
    assert_eq!(*shown, 20);
    let last = client.pending().pop().expect("there are twenty").counter;
    let handle = client.mutation(last).expect("it is pending");
    assert!(matches!(handle.status(), MutationStatus::Pending(pending) if pending.durable));
    client.go_online();
    handle.confirmed().await.expect("confirmed");
    client.close().await;

    let client = open_stored(&server, &folder);
    client.online().await.expect("let in");
    // It may have been closed before it stored that they ended. Then they are sent again, which has no effect.
    for pending in client.pending() {
        if let Some(handle) = client.mutation(pending.counter) {
            handle.confirmed().await.expect("confirmed before");
        }
    }
    assert!(client.pending().is_empty());
    wait_for_hits(&open(&server), 20).await;
    wait_for_hits(&client, 20).await;
}

/// The title and the likes of the one note.
fn note(tx: &mut Transaction<'_>) -> iolite::Result<(String, i64)> {
    let row = tx.row("notes", "n")?.ok_or_else(|| abort("there is none"))?;
    Ok((row.get("title")?, row.counter("likes")?))
}

fn add(client: &Client, title: &str) -> MutationHandle {
    client.mutate("add", &("n", title)).expect("called")
}

#[tokio::test]
async fn a_row_is_inserted_and_changed_by_a_device_that_never_had_a_connection() {
    let folder = Folder::new("inserted");
    let server = iolite::embedded().await.expect("a server");
    let client = open_stored(&server, &folder);
    client.go_offline();
    add(&client, "mine").durable().await.expect("durable");
    let liked = client.mutate("like", "n").expect("called");
    liked.durable().await.expect("durable");
    client.close().await;

    let client = open_stored(&server, &folder);
    client.go_offline();
    let shown = client.read(View::Optimistic, note).await.expect("it was made here");
    assert_eq!(*shown, ("mine".to_owned(), 1));
    let liked = client.mutation(liked.counter()).expect("it is pending");
    client.go_online();
    liked.confirmed().await.expect("confirmed");
    let others = open(&server).read(View::Confirmed, note).await.expect("it is there");
    assert_eq!(*others, ("mine".to_owned(), 1));
}

#[tokio::test]
async fn of_two_that_insert_under_one_key_offline_the_second_is_told_and_sees_the_first_ones() {
    let server = iolite::embedded().await.expect("a server");
    let (first, second) = (open(&server), open(&server));
    first.go_offline();
    second.go_offline();
    let (kept, refused) = (add(&first, "the first"), add(&second, "the second"));
    let liked = second.mutate("like", "n").expect("called");
    let mut shown = second.react(View::Optimistic, note);
    assert_eq!(shown.latest().as_deref(), Some(&("the second".to_owned(), 1)), "as far as it knows");
    first.go_online();
    kept.confirmed().await.expect("confirmed");
    second.go_online();
    let end = refused.confirmed().await.expect_err("there is one");
    assert!(matches!(&end, MutationEnd::Rejected { reason } if reason.contains("already has a row")), "{end:?}");
    assert_eq!(second.refused()[0].counter, refused.counter(), "it is kept with its arguments");
    liked.confirmed().await.expect("what follows goes on, on the note that there is");
    shown.wait_for(|seen| *seen == ("the first".to_owned(), 1)).await.expect("it is told");
}

#[tokio::test]
async fn a_folder_belongs_to_one_client_and_to_one_user() {
    let folder = Folder::new("owner");
    let server = iolite::embedded().await.expect("a server");
    let client = server.client(schema(), options().directory(&folder.0).user("ada")).expect("a new folder");
    client.mutate("hit", "home").expect("called").confirmed().await.expect("confirmed");
    let second = server.client(schema(), options().directory(&folder.0).user("ada"));
    assert!(second.expect_err("it is in use").to_string().contains("in use"));
    client.close().await;
    let other = server.client(schema(), options().directory(&folder.0).user("bob"));
    assert!(other.expect_err("it is ada's").to_string().contains("ada"));
}

#[tokio::test]
async fn the_last_value_stays_while_no_newer_one_can_be_had() {
    let server = iolite::embedded().await.expect("a server");
    let client = open(&server);
    wait_for_hits(&client, 0).await;
    let mut shown = client.react(View::Optimistic, |tx| {
        let hits = hits(tx)?;
        Ok(if hits > 0 { tx.rows("notes", &[])?.len() as i64 } else { -1 })
    });
    assert_eq!(*shown.next().await.expect("it is here"), -1);
    client.go_offline();
    client.mutate("hit", "home").expect("called").durable().await.expect("durable");
    assert_eq!(shown.next().await, Err(ReactionError::Unavailable));
    assert_eq!(shown.latest().as_deref(), Some(&-1));
    client.go_online();
    assert_eq!(*shown.wait_for(|seen| *seen >= 0).await.expect("it comes"), 0);
}
