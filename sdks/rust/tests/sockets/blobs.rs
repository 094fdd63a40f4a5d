//! Blobs of up to 4 KiB: from a mutation's argument into a row, and to another client.

use iolite::table::Register;
use iolite::{Blob, CallError, Mutators, Options, Schema, Table, View, schema};
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
    Options::new().mutators(Mutators::new().with("add", add).operation("album", "caption", caption))
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

#[tokio::test]
async fn an_operation_of_a_log_takes_no_blob() {
    let server = iolite::embedded().await.expect("a server");
    let client = server.client(app(), options()).expect("in memory");
    let log = client.log("album", "a").expect("the schema has it");
    let called = log.run("caption", &blob(1)).map(drop);
    assert_eq!(called, Err(CallError::BlobInLog { operation: "caption".into() }));
}
