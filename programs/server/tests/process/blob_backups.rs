//! Backups of rows with photos: restored onto the same store of chunks, where a sweep in either store takes nothing of the other.

use std::path::Path;
use std::process::{Command, Output};

use super::blob_sweeps::{add, blobs, chunks, confirmed, connect, photos, read, said};
use super::blobs::content;
use crate::support::folder::{Folder, PROGRAM};
use crate::support::local::{Local, fails, succeeds};

const PHOTOS: i64 = 4;

fn path(folder: &Path) -> &str {
    folder.to_str().expect("plain letters")
}

/// How many chunks the content of a photo has.
fn chunks_of(number: i64) -> usize {
    content(number).chunks(65_536).count()
}

fn url(local: &Local) -> String {
    format!("http://{}", local.node("gateway-0").address.expect("it has one"))
}

/// A new cluster whose gateway keeps chunks in that folder.
fn start_beside(folder: &Path, blobs: &Path) -> Local {
    let mut local = Local::start(folder, 1, 1, 1);
    local.kill(&["gateway-0"]);
    let file = folder.join("gateway-0/node.toml");
    let text = std::fs::read_to_string(&file).expect("it is there");
    let store = format!("dir:{}", path(blobs));
    std::fs::write(&file, text.replace("dir:../blobs", &store)).expect("it can be written");
    local.start_all();
    local
}

/// A sweep waits until the store keeps no history of what it takes: it goes on beside the rest of the test, for about a minute.
fn sweep(local: &Local) -> std::thread::JoinHandle<String> {
    let url = url(local);
    std::thread::spawn(move || said(&["sweep", "--grace", "0"], &url))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_on_the_same_store_of_chunks_loses_nothing_by_sweeps_and_a_chunk_that_is_gone_is_told() {
    let folder = Folder::new("blob-backups");
    let [first, second, backup, lacking] = ["first", "second", "backup", "lacking"].map(|name| folder.0.join(name));
    let original = Local::start(&first, 1, 1, 1);
    let client = connect(&original.sync_url(0), &original.token());
    for number in 0..PHOTOS {
        add(&client, number).await;
    }
    let none = fails(&["backup", "--data", path(&first), "--to", path(&backup)]);
    assert!(none.contains("\"photos\" name chunks") && none.contains("--blobs") && !backup.exists(), "{none}");
    let store = format!("dir:{}", path(&first.join("blobs")));
    let taken = succeeds(&["backup", "--data", path(&first), "--to", path(&backup), "--blobs", &store]);
    let all: usize = (0..PHOTOS).map(chunks_of).sum();
    assert!(taken.contains(&format!("{all} chunks of blobs,")), "{taken}");

    // What the copy has and the original has not any more.
    let other = client.blobs().put_bytes(&content(9)).await.expect("there is room");
    confirmed(client.mutate("replace", &(1, &other))).await;
    confirmed(client.mutate("remove", &2)).await;
    let sweep_of_original = sweep(&original);

    let copy = start_beside(&second, &first.join("blobs"));
    let none = fails(&["restore", "--data", path(&second), "--from", path(&backup)]);
    assert!(none.contains("has chunks of blobs") && none.contains("--blobs"), "{none}");
    succeeds(&["restore", "--data", path(&second), "--from", path(&backup), "--blobs", &store]);
    let reader = connect(&copy.sync_url(0), &copy.token());
    assert_eq!(photos(&reader).await.len(), PHOTOS as usize);
    confirmed(reader.mutate("remove", &3)).await;
    let sweep_of_copy = sweep(&copy);
    for (sweep, garbage, all) in
        [(sweep_of_original, chunks_of(1) + chunks_of(2), all + chunks_of(9)), (sweep_of_copy, chunks_of(3), all)]
    {
        let swept = sweep.join().expect("it succeeds");
        let expected = format!("{garbage} of {all} chunks are garbage");
        assert!(swept.starts_with(&expected) && swept.contains(&format!("{garbage} were deleted")), "{swept}");
    }
    for local in [&original, &copy] {
        assert!(said(&["check"], &url(local)).starts_with("All is there: 3 blobs"));
    }
    for photo in photos(&reader).await {
        assert!(read(&reader, photo.number, &photo.photo).await == content(photo.number), "{}", photo.number);
    }

    let gone = chunks(&first).into_iter().next().expect("there are some");
    std::fs::remove_file(&gone).expect("it is there");
    let chunk = gone.file_name().and_then(|name| name.to_str()).expect("digits");
    let is_of_copy = !blobs(&["check"], &url(&copy)).status.success();
    let data = if is_of_copy { &second } else { &first };
    let arguments = ["backup", "--data", path(data), "--to", path(&lacking), "--blobs", &store];
    let Output { status, stderr, .. } = Command::new(PROGRAM).args(arguments).output().expect("it can be run");
    let told = String::from_utf8_lossy(&stderr).into_owned();
    assert_eq!(status.code(), Some(3), "{told}");
    let is_told =
        |line: &str| line.starts_with("photos [") && line.contains(&format!("photo: chunk {chunk} is missing"));
    assert!(told.lines().any(is_told) && told.contains("1 chunks that rows name are not in it"), "{told}");
    assert!(succeeds(&["check-backup", "--from", path(&lacking)]).contains("(1 more are lacking)"));
}
