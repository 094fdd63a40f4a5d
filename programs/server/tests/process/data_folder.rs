//! A server whose data folder goes ends by itself, and acknowledges nothing that a restart there would not find.

use std::path::{Path, PathBuf};

use crate::support::dev::{Dev, Folder, PATIENCE};
use crate::support::marks::{come_to, open};
use iolite::{Client, Connection, Value};

async fn wait_for(client: &Client, wanted: Connection) {
    let mut connection = client.connection();
    let reached = connection.wait_for(|state| *state == wanted);
    drop(tokio::time::timeout(PATIENCE, reached).await.expect("it gets there").expect("the client is open"));
}

fn the_file(data: &Path, ending: &str) -> PathBuf {
    let files = std::fs::read_dir(data).expect("it is there").map(|entry| entry.expect("it can be read").path());
    files.filter(|file| file.to_str().is_some_and(|name| name.ends_with(ending))).max().expect("it has one")
}

fn aside(path: &Path) -> PathBuf {
    path.with_extension("aside")
}

/// Puts something aside. It can be put back.
fn rename(path: &Path) {
    std::fs::rename(path, aside(path)).expect("it is there");
}

/// A thing that somebody does with the folder of a server that runs, and takes back.
struct Harm {
    name: &'static str,
    told: &'static str,
    done_to: fn(&Path) -> PathBuf,
    /// Beside putting aside what it is done to.
    more: fn(&Path),
}

const HARMS: [Harm; 7] = [
    Harm { name: "removed", told: "removed or renamed", done_to: Path::to_owned, more: |_| {} },
    Harm {
        name: "anew",
        told: "was replaced",
        done_to: Path::to_owned,
        more: |data| std::fs::create_dir(data).expect("it is gone"),
    },
    Harm {
        name: "copied",
        told: "was replaced",
        done_to: Path::to_owned,
        more: |data| {
            std::fs::create_dir(data).expect("it is gone");
            for entry in std::fs::read_dir(aside(data)).expect("it is there") {
                let entry = entry.expect("it can be read");
                // The folder of blobs has none.
                if entry.path().is_dir() {
                    continue;
                }
                std::fs::copy(entry.path(), data.join(entry.file_name())).expect("it can be copied");
            }
        },
    },
    Harm { name: "lock", told: "LOCK was removed", done_to: |data| data.join("LOCK"), more: |_| {} },
    Harm {
        name: "other-lock",
        told: "LOCK was replaced",
        done_to: |data| data.join("LOCK"),
        more: |lock| std::fs::write(lock, "").expect("it can be written"),
    },
    Harm { name: "segment", told: "segment was removed", done_to: |data| the_file(data, ".segment"), more: |_| {} },
    Harm {
        name: "other-segment",
        told: "segment was replaced",
        done_to: |data| the_file(data, ".segment"),
        more: |segment| assert!(std::fs::copy(aside(segment), segment).is_ok(), "it can be copied"),
    },
];

/// The mutation after the harm is confirmed only by a server that has the folder back.
async fn ends_unacknowledged(harm: &Harm, class: &str) {
    let folder = Folder::new(&format!("gone-{}-{class}", harm.name));
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let (data, errors) = (folder.0.join("data"), folder.0.join("errors.txt"));
    let mut server = Dev::start_with_errors(&data, &["--durability", class], &errors);
    let client = open(&server.sync_url(), &server.token());
    client.mutate("mark", "before").expect("called").confirmed().await.expect("confirmed");
    let harmed = (harm.done_to)(&data);
    rename(&harmed);
    (harm.more)(&harmed);
    let after = client.mutate("mark", "after").expect("called");
    let confirmed = tokio::spawn(async move { after.confirmed().await });
    wait_for(&client, Connection::Offline).await;
    assert!(!server.wait_for_end().success(), "{}", harm.name);
    assert!(!confirmed.is_finished(), "{}: it was acknowledged", harm.name);
    let said = std::fs::read_to_string(&errors).expect("it said why");
    assert!(said.contains(harm.told) && said.contains("a restart would not find"), "{}: {said}", harm.name);
    if harmed.is_dir() {
        std::fs::remove_dir_all(&harmed).expect("it is the new one");
    }
    std::fs::rename(aside(&harmed), &harmed).expect("it was put aside");
    server.restart();
    tokio::time::timeout(PATIENCE, confirmed).await.expect("it goes on").expect("no panic").expect("confirmed");
    come_to(&client, &["before", "after"].map(Value::from).into()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_folder_or_a_file_of_it_went_ends_before_it_acknowledges_anything_more() {
    for harm in &HARMS {
        ends_unacknowledged(harm, "fsync").await;
    }
    ends_unacknowledged(&HARMS[0], "memory").await;
}

/// Without any request, each class looks by itself.
#[test]
fn an_idle_server_whose_folder_went_ends_by_itself() {
    let folder = Folder::new("gone-idle");
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let start = |class: &str| {
        let errors = folder.0.join(format!("errors-{class}.txt"));
        let server = Dev::start_with_errors(&folder.0.join(class), &["--durability", class], &errors);
        server.wait_until_ready();
        (class.to_owned(), server, errors)
    };
    let mut servers = ["fsync", "memory"].map(start);
    for (class, _, _) in &servers {
        std::fs::remove_dir_all(folder.0.join(class)).expect("it is there");
    }
    for (class, server, errors) in &mut servers {
        assert!(!server.wait_for_end().success(), "{class}");
        let said = std::fs::read_to_string(errors).expect("it said why");
        assert!(said.contains("removed or renamed") && said.contains("a restart would not find"), "{class}: {said}");
    }
}
