//! Connections that say nothing, or say it slowly, or say too much before they say who they are.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::witness::Witness;
use crate::support::dev::{Dev, Folder, PATIENCE};
use crate::support::raw_session::RawSession;

async fn connect(server: &Dev) -> TcpStream {
    TcpStream::connect(("127.0.0.1", server.port())).await.expect("it listens")
}

/// Waits until the server has closed the connection, and returns what it said first.
async fn end_of(mut socket: TcpStream) -> String {
    let mut said = Vec::new();
    let read = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut said)).await;
    // A reset is an end as well.
    let _ = read.expect("the server closes it");
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test]
async fn a_thousand_connections_that_never_say_hello_are_closed_and_cost_little() {
    let folder = Folder::new("attack-silent");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let before = server.resident_bytes();
    let mut silent = Vec::new();
    for _ in 0..1000 {
        silent.push(RawSession::connect(&server.sync_url()).await);
    }
    for _ in 0..50 {
        witness.works().await;
    }
    let during = server.resident_bytes();
    assert!(during < before + (64 << 20), "{before} bytes before, {during} with them");
    for mut session in silent {
        while session.hear().await.is_some() {}
    }
    witness.noticed_nothing().await;
}

#[tokio::test]
async fn requests_that_never_end_are_cut_off() {
    let folder = Folder::new("attack-slow");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let mut slow = Vec::new();
    for _ in 0..200 {
        let mut socket = connect(&server).await;
        socket.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ").await.expect("it reads");
        slow.push(socket);
    }
    // One that sends a byte now and then is no better.
    let mut dripping = connect(&server).await;
    let drip = async {
        let begun = Instant::now();
        while dripping.write_all(b"G").await.is_ok() {
            assert!(begun.elapsed() < PATIENCE, "it drips on");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    let ends = async {
        for socket in slow {
            end_of(socket).await;
        }
    };
    tokio::join!(drip, ends);
    witness.noticed_nothing().await;
}

#[tokio::test]
async fn a_huge_header_is_refused_before_it_is_kept() {
    let folder = Folder::new("attack-header");
    let server = Dev::start(&folder.0);
    let mut witness = Witness::arrive(&server).await;
    let before = server.resident_bytes();
    let mut ends = Vec::new();
    for _ in 0..100 {
        let mut socket = connect(&server).await;
        ends.push(tokio::spawn(async move {
            let _ = socket.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ").await;
            // It may be closed before all is sent.
            let _ = socket.write_all(&vec![b'a'; 4 << 20]).await;
            end_of(socket).await
        }));
    }
    for end in ends {
        let said = end.await.expect("it did not panic");
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 431"), "{said}");
    }
    let after = server.resident_bytes();
    assert!(after < before + (64 << 20), "{before} bytes before, {after} after");
    witness.noticed_nothing().await;
}

/// Asks for the page on a connection that stays, and returns the answer's first line.
async fn page_over(socket: &mut TcpStream) -> String {
    socket.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await.expect("it reads");
    let mut answer = Vec::new();
    while !answer.ends_with(b"the page") {
        let mut part = [0; 1024];
        let read =
            tokio::time::timeout(PATIENCE, socket.read(&mut part)).await.expect("it answers").expect("it is there");
        answer.extend_from_slice(&part[..read]);
        assert!(read > 0, "{}", String::from_utf8_lossy(&answer));
    }
    String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn more_connections_than_files_leave_files_to_the_server() {
    let folder = Folder::new("attack-files");
    let app = folder.0.join("app");
    std::fs::create_dir_all(&app).expect("a temporary folder");
    std::fs::write(app.join("index.html"), "the page").expect("it can be written");
    let more = ["--app", app.to_str().expect("plain letters")];
    let server = Dev::start_with_files_max(&folder.0.join("data"), 300, &more);
    let mut witness = Witness::arrive(&server).await;
    let mut visitor = connect(&server).await;
    assert_eq!(page_over(&mut visitor).await, "HTTP/1.1 200 OK");
    let mut silent = Vec::new();
    while silent.len() < 330 {
        // More than the server takes: the operating system keeps the others for it, or does not let them in.
        match tokio::time::timeout(Duration::from_secs(3), connect(&server)).await {
            Ok(socket) => silent.push(socket),
            Err(_) => break,
        }
    }
    assert!(silent.len() > 300, "only {} came in", silent.len());
    let mut taken = 0;
    while taken < server.open_files() {
        taken = server.open_files();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(page_over(&mut visitor).await, "HTTP/1.1 200 OK", "there is a file left for the page");
    witness.works().await;
    for socket in silent {
        end_of(socket).await;
    }
    assert!(server.get("/healthz", "").starts_with("HTTP/1.1 200"), "others are served again");
    witness.noticed_nothing().await;
}
