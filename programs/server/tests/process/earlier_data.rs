//! Data of an earlier version goes on: a server's directory, and the storage of a device with a mutation that was called offline.
//!
//! `earlier/` was written by the commit 55fc50a3 (session protocol 4, journal 3, client storage 3). Two notes were confirmed, the server was killed, and a third
//! was written offline.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use iolite::{Client, Mutators, Options, Schema, Transaction, View};

use crate::support::dev::{Dev, Folder, PATIENCE};

fn schema() -> Schema {
    let json = r#"{"tables": {"notes": {"key": ["id"], "columns": {
        "id": {"type": "id"}, "title": {"type": "string"}, "votes": {"type": "counter"}, "body": {"type": "text"}}}}}"#;
    Schema::from_json(json).expect("a valid schema")
}

fn write(tx: &mut Transaction, title: &str) -> iolite::Result<()> {
    let id = tx.new_id();
    tx.insert("notes", id, [("title", title.into())])?;
    tx.add("notes", id, "votes", 1)?;
    tx.splice("notes", id, "body", 0, 0, title)
}

fn open(server: &Dev, device: &Path) -> Client {
    let mutators = Mutators::new().with("write", |tx, title: String| write(tx, &title));
    let options = Options::new().mutators(mutators).directory(device);
    Client::connect(&server.sync_url(), server.token(), schema(), options).expect("an earlier device opens")
}

/// Title, votes and body of each note.
async fn notes(client: &Client) -> BTreeSet<(String, i64, String)> {
    let read = client.read(View::Confirmed, |tx| {
        let rows = tx.rows("notes", &[])?;
        rows.iter().map(|row| Ok((row.get("title")?, row.counter("votes")?, row.text("body")?))).collect()
    });
    let notes: Arc<BTreeSet<_>> =
        tokio::time::timeout(PATIENCE, read).await.expect("the server answers").expect("it can be read");
    (*notes).clone()
}

#[tokio::test]
async fn a_server_and_a_device_of_an_earlier_version_go_on() {
    let folder = Folder::new("earlier");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/process/earlier"), &folder.0);
    let server = Dev::start(&folder.0.join("data"));
    let client = open(&server, &folder.0.join("device"));
    while let Some(last) = client.pending().last() {
        let handle = client.mutation(last.counter).expect("it is pending");
        tokio::time::timeout(PATIENCE, handle.confirmed()).await.expect("it is sent").expect("it is confirmed");
    }
    let note = |title: &str| (title.to_owned(), 1, title.to_owned());
    assert_eq!(notes(&client).await, ["first", "second", "offline"].map(note).into());
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a temporary folder");
    for entry in std::fs::read_dir(from).expect("it is in the repository") {
        let entry = entry.expect("it can be read");
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).expect("it is written")),
        }
    }
}
