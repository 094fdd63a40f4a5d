//! A server that writes checkpoints while it works, and starts again from them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use iolite::Client;
use iolite_host::Shutdown;
use iolite_node::{Server, ServerSettings};

use crate::notes::{options, schema, wait_for_hits};
use crate::offline::Folder;

async fn start(folder: &Path) -> (Client, Shutdown, tokio::task::JoinHandle<()>) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let settings = ServerSettings { address, checkpoint_bytes_min: 4 << 10, ..ServerSettings::new(folder) };
    let server = Server::open(settings).await.expect("a new or closed folder");
    let client = Client::connect(&server.sync_url(), server.token(), schema(), options()).expect("in memory");
    let shutdown = Shutdown::new();
    let running = server.run(shutdown.clone());
    (client, shutdown, tokio::spawn(async { running.await.expect("nothing fails") }))
}

#[tokio::test]
async fn a_server_starts_again_from_its_checkpoint_and_the_records_after_it() {
    let folder = Folder::new("checkpoints");
    let mut hits = 0;
    for _ in 0..3 {
        let (client, shutdown, running) = start(&folder.0).await;
        wait_for_hits(&client, hits).await;
        for _ in 0..150 {
            client.mutate("hit", "home").expect("called").confirmed().await.expect("confirmed");
            hits += 1;
        }
        let id = format!("note {hits}");
        client
            .mutate("add", &(&id, "written between checkpoints"))
            .expect("called")
            .confirmed()
            .await
            .expect("confirmed");
        shutdown.begin();
        running.await.expect("it did not panic");
        let files = std::fs::read_dir(&folder.0).expect("it is there");
        let is_checkpoint = |name: &std::ffi::OsStr| Path::new(name).extension().is_some_and(|end| end == "checkpoint");
        let checkpoints = files.filter(|file| is_checkpoint(&file.as_ref().expect("readable").file_name())).count();
        assert!((1..=2).contains(&checkpoints), "{checkpoints}: the newest, and perhaps one that was not finished");
    }
    let (client, shutdown, running) = start(&folder.0).await;
    wait_for_hits(&client, hits).await;
    let notes =
        client.read(iolite::View::Confirmed, |tx| Ok(tx.rows("notes", &[])?.len())).await.expect("it can be read");
    assert_eq!(*notes, 3);
    shutdown.begin();
    running.await.expect("it did not panic");
}
