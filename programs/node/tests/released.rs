//! Data directories of earlier releases open in this one, with everything that they held.
//!
//! tests/released has one of each format: `data` as the process left it when it was killed, and `rows.txt`, what that release itself read from it.

use std::fs;
use std::path::{Path, PathBuf};

use iolite_engine::{Incarnation, Journal, NativeDisk, Options};
use iolite_replication::node::Boot;
use iolite_replication::{Replica, ReplicaSettings, Retention};
use iolite_values::{Id, StoreIncarnation};

fn released(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released").join(format)
}

/// The rows of a data directory, a line each.
fn rows(data: &Path) -> String {
    let disk = NativeDisk::open(data).expect("it can be opened");
    let (_, recovery) = Journal::open(disk, Options::default(), Incarnation(1)).expect("it is whole");
    assert!(!recovery.checkpoint_chunks.is_empty() && !recovery.records.is_empty(), "both are to be read");
    let store = StoreIncarnation(Id::from_u128(recovery.incarnation.0));
    let settings = ReplicaSettings::alone(store, Boot(1), Retention::default());
    let records = recovery.records.iter().map(|record| &record.bytes);
    let replica = Replica::recover(settings, &recovery.checkpoint_chunks, records).expect("they are a replica's");
    let versions = replica.versions();
    let keys =
        versions.checkpoint_rows(std::ops::Bound::Unbounded, usize::MAX).into_iter().map(|row| (row.table, row.key));
    keys.map(|(table, key)| {
        let latest = versions.row(table, &key).expect("it was listed").latest();
        format!("{table:?} {key:?} {latest:?}\n")
    })
    .collect()
}

#[test]
fn the_first_journal_opens() {
    let folder = released("journal-1");
    let copy = std::env::temp_dir().join(format!("iolite-released-{}", std::process::id()));
    fs::create_dir_all(&copy).expect("a temporary folder");
    for file in fs::read_dir(folder.join("data")).expect("it is there") {
        let path = file.expect("it is there").path();
        fs::copy(&path, copy.join(path.file_name().expect("a file"))).expect("a copy");
    }
    let expected = fs::read_to_string(folder.join("rows.txt")).expect("it is there");
    let found = rows(&copy);
    fs::remove_dir_all(&copy).expect("it was made here");
    assert_eq!(found, expected);
}
