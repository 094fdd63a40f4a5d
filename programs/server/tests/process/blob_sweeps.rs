//! The store of chunks of a running server: what a sweep takes and what it leaves, a check, and a store that is full.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iolite::{Blob, CallError, Client, MutationHandle, View};
use tokio::time::timeout;

use super::blobs::{Photo, app, content, options};
use crate::support::dev::{Dev, Folder, PATIENCE};
use crate::support::folder::PROGRAM;
use crate::support::local::Local;

/// A server with these options keeps so little history that a sweep need not wait for a minute.
const SHORT_HISTORY: [&str; 2] = ["--history-ms", "1500"];

/// `iolite blobs` with these arguments, about this server.
pub fn blobs(arguments: &[&str], url: &str) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("blobs").args(arguments).args(["--target", url]).output().expect("the program can be run")
}

/// The same, which has to succeed.
pub fn said(arguments: &[&str], url: &str) -> String {
    let Output { status, stdout, stderr } = blobs(arguments, url);
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8_lossy(&stdout).into_owned()
}

fn url(server: &Dev) -> String {
    format!("http://127.0.0.1:{}/", server.port())
}

/// The files of all chunks.
pub fn chunks(data: &Path) -> Vec<PathBuf> {
    let inside = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    inside(data.join("blobs")).flat_map(inside).flat_map(inside).collect()
}

pub fn connect(sync_url: &str, token: &str) -> Client {
    Client::connect(sync_url, token, app(), options()).expect("in memory")
}

pub async fn confirmed(call: Result<MutationHandle, CallError>) {
    let call = call.expect("called");
    timeout(PATIENCE, call.confirmed()).await.expect("in time").expect("confirmed");
}

pub async fn add(client: &Client, number: i64) {
    let photo = client.blobs().put_bytes(&content(number)).await.expect("there is room");
    confirmed(client.mutate("add", &(number, &photo))).await;
}

pub async fn photos(client: &Client) -> Vec<Photo> {
    timeout(PATIENCE, client.online()).await.expect("in time").expect("let in");
    client.read(View::Confirmed, |tx| tx.all::<Photo>()).await.expect("it can be read").to_vec()
}

pub async fn read(client: &Client, number: i64, photo: &Blob) -> Vec<u8> {
    let (blobs, column) = (client.blobs(), "photo");
    timeout(PATIENCE, blobs.read("photos", number, column, photo)).await.expect("in time").expect("it is there")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_row_names_any_more_is_swept_and_a_photo_in_use_is_not() {
    let folder = Folder::new("swept");
    let server = Dev::start_with(&folder.0, &SHORT_HISTORY);
    let client = connect(&server.sync_url(), &server.token());
    for number in 0..4 {
        add(&client, number).await;
    }
    // 0 stays, 1 gets other content, 2 goes with its row, and 3 is changed in one byte, so that it shares chunks with what it was.
    let other = client.blobs().put_bytes(&content(5)).await.expect("there is room");
    confirmed(client.mutate("replace", &(1, &other))).await;
    confirmed(client.mutate("remove", &2)).await;
    let before = photos(&client).await.into_iter().find(|photo| photo.number == 3).expect("it is there").photo;
    let changed = client.blobs().write_at("photos", 3, "photo", &before, 70_000, &[255]).await.expect("it is here");
    confirmed(client.mutate("replace", &(3, &changed))).await;
    let is = |number: i64| content(number).chunks(65_536).count();
    let garbage = is(1) + is(2) + 1;
    let (all, url) = (chunks(&folder.0).len(), url(&server));
    let found = format!("{garbage} of {all} chunks are garbage");
    let dry = said(&["sweep", "--dry-run"], &url);
    assert!(dry.starts_with(&found) && dry.contains("Nothing was deleted"), "{dry}");
    assert_eq!(chunks(&folder.0).len(), all);
    let with_grace = said(&["sweep"], &url);
    assert!(with_grace.starts_with(&found) && with_grace.contains("deletes it in 1h"), "{with_grace}");
    let swept = said(&["sweep", "--grace", "0"], &url);
    assert!(swept.contains(&format!("{garbage} were deleted")), "{swept}");
    assert_eq!(chunks(&folder.0).len(), all - garbage);
    let mut expected = content(3);
    expected[70_000] = 255;
    let reader = connect(&server.sync_url(), &server.token());
    for photo in photos(&reader).await {
        let expected = match photo.number {
            1 => content(5),
            3 => expected.clone(),
            number => content(number),
        };
        assert!(read(&reader, photo.number, &photo.photo).await == expected, "photo {}", photo.number);
    }
    assert!(said(&["check"], &url).starts_with("All is there: 3 blobs"));
    let usage = said(&["usage"], &url);
    assert!(usage.starts_with(&format!("{} chunks", all - garbage)) && usage.contains("were deleted"), "{usage}");
    let metrics = server.get("/metrics", "");
    assert!(metrics.contains(&format!("\niolite_blob_chunks_deleted_total {garbage}\n")), "{metrics}");
    assert!(metrics.contains(&format!("\niolite_blob_store_chunks {}\n", all - garbage)), "{metrics}");
}

/// A sweep deletes nothing that can still be read at some timestamp, even with no grace.
#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_waits_until_the_history_is_forgotten_that_names_its_garbage() {
    let folder = Folder::new("history");
    let server = Dev::start(&folder.0);
    let client = connect(&server.sync_url(), &server.token());
    add(&client, 1).await;
    confirmed(client.mutate("remove", &1)).await;
    let url = url(&server);
    let sweep = std::thread::spawn({
        let url = url.clone();
        move || blobs(&["sweep", "--grace", "0"], &url)
    });
    while !said(&["usage"], &url).contains("A sweep goes on") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!sweep.is_finished() && !chunks(&folder.0).is_empty(), "the store keeps a minute");
    drop(server);
    let Output { status, stderr, .. } = sweep.join().expect("it does not panic");
    let told = String::from_utf8_lossy(&stderr).into_owned();
    assert!(!status.success() && told.contains("cut off"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_beside_sweeps_lose_nothing() {
    let folder = Folder::new("beside-sweeps");
    let server = Dev::start_with(&folder.0, &SHORT_HISTORY);
    let client = connect(&server.sync_url(), &server.token());
    let (is_over, url) = (AtomicBool::new(false), url(&server));
    std::thread::scope(|scope| {
        let sweeps = scope.spawn(|| {
            let mut sweeps = 0;
            while !is_over.load(Ordering::Relaxed) {
                said(&["sweep", "--grace", "0"], &url);
                sweeps += 1;
            }
            sweeps
        });
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                for number in 0..4 {
                    add(&client, number).await;
                    let photo = client.blobs().put_bytes(&content(number + 10)).await.expect("there is room");
                    confirmed(client.mutate("replace", &(number, &photo))).await;
                }
            });
        });
        is_over.store(true, Ordering::Relaxed);
        assert!(sweeps.join().expect("they succeed") > 1);
    });
    said(&["sweep", "--grace", "0"], &url);
    assert!(said(&["check"], &url).starts_with("All is there: 4 blobs"));
    let used: usize = (10..14).map(|number| content(number).chunks(65_536).count()).sum();
    assert_eq!(chunks(&folder.0).len(), used, "nothing is left of what was replaced");
    let reader = connect(&server.sync_url(), &server.token());
    for photo in photos(&reader).await {
        assert!(read(&reader, photo.number, &photo.photo).await == content(photo.number + 10), "{}", photo.number);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_names_chunks_that_are_missing_or_changed() {
    let folder = Folder::new("checked");
    let server = Dev::start(&folder.0);
    let client = connect(&server.sync_url(), &server.token());
    for number in 0..2 {
        add(&client, number).await;
    }
    let (all, url) = (chunks(&folder.0), url(&server));
    let (missing, changed) = (&all[0], &all[1]);
    std::fs::remove_file(missing).expect("it is there");
    std::fs::write(changed, b"something else").expect("it can be written");
    let Output { status, stdout, .. } = blobs(&["check"], &url);
    let told = String::from_utf8_lossy(&stdout).into_owned();
    assert_eq!(status.code(), Some(1), "{told}");
    for (file, flaw) in [(missing, "missing"), (changed, "changed")] {
        let chunk = file.file_name().and_then(|name| name.to_str()).expect("digits");
        let named =
            |line: &str| line.starts_with("photos [") && line.contains(&format!("photo: chunk {chunk} is {flaw}"));
        assert!(told.lines().any(named), "{told}");
    }
    assert!(told.contains(&format!("2 of {} chunks are no good", all.len())), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_takes_no_more_and_goes_on_serving_what_it_has() {
    let folder = Folder::new("full-store");
    let mut local = Local::start(&folder.0, 1, 1, 1);
    let bounded = |local: &mut Local, bytes_max: u64| {
        local.kill(&["gateway-0"]);
        let file = folder.0.join("gateway-0/node.toml");
        let text = std::fs::read_to_string(&file).expect("it is there");
        let lines: Vec<&str> =
            text.lines().filter(|line| !line.starts_with("bytes_max") && !line.starts_with("trace")).collect();
        let bounds = format!("[blobs]\nbytes_max = {bytes_max}\ntrace = \"trace.json\"");
        std::fs::write(&file, lines.join("\n").replace("[blobs]", &bounds)).expect("it can be written");
        local.start_all();
    };
    // The first photo fills it.
    bounded(&mut local, 100_000);
    let client = connect(&local.sync_url(0), &local.token());
    add(&client, 0).await;
    let second = client.blobs().put_bytes(&content(1)).await.expect("the device has room");
    let call = client.mutate("add", &(1, &second)).expect("called");
    let told = async {
        while !client.blobs().waiting().is_some_and(|waiting| waiting.contains("full")) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, told).await.expect("it is told why it waits");
    let reader = connect(&local.sync_url(0), &local.token());
    let seen = photos(&reader).await;
    assert_eq!(seen.len(), 1);
    assert!(read(&reader, 0, &seen[0].photo).await == content(0), "reads go on");
    let address = local.node("gateway-0").address.expect("it has one");
    let usage = said(&["usage"], &format!("http://{address}"));
    assert!(usage.contains("97.7 KiB of 97.7 KiB (bytes_max)"), "{usage}");
    bounded(&mut local, 10_000_000);
    timeout(PATIENCE, call.confirmed()).await.expect("in time").expect("there is room now");
    let trace = std::fs::read_to_string(folder.0.join("gateway-0/trace.json")).expect("it was written");
    let is_whole = |line: &str| ["\"time\":", "\"op\":", "\"key\":", "\"bytes\":"].iter().all(|key| line.contains(key));
    assert!(trace.lines().all(is_whole) && trace.contains("\"op\":\"put\""), "{trace}");
}

#[test]
fn clumsy_commands_are_told_what_to_do() {
    let folder = Folder::new("clumsy-blobs");
    let server = Dev::start(&folder.0);
    let address = url(&server);
    let wrong = folder.0.join("wrong");
    std::fs::write(&wrong, "guessed").expect("it can be written");
    let wrong = wrong.to_str().expect("plain");
    for (arguments, url, told) in [
        (&["usage"][..], "http://127.0.0.1:1", "is the server running"),
        (&["usage"], "https://app.example", "plain HTTP"),
        (&["usage", "--token-file", "/nowhere"], &address, "cannot be read"),
        (&["usage", "--token-file", wrong], &address, "not the operator's"),
    ] {
        let Output { status, stderr, .. } = blobs(arguments, url);
        let error = String::from_utf8_lossy(&stderr).into_owned();
        assert!(!status.success() && error.contains(told), "{error}");
    }
}
