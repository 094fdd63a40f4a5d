//! `iolite dev` as a process: killed, restarted, stopped, and refused what it cannot have.

use std::collections::BTreeSet;

use crate::support::dev::{Dev, Folder, PATIENCE, fails};
use iolite::{Client, Connection, Mutators, Options, Schema, Value, View};

fn schema() -> Schema {
    let json = r#"{"tables": {"marks": {"key": ["name"], "columns": {"name": {"type": "string"}}}}}"#;
    Schema::from_json(json).expect("a valid schema")
}

fn open(server: &Dev) -> Client {
    let mutators = Mutators::new().with("mark", |tx, name: String| tx.insert("marks", &name, []));
    Client::connect(&server.sync_url(), server.token(), schema(), Options::new().mutators(mutators)).expect("in memory")
}

/// Keeps all marks on the device, so that a mutation that looks for one runs without a connection too.
async fn hold_marks(client: &Client) -> iolite::Reaction<usize> {
    let mut held = client.react(View::Confirmed, |tx| Ok(tx.rows("marks", &[])?.len()));
    held.next().await.expect("the server answers");
    held
}

async fn marks(client: &Client) -> BTreeSet<Value> {
    let read = client.read(View::Confirmed, |tx| {
        let rows = tx.rows("marks", &[])?;
        Ok(rows.iter().flat_map(|row| row.key().to_vec()).collect::<BTreeSet<Value>>())
    });
    (*tokio::time::timeout(PATIENCE, read).await.expect("the server answers").expect("it can be read")).clone()
}

/// Marks one after the other, and returns what was acknowledged.
async fn mark_many(client: Client, number: usize) -> BTreeSet<Value> {
    let _held = hold_marks(&client).await;
    let mut acknowledged = BTreeSet::new();
    for mark in 0..400 {
        let name = format!("{number}.{mark}");
        client.mutate("mark", &name).expect("called").confirmed().await.expect("it is marked once, by whoever asks");
        acknowledged.insert(Value::from(name));
    }
    acknowledged
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_server_is_killed_under_load() {
    let folder = Folder::new("killed");
    let mut server = Dev::start(&folder.0);
    let clients = [open(&server), open(&server), open(&server)];
    let marking = clients.iter().cloned().enumerate().map(|(number, client)| tokio::spawn(mark_many(client, number)));
    let marking: Vec<_> = marking.collect();
    for client in &clients {
        let mut watched = client.settled();
        for _ in 0..50 {
            tokio::time::timeout(PATIENCE, watched.recv())
                .await
                .expect("the load goes on")
                .expect("the client is open");
        }
        server.kill();
        server.restart();
    }
    let mut acknowledged = BTreeSet::new();
    for task in marking {
        let task = tokio::time::timeout(PATIENCE, task).await.expect("clients go on by themselves");
        acknowledged.extend(task.expect("it did not panic"));
    }
    server.kill();
    server.restart();
    let found = marks(&open(&server)).await;
    assert_eq!(found, acknowledged);
    assert_eq!(found.len(), 1200);
}

/// A write that fails ends the server, which says why. What it had acknowledged is there afterwards, and what was on its
/// way is done then.
#[tokio::test]
async fn a_server_whose_disk_is_full_stops_and_nothing_acknowledged_is_lost() {
    let folder = Folder::new("full");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let errors = folder.0.join("errors.txt");
    let mut server = Dev::start_with_file_blocks_max(&folder.0.join("data"), 64, &errors);
    let client = open(&server);
    let marking = tokio::spawn(mark_many(client.clone(), 0));
    let mut connection = client.connection();
    let online = connection.wait_for(|state| *state == Connection::Online);
    drop(tokio::time::timeout(PATIENCE, online).await.expect("it connects").expect("the client is open"));
    let offline = connection.wait_for(|state| *state == Connection::Offline);
    drop(tokio::time::timeout(PATIENCE, offline).await.expect("the server ends").expect("the client is open"));
    assert!(!server.wait_for_end().success());
    let said = std::fs::read_to_string(&errors).expect("it said why");
    assert!(said.contains("cannot write") && said.contains("restart the process"), "{said}");
    assert!(!marking.is_finished(), "the limit was met before the load ended");
    server.restart();
    let acknowledged = tokio::time::timeout(PATIENCE, marking).await.expect("it goes on").expect("it did not panic");
    assert_eq!(acknowledged.len(), 400);
    assert_eq!(marks(&open(&server)).await, acknowledged);
}

#[tokio::test]
async fn a_client_comes_back_by_itself_after_a_restart_of_the_server() {
    let folder = Folder::new("back");
    let mut server = Dev::start(&folder.0);
    let client = open(&server);
    let _held = hold_marks(&client).await;
    server.kill();
    let mut connection = client.connection();
    let offline = connection.wait_for(|state| *state == Connection::Offline);
    drop(tokio::time::timeout(PATIENCE, offline).await.expect("it notices").expect("the client is open"));
    let handle = client.mutate("mark", "while away").expect("called");
    server.restart();
    tokio::time::timeout(PATIENCE, handle.confirmed()).await.expect("it comes back").expect("confirmed");
}

#[tokio::test]
async fn a_signal_stops_the_server_in_order_and_its_data_stays() {
    let folder = Folder::new("signal");
    let mut server = Dev::start(&folder.0);
    let token = server.token();
    open(&server).mutate("mark", "kept").expect("called").confirmed().await.expect("confirmed");
    assert!(server.terminate().success());
    server.restart();
    assert_eq!(server.token(), token, "the token belongs to the data directory");
    assert_eq!(marks(&open(&server)).await, [Value::from("kept")].into());
}

#[test]
fn a_port_or_directory_that_is_taken_is_refused_with_what_to_do() {
    let (folder, other) = (Folder::new("taken"), Folder::new("taken-other"));
    let server = Dev::start(&folder.0);
    let same_directory = fails(&["--port", "0"], &folder.0);
    assert!(
        same_directory.contains("in use by another process") && same_directory.contains("--data"),
        "{same_directory}"
    );
    let same_port = fails(&["--port", &server.port().to_string()], &other.0);
    assert!(same_port.contains("is in use") && same_port.contains("--port"), "{same_port}");
}

#[test]
fn a_directory_of_another_version_is_refused_and_left_as_it_is() {
    let folder = Folder::new("version");
    Dev::start(&folder.0).terminate();
    let segment = folder.0.join("0000000000000001.segment");
    let mut bytes = std::fs::read(&segment).expect("a segment was written");
    // The version stands behind the eight bytes that say what the file is.
    bytes[8..12].copy_from_slice(&[0xfe; 4]);
    std::fs::write(&segment, &bytes).expect("it can be written");
    let refused = fails(&["--port", "0"], &folder.0);
    assert!(refused.contains("on-disk format") && refused.contains("nothing was changed"), "{refused}");
    assert_eq!(std::fs::read(&segment).expect("it is there"), bytes);
}

#[test]
fn a_directory_that_cannot_be_written_and_an_app_that_is_not_built_are_refused() {
    let folder = Folder::new("refused");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let file = folder.0.join("file");
    std::fs::write(&file, "not a directory").expect("it can be written");
    let refused = fails(&["--port", "0"], &file);
    assert!(refused.contains("cannot be opened") && refused.contains("--data"), "{refused}");
    assert_eq!(refused.matches("os error").count(), 1, "the reason is told once: {refused}");
    assert_eq!(refused.lines().count(), 1, "{refused}");
    let app = folder.0.to_str().expect("plain letters").to_owned();
    let refused = fails(&["--port", "0", "--app", &app], &folder.0.join("data"));
    assert!(refused.contains("index.html") && refused.contains("--app"), "{refused}");
}

#[test]
fn a_folder_of_somebody_else_and_one_whose_journal_is_gone_are_refused_and_left_as_they_are() {
    let folder = Folder::new("foreign");
    let names = || -> BTreeSet<_> {
        let entries = std::fs::read_dir(&folder.0).expect("it is there");
        entries.map(|entry| entry.expect("it can be read").file_name()).collect()
    };
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    std::fs::write(folder.0.join("thesis.txt"), "mine").expect("it can be written");
    let refused = fails(&["--port", "0"], &folder.0);
    assert!(refused.contains("not Iolite's, such as thesis.txt") && refused.contains("--data"), "{refused}");
    assert_eq!(names(), ["thesis.txt".into()].into());

    std::fs::remove_file(folder.0.join("thesis.txt")).expect("it is there");
    Dev::start(&folder.0).terminate();
    std::fs::remove_file(folder.0.join("0000000000000001.segment")).expect("a segment was written");
    let left = names();
    let refused = fails(&["--port", "0"], &folder.0);
    assert!(refused.contains("has a token and no journal") && refused.contains("remove the folder"), "{refused}");
    assert_eq!(names(), left);
}

#[test]
fn a_server_without_an_app_says_at_its_address_what_to_do_next() {
    let folder = Folder::new("welcome");
    let server = Dev::start(&folder.0);
    let page = server.get("/", "");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("content-type: text/html"), "{page}");
    for told in ["npx iolite dev --app dist", "/iolite.json", "create-iolite"] {
        assert!(page.contains(told), "{page}");
    }
    assert!(!page.contains(&server.token()), "the page is for everybody who looks");
}

#[test]
fn a_server_whose_words_nobody_reads_goes_on() {
    let folder = Folder::new("unread");
    let server = Dev::start_unread(&folder.0);
    server.wait_until_ready();
}

#[test]
fn a_page_is_served_with_its_types_and_its_token_stays_with_it() {
    let folder = Folder::new("page");
    let app = folder.0.join("app");
    std::fs::create_dir_all(&app).expect("a temporary folder");
    std::fs::write(app.join("index.html"), "<p>hello").expect("it can be written");
    std::fs::write(app.join("core.wasm"), b"\0asm").expect("it can be written");
    let server = Dev::start_with(&folder.0.join("data"), &["--app", app.to_str().expect("plain letters")]);
    let page = server.get("/", "");
    assert!(
        page.contains("<p>hello")
            && page.contains("content-type: text/html")
            && page.contains("cache-control: no-cache"),
        "{page}"
    );
    assert!(server.get("/core.wasm", "").contains("content-type: application/wasm"));
    assert!(server.get("/rooms/7", "").contains("<p>hello"), "a path of the app's own is its page");
    assert!(server.get("/old.js", "").starts_with("HTTP/1.1 404"), "a file that is gone is not the page");
    assert!(!server.get("/../../etc/passwd", "").contains("root:"));
    assert!(server.get("/healthz", "").starts_with("HTTP/1.1 200"));
    server.wait_until_ready();
    let token = server.token();
    assert!(server.get("/iolite.json", "").contains(&token));
    for foreign in ["Origin: https://evil.example\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
        let refused = server.get("/iolite.json", foreign);
        assert!(refused.starts_with("HTTP/1.1 403") && !refused.contains(&token), "{refused}");
    }
    let rebound = server.get_as("evil.example", "/iolite.json", "");
    assert!(rebound.starts_with("HTTP/1.1 403") && !rebound.contains(&token), "{rebound}");
}
