//! Scenarios of Table 3.1 of Simba (Perkins 2015), in which apps lost data, brought back what was deleted, or showed half of a note. Real clients and a
//! server. Those of a machine alone are in `crates/rowsync/tests/scenarios.rs`.

use std::time::Duration;

use iolite::{Client, View};
use tokio::time::timeout;

use crate::notes::PATIENCE;
use crate::syncing::{Note, Star, confirmed, sees, text, two};

/// Waits until a client lists this many conflicts, and returns their keys.
async fn in_conflict(client: &Client, count: usize) -> Vec<String> {
    let mut conflicts = client.conflicts::<Note>();
    let found = async {
        loop {
            let found = conflicts.list().expect("it is causal");
            if found.len() == count {
                return found;
            }
            conflicts.changed().await;
        }
    };
    let found = timeout(PATIENCE, found).await.expect("in time");
    found.into_iter().filter_map(|found| Some(found.local.or(found.server)?.id)).collect()
}

async fn rank(client: &Client) -> Option<i64> {
    let read = client.read(View::Confirmed, |tx| tx.get::<Star>("game")).await.expect("it can be read");
    (*read).clone().map(|star| star.rank)
}

/// Township: a game saves in the background what it showed before another device played on.
#[tokio::test]
async fn background_auto_save() {
    let server = iolite::embedded().await.expect("a server");
    let [one, other] = two(&server).await;
    confirmed(&one, "write", &("game", "level 3")).await;
    sees(&other, "game", Some("level 3")).await;
    one.go_offline();
    confirmed(&other, "write", &("game", "level 7")).await;
    one.mutate("write", &("game", "level 3, saved")).expect("called").durable().await.expect("kept");
    one.go_online();
    assert_eq!(in_conflict(&one, 1).await, ["game"]);
    assert_eq!(text(&other, View::Confirmed, "game").await.as_deref(), Some("level 7"));
}

/// The same in an eventual table: the progress of the other device is lost, and nobody is told.
#[tokio::test]
async fn background_auto_save_of_an_eventual_row_loses_the_other_level() {
    let server = iolite::embedded().await.expect("a server");
    let [one, other] = two(&server).await;
    confirmed(&one, "star", &("game", true)).await;
    confirmed(&one, "rank", &("game", 3)).await;
    one.go_offline();
    confirmed(&other, "rank", &("game", 7)).await;
    let saved = one.mutate("rank", &("game", 3)).expect("called");
    one.go_online();
    timeout(PATIENCE, saved.confirmed()).await.expect("in time").expect("confirmed");
    assert_eq!(rank(&one).await, Some(3));
}

/// Keepass2Android, UPM: one device changes accounts A and B without a network, another one B and C. A person is asked for B alone.
#[tokio::test]
async fn password_merge_of_three_accounts() {
    let server = iolite::embedded().await.expect("a server");
    let [one, other] = two(&server).await;
    for account in ["A", "B", "C"] {
        confirmed(&one, "write", &(account, "old")).await;
        sees(&other, account, Some("old")).await;
    }
    one.go_offline();
    let [first, second] = ["A", "B"].map(|account| one.mutate("write", &(account, "mine")).expect("called"));
    second.durable().await.expect("kept");
    for account in ["B", "C"] {
        confirmed(&other, "write", &(account, "theirs")).await;
    }
    one.go_online();
    timeout(PATIENCE, first.confirmed()).await.expect("in time").expect("confirmed");
    assert_eq!(in_conflict(&one, 1).await, ["B"]);
    sees(&other, "A", Some("mine")).await;
    sees(&one, "C", Some("theirs")).await;
    let conflicts = one.conflicts::<Note>();
    let found = conflicts.list().expect("it is causal");
    conflicts.resolve([found[0].keep_local()]).expect("nothing moved");
    timeout(PATIENCE, second.confirmed()).await.expect("in time").expect("confirmed");
    sees(&other, "B", Some("mine")).await;
}

/// Evernote: the link is cut while a note with a recording is on its way. Nobody ever sees the note without its recording.
#[tokio::test]
async fn a_rich_note_that_is_cut_in_the_middle() {
    let server = iolite::embedded().await.expect("a server");
    let [one, other] = two(&server).await;
    let content: Vec<u8> = (0..3_000_000_usize).map(|place| (place / 65_536 * 7 + place / 256 + place) as u8).collect();
    let mut pinned = one.pin(|tx| tx.all::<Note>().map(drop));
    pinned.next().await.expect("it is here");
    one.go_offline();
    let recording = one.blobs().put_bytes(&content).await.expect("on this device");
    one.mutate("write", &("rich", "with a recording")).expect("called");
    one.mutate("record", &("rich", recording)).expect("called").durable().await.expect("kept");
    let mut cuts = 0;
    let recording = loop {
        let read = other.read(View::Confirmed, |tx| tx.get::<Note>("rich")).await.expect("read");
        if let Some(note) = (*read).clone() {
            break note.recording.expect("a note has its recording");
        }
        one.go_online();
        tokio::time::sleep(Duration::from_millis(20 + cuts * 5)).await;
        one.go_offline();
        cuts += 1;
    };
    assert!(cuts > 1, "the link was never cut in the middle");
    let read = other.blobs().read("notes", "rich", "recording", &recording).await.expect("fetched");
    assert!(read == content, "it arrived whole");
}

/// Fetchnotes, Hiyu: one device deletes a note without a network, another one edits it. The person decides, and it is gone or there, but never half.
#[tokio::test]
async fn a_note_deleted_offline_and_updated_meanwhile_is_no_resurrection() {
    let server = iolite::embedded().await.expect("a server");
    let [one, other] = two(&server).await;
    confirmed(&one, "write", &("a", "first")).await;
    sees(&other, "a", Some("first")).await;
    one.go_offline();
    one.mutate("remove", &"a").expect("called").durable().await.expect("kept");
    confirmed(&other, "write", &("a", "second")).await;
    one.go_online();
    assert_eq!(in_conflict(&one, 1).await, ["a"]);
    assert_eq!(text(&one, View::Optimistic, "a").await, None);
    assert_eq!(text(&one, View::Confirmed, "a").await.as_deref(), Some("second"));
    let conflicts = one.conflicts::<Note>();
    let found = conflicts.list().expect("it is causal");
    conflicts.resolve([found[0].keep_server()]).expect("nothing moved");
    sees(&one, "a", Some("second")).await;
}
