//! Servers that are not what they should be. What a real etcd does is in `programs/server/tests/stores/etcd`.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use iolite_host::Shutdown;

use super::*;
use crate::Directory;
use crate::config::EtcdTable;

/// Serves one connection after the other, each with one answer, and tells where.
fn server(answer: impl Fn() -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has one");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer().as_bytes());
        }
    });
    format!("http://{address}")
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn client(endpoints: &[&str]) -> EtcdClient {
    let endpoints = endpoints.iter().map(|endpoint| (*endpoint).to_owned()).collect();
    let table = EtcdTable { endpoints, key: "key".into(), ..EtcdTable::default() };
    EtcdClient::new(EtcdPlace::of(table, Path::new("cluster.toml")).expect("as documented")).expect("no files")
}

async fn said(endpoint: &str) -> String {
    client(&[endpoint]).read().await.expect_err("it is not etcd").to_string()
}

#[tokio::test]
async fn what_is_not_etcd_is_told_from_it() {
    let html = server(|| ok("<html>"));
    assert!(said(&html).await.contains("is not understood: it is no JSON"));
    let no_text = server(|| ok(r#"{"kvs": [{"value": "/w==", "mod_revision": "7"}]}"#));
    assert!(said(&no_text).await.contains("the value of the key is no text"));
    let no_revision = server(|| ok(r#"{"kvs": [{"value": "YQ=="}]}"#));
    assert!(said(&no_revision).await.contains("the key has no revision"));
    let absent = server(|| "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".into());
    assert!(said(&absent).await.contains("`enable-grpc-gateway`"));
}

#[tokio::test]
async fn an_answer_has_a_length() {
    let endless = server(|| ok(&" ".repeat(ANSWER_BYTES_MAX + 1)));
    assert!(said(&endless).await.contains("an answer of more than 4194304 bytes"));
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_time_or_has_no_leader_is_left_for_the_next() {
    // It takes connections, and nobody reads them.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let silent = format!("http://{}", listener.local_addr().expect("it has one"));
    let leaderless = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 34\r\n\r\n\
        {\"error\": \"etcdserver: no leader\"}";
    let leaderless = server(move || leaderless.to_owned());
    let answers = server(|| ok(r#"{"kvs": [{"value": "YQ==", "mod_revision": "7"}]}"#));
    let mut asked = client(&[&silent, &leaderless, &answers]);
    assert_eq!(asked.read().await.expect("the third does"), ("a".to_owned(), Revision(7)));
    assert_eq!(asked.endpoint, 2, "it is the first to be asked from now on");
    let error = client(&[&silent, &leaderless]).read().await.expect_err("none does").to_string();
    assert!(error.contains("no answer within 2s, "), "{error}");
    assert!(error.contains("etcdserver: no leader"), "{error}");
}

#[tokio::test]
async fn a_value_that_was_written_by_a_call_whose_answer_was_lost_is_not_denied() {
    // The first server has written it, and ends before it can say so. For the second the revision is an old one then.
    let lost = server(String::new);
    let found = |value: &str| {
        let value = BASE64.encode(value);
        ok(&format!(
            r#"{{"responses": [{{"response_range": {{"kvs": [{{"value": "{value}", "mod_revision": "8"}}]}}}}]}}"#
        ))
    };
    let own = server(move || found("own"));
    assert!(client(&[&lost, &own]).replace("own", Revision(7)).await.expect("the second answers"));
    let other = server(move || found("another"));
    assert!(!client(&[&lost, &other]).replace("own", Revision(7)).await.expect("the second answers"));
    let none = server(|| ok(r#"{"responses": [{"response_range": {}}]}"#));
    assert!(!client(&[&none]).replace("own", Revision(7)).await.expect("it answers"), "it was taken away");
}

const DESCRIPTION: &str = "store = \"0f1e2d3c4b5a69788796a5b4c3d2e1f0\"\n[[shards]]\nnumber = 0\n\
    replicas = [{ number = 0, address = \"127.0.0.1:1\" }]\n";

/// A cluster's file whose description is in etcd, and where its copy is.
fn described(folder: &Path) -> (PathBuf, PathBuf) {
    let (file, value) = (folder.join("cluster.toml"), BASE64.encode(DESCRIPTION));
    let etcd = server(move || ok(&format!(r#"{{"kvs": [{{"value": "{value}", "mod_revision": "7"}}]}}"#)));
    std::fs::write(&file, format!("[etcd]\nendpoints = [\"{etcd}\"]\nkey = \"key\"\n")).expect("its own");
    let table = EtcdTable { endpoints: vec![etcd], key: "key".into(), ..EtcdTable::default() };
    let copy = EtcdPlace::of(table, &file).expect("as documented").copy;
    (file, copy)
}

#[test]
fn a_disk_that_takes_long_for_the_copy_of_a_description_stops_nothing_else() {
    let folder = std::env::temp_dir().join(format!("iolite-slow-copy-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let (file, copy) = described(&folder);
    let directory = Directory::open(&file).expect("etcd answers");
    // A disk that does not answer: who opens it waits for the other end.
    std::fs::remove_file(&copy).expect("it was kept");
    assert!(Command::new("mkfifo").arg(&copy).status().expect("there is the command").success());
    let (shutdown, (tick, ticks)) = (Shutdown::new(), mpsc::channel());
    let stop = shutdown.listen();
    let node = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let following = tokio::spawn(directory.follow(stop, |_, _| {}));
            while !following.is_finished() {
                let _ = tick.send(());
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
    });
    let mut slow = std::fs::OpenOptions::new().write(true).open(&copy).expect("somebody reads the copy");
    // What was told before.
    thread::sleep(Duration::from_millis(100));
    let _ = ticks.try_iter().count();
    ticks.recv_timeout(Duration::from_secs(5)).expect("the node's thread goes on");
    // What was there is no description, and is replaced.
    slow.write_all(b"shards =").expect("it is read");
    drop(slow);
    shutdown.begin();
    node.join().expect("it ends");
    assert!(std::fs::read_to_string(&copy).expect("it was kept").contains("127.0.0.1:1"));
    std::fs::remove_dir_all(&folder).expect("it is there");
}
