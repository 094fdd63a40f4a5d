//! Photos of a server that is killed at any moment, and of a client that ends and begins again: none is lost, and no row lacks a chunk.

use std::path::Path;
use std::time::Duration;

use iolite::{Blob, Client, Mutators, Options, Schema, Storage, Table, View, schema};
use tokio::time::timeout;

use crate::support::dev::{Dev, Folder, PATIENCE};

#[derive(Table, Clone, Debug, PartialEq)]
#[table(name = "photos")]
pub struct Photo {
    #[key]
    pub number: i64,
    #[column(fetch = "on-demand")]
    pub photo: Blob,
}

pub fn app() -> Schema {
    schema().with::<Photo>().build().expect("valid")
}

pub fn options() -> Options {
    let add = |tx: &mut iolite::Transaction<'_>, (number, photo): (i64, Blob)| tx.create(&Photo { number, photo });
    let replace =
        |tx: &mut iolite::Transaction<'_>, (number, photo): (i64, Blob)| tx.at(Photo::PHOTO, number).set(photo);
    let remove = |tx: &mut iolite::Transaction<'_>, number: i64| tx.delete("photos", number);
    Options::new().mutators(Mutators::new().with("add", add).with("replace", replace).with("remove", remove))
}

/// As of a device, whose storage outlives its client.
fn open_in(server: &Dev, folder: &Path) -> Client {
    let options = options().storage(Storage::Directory(folder.to_owned()));
    Client::connect(&server.sync_url(), server.token(), app(), options).expect("its own storage")
}

/// Between 100 and 700 KiB, of which no two chunks are equal.
pub fn content(number: i64) -> Vec<u8> {
    let length = 100_000 + (number as usize * 97_001) % 600_000;
    (0..length).map(|place| (place / 65_536 * 7 + place / 256 + place + number as usize * 31) as u8).collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

async fn until_sent(client: &Client) {
    let sent = async {
        while !client.pending().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, sent).await.expect("all is sent");
}

/// Puts a photo in each round, and kills the server or ends the client somewhere in it.
async fn photos_beside_kills(rounds: i64, seed: u64) {
    let folder = Folder::new(&format!("photos-{seed}"));
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    let mut server = Dev::start(&folder.0.join("data"));
    let device = folder.0.join("device");
    let (mut random, mut client) = (Random(seed), open_in(&server, &device));
    for number in 0..rounds {
        let photo = client.blobs().put_bytes(&content(number)).await.expect("there is room");
        let call = client.mutate("add", &(number, &photo)).expect("called");
        timeout(PATIENCE, call.durable()).await.expect("in time").expect("durable");
        tokio::time::sleep(Duration::from_millis(random.below(120))).await;
        if random.below(3) == 0 {
            client.close().await;
            client = open_in(&server, &device);
        } else {
            server.kill();
            server.restart();
        }
    }
    until_sent(&client).await;
    let reader = Client::connect(&server.sync_url(), server.token(), app(), options()).expect("in memory");
    timeout(PATIENCE, reader.online()).await.expect("in time").expect("let in");
    let photos = reader.read(View::Confirmed, |tx| tx.all::<Photo>()).await.expect("it can be read");
    assert_eq!(photos.iter().map(|photo| photo.number).collect::<Vec<_>>(), (0..rounds).collect::<Vec<_>>());
    let blobs = reader.blobs();
    for Photo { number, photo } in photos.iter() {
        let read = blobs.read("photos", *number, "photo", photo);
        let bytes = timeout(PATIENCE, read).await.expect("in time").expect("no chunk is missing");
        assert!(bytes == content(*number), "photo {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn photos_outlive_kills_of_the_server_and_ends_of_the_client() {
    photos_beside_kills(6, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes: make soak"]
async fn soak_photos_beside_kills() {
    for seed in 2..12 {
        photos_beside_kills(40, seed).await;
    }
}
