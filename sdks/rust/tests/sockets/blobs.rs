//! Blobs: from a mutation's argument into a row, and to another client. Those of up to 4 KiB lie in the row, larger ones have chunks.

use iolite::table::Register;
use iolite::{Blob, CallError, Client, Embedded, Mutators, Options, Schema, Storage, Table, View, schema};
use iolite_values::{BlobDigest, Chunks, Cutting, Tree};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, SeekFrom};
use tokio::time::timeout;

use crate::notes::PATIENCE;

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "photos")]
struct Photo {
    #[key]
    id: String,
    #[column(fetch = "on-demand")]
    photo: Blob,
    thumbnail: Option<Blob>,
}

#[derive(Table, Debug)]
#[table(live, log = "album")]
struct Captions {
    #[key]
    album: String,
    #[column(default = "")]
    text: Register<String>,
}

fn app() -> Schema {
    schema().with::<Photo>().with::<Captions>().build().expect("valid")
}

fn options() -> Options {
    let add = |tx: &mut iolite::Transaction<'_>, (id, photo): (String, Blob)| {
        tx.create(&Photo { id, photo, thumbnail: None })
    };
    let caption = |tx: &mut iolite::Transaction<'_>, _: Blob| tx.at(Captions::TEXT, "a").set("a photo".to_owned());
    let replace = |tx: &mut iolite::Transaction<'_>, (id, photo): (String, Blob)| tx.at(Photo::PHOTO, &id).set(photo);
    Options::new()
        .mutators(Mutators::new().with("add", add).with("replace", replace).operation("album", "caption", caption))
}

fn content(length: usize) -> Vec<u8> {
    // No two chunks are equal.
    (0..length).map(|place| (place / 65_536 * 7 + place / 256 + place) as u8).collect()
}

async fn confirmed(client: &Client, mutation: &str, arguments: &impl serde::Serialize) {
    let call = client.mutate(mutation, arguments).expect("called");
    timeout(PATIENCE, call.confirmed()).await.expect("in time").expect("confirmed");
}

/// The photo of a row, as this client sees it confirmed.
async fn photo(client: &Client, id: &'static str) -> Blob {
    let read = client.read(View::Confirmed, move |tx| tx.get::<Photo>(id)).await.expect("it can be read");
    (*read).clone().expect("it is there").photo
}

fn blob(length: usize) -> Blob {
    Blob::inline((0..length).map(|place| place as u8).collect::<Vec<_>>()).expect("short")
}

#[test]
fn a_field_says_when_its_blob_is_fetched() {
    let json = app().to_json();
    assert!(json.contains(r#""photo":{"fetch":"on-demand","type":"blob"}"#), "{json}");
    assert!(json.contains(r#""thumbnail":{"optional":true,"type":"blob"}"#), "{json}");
}

#[tokio::test]
async fn a_blob_goes_from_an_argument_into_a_row_and_to_another_client() {
    let server = iolite::embedded().await.expect("a server");
    let [writer, reader] = [(); 2].map(|()| server.client(app(), options()).expect("in memory"));
    for client in [&writer, &reader] {
        client.online().await.expect("let in");
    }
    let call = writer.mutate("add", &("a", blob(4096))).expect("called");
    timeout(PATIENCE, call.confirmed()).await.expect("in time").expect("confirmed");
    let change = writer.transact(|tx| tx.at(Photo::THUMBNAIL, "a").set(Some(blob(0))));
    change.await.expect("committed");
    let read = reader.read(View::Confirmed, |tx| tx.get::<Photo>("a")).await.expect("it can be read");
    let photo = (*read).clone().expect("it is there");
    assert_eq!(photo.photo.bytes(), blob(4096).bytes());
    assert_eq!(photo.thumbnail.and_then(|small| small.bytes().cloned()).as_deref(), Some(&[][..]));
}

/// A reader that got nothing would ask again for ever.
#[tokio::test]
async fn a_chunk_that_is_shorter_than_its_place_is_an_error_of_whoever_reads_it() {
    let server = iolite::embedded().await.expect("a server");
    let client = server.client(app(), options()).expect("in memory");
    let whole = client.blobs().put_bytes(&content(70_000)).await.expect("there is room");
    let Chunks::Tree(tree) = whole.chunks() else { panic!("it is too long for a cell") };
    let short = *tree.root().last().expect("two chunks");
    let tree = Tree::new(Cutting::Fixed64K, 0, Vec::new(), vec![short; 2]).expect("a tree");
    let digest = BlobDigest::of(Cutting::Fixed64K, [short.id; 2], whole.length());
    let forged = Blob::tree(whole.length(), digest, tree).expect("of this shape");
    let blobs = client.blobs();
    let read = timeout(PATIENCE, blobs.read("photos", "a", "photo", &forged)).await.expect("in time");
    let error = read.expect_err("it is damaged").to_string();
    assert!(error.contains("as many bytes as its place asks for"), "{error}");
    let mut reader = blobs.open("photos", "a", "photo", &forged).expect("a key");
    let read = timeout(PATIENCE, reader.read_to_end(&mut Vec::new())).await.expect("in time");
    assert!(read.is_err(), "{read:?}");
}

#[tokio::test]
async fn an_operation_of_a_log_takes_no_blob() {
    let server = iolite::embedded().await.expect("a server");
    let client = server.client(app(), options()).expect("in memory");
    let log = client.log("album", "a").expect("the schema has it");
    let called = log.run("caption", &blob(1)).map(drop);
    assert_eq!(called, Err(CallError::BlobInLog { operation: "caption".into() }));
}

const LARGE: usize = 3 << 20;

/// A photo of one client in the row "a", and a second client that is online.
struct Shared {
    _server: Embedded,
    writer: Client,
    reader: Client,
    put: Blob,
}

/// Bytes that nothing can pack.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

async fn shared(content: &[u8]) -> Shared {
    let server = iolite::embedded().await.expect("a server");
    let [writer, reader] = [(); 2].map(|()| server.client(app(), options()).expect("in memory"));
    let put = writer.blobs().put_bytes(content).await.expect("there is room");
    confirmed(&writer, "add", &("a", &put)).await;
    reader.online().await.expect("let in");
    Shared { _server: server, writer, reader, put }
}

#[tokio::test]
async fn a_large_blob_goes_to_another_client_byte_for_byte() {
    let Shared { _server, writer, reader, put } = shared(&content(LARGE)).await;
    assert_eq!((put.length(), writer.blobs().state(&put).await.bytes_here), (LARGE as u64, LARGE as u64));
    // A test of the TypeScript client has the same of the same bytes.
    assert_eq!(put.digest().to_string(), "52d68e43288236e69577651d27d396393a10c73fc4aa8916b42144efe9923c80");
    let photo = photo(&reader, "a").await;
    assert_eq!((&photo, reader.blobs().state(&photo).await.bytes_here), (&put, 0));
    let mut stream = reader.blobs().open("photos", "a", "photo", &photo).expect("a key");
    let mut bytes = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("in time").expect("it is fetched");
    assert!(bytes == content(LARGE), "byte for byte");
    stream.seek(SeekFrom::Start(1_000_000)).await.expect("within it");
    let mut part = vec![0; 10];
    stream.read_exact(&mut part).await.expect("it is here");
    assert_eq!(part, content(LARGE)[1_000_000..1_000_010]);
    assert_eq!(reader.blobs().state(&photo).await.bytes_here, LARGE as u64);
}

#[tokio::test]
async fn a_part_is_fetched_alone() {
    let Shared { _server, writer: _writer, reader, put: _ } = shared(&content(LARGE)).await;
    let photo = photo(&reader, "a").await;
    let mut stream = reader.blobs().open("photos", "a", "photo", &photo).expect("a key");
    stream.seek(SeekFrom::End(-10)).await.expect("within it");
    let mut end = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut end)).await.expect("in time").expect("it is fetched");
    assert_eq!(end, content(LARGE)[LARGE - 10..]);
    assert_eq!(reader.blobs().state(&photo).await.bytes_here, 64 << 10);
}

/// Changes a byte of a blob of this length. Returns how many bytes of chunks that sent.
async fn sent_for_one_byte(length: usize) -> u64 {
    let mut expected = noise(length);
    let Shared { _server, writer, reader, put: _ } = shared(&expected).await;
    let before = writer.blobs().traffic();
    let (blobs, own) = (writer.blobs(), photo(&writer, "a").await);
    let changed = blobs.write_at("photos", "a", "photo", &own, 1_000_000, &[255]).await.expect("all of it is here");
    confirmed(&writer, "replace", &("a", &changed)).await;
    let sent = writer.blobs().traffic().bytes_up - before.bytes_up;
    let new_row = async {
        loop {
            let now = photo(&reader, "a").await;
            if now == changed {
                break now;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let now = timeout(PATIENCE, new_row).await.expect("the reader is told");
    let bytes = reader.blobs().read("photos", "a", "photo", &now).await.expect("it is fetched");
    assert_ne!(std::mem::replace(&mut expected[1_000_000], 255), 255, "it is another byte");
    assert!(bytes == expected, "byte for byte");
    sent
}

#[tokio::test]
async fn one_changed_byte_sends_one_chunk_and_one_node_if_there_are_nodes() {
    let flat = sent_for_one_byte(LARGE).await;
    assert!(flat > (64 << 10) && flat < (64 << 10) + 4096, "{flat} bytes were sent");
    // 97 chunks: their names do not fit the row, so there is a node above them.
    let deep = sent_for_one_byte((6 << 20) + 1000).await;
    assert!(deep > (64 << 10) && deep < (64 << 10) + 8192, "{deep} bytes were sent");
}

#[tokio::test]
async fn a_large_blob_that_was_put_offline_is_sent_after_a_restart() {
    let server = iolite::embedded().await.expect("a server");
    let folder = std::env::temp_dir().join(format!("iolite-album-{:032x}", iolite_host::random_id()));
    let stored = || options().storage(Storage::Directory(folder.clone()));
    let nowhere = Client::connect("ws://127.0.0.1:9/sync", server.token(), app(), stored()).expect("opened");
    let put = nowhere.blobs().put_bytes(&content(300_000)).await.expect("there is room");
    let call = nowhere.mutate("add", &("a", &put)).expect("called");
    timeout(PATIENCE, call.durable()).await.expect("in time").expect("durable");
    nowhere.close().await;
    let again = server.client(app(), stored()).expect("its own storage");
    let reader = server.client(app(), options()).expect("in memory");
    reader.online().await.expect("let in");
    timeout(PATIENCE, async {
        while !again.pending().is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("it is sent");
    let bytes = reader.blobs().read("photos", "a", "photo", &photo(&reader, "a").await).await.expect("it is fetched");
    assert!(bytes == content(300_000));
    again.close().await;
    std::fs::remove_dir_all(folder).expect("removed");
}

#[tokio::test]
async fn what_is_not_here_is_unavailable_without_a_connection() {
    let Shared { _server, writer: _writer, reader, put: _ } = shared(&content(LARGE)).await;
    let photo = photo(&reader, "a").await;
    reader.go_offline();
    let read = reader.blobs().read("photos", "a", "photo", &photo).await;
    assert!(matches!(read, Err(iolite::BlobReadError::Unavailable)), "{read:?}");
}
