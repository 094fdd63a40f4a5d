//! Data directories of earlier releases open in this one, with everything that they held.
//!
//! tests/released has one of each format: `data` as the process left it, and what that release itself read from it: `rows.txt` of an embedded server,
//! `state.txt` of a replica of a cluster.

#[path = "released/making.rs"]
mod making;

use std::fs;
use std::path::{Path, PathBuf};

use iolite_engine::{Durability, Incarnation, Journal, NativeDisk, Options};
use iolite_node::config::Faults;
use iolite_node::{OpenReplica, Start, open_replica};
use iolite_replication::node::{Boot, Group, ReplicaId, ShardId};
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
    rows_of(&replica)
}

fn rows_of(replica: &Replica) -> String {
    let versions = replica.versions();
    let keys =
        versions.checkpoint_rows(std::ops::Bound::Unbounded, usize::MAX).into_iter().map(|row| (row.table, row.key));
    keys.map(|(table, key)| {
        let latest = versions.row(table, &key).expect("it was listed").latest();
        format!("{table:?} {key:?} {latest:?}\n")
    })
    .collect()
}

/// All that a replica of a cluster knows.
fn state(data: &Path) -> String {
    let store = StoreIncarnation("0f1e2d3c4b5a69788796a5b4c3d2e1f0".parse().expect("32 digits"));
    let (own, shard) = (ReplicaId(1), ShardId(0));
    // Of no later use: the directory says who was of the first group.
    let group = Group::alone(shard, own);
    let opened = open_replica(data, (store, own, &group), Start::Again, Durability::Fsync, &Faults::default());
    let OpenReplica { recovery, first_group, journal: _ } = opened.expect("it is whole");
    assert!(!recovery.checkpoint_chunks.is_empty() && !recovery.records.is_empty(), "both are to be read");
    let settings = ReplicaSettings {
        id: own,
        group: first_group.clone(),
        ..ReplicaSettings::alone(store, Boot(1), Retention::default())
    };
    let records = recovery.records.iter().map(|record| &record.bytes);
    let replica = Replica::recover(settings, &recovery.checkpoint_chunks, records).expect("they are a replica's");
    let (figures, group) = (replica.figures(), replica.group());
    let mut text = format!(
        "at first {first_group:?}\nnow {group:?}\nview {:?}\ncomplete {:?}\nclients {}\noutcomes {}\nundecided {}\n",
        figures.view, figures.complete, figures.clients, figures.completions, figures.undecided
    );
    for entry in replica.recorded() {
        text += &format!("{:?} {:?} {:?} {:?}\n", entry.id, entry.vote, entry.finalised, entry.outcome);
    }
    text + &rows_of(&replica)
}

/// A copy of a format's data, for this process to change.
fn copy_of(format: &str) -> PathBuf {
    let copy = std::env::temp_dir().join(format!("iolite-released-{format}-{}", std::process::id()));
    copy_files(&released(format).join("data"), &copy);
    copy
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for file in fs::read_dir(from).expect("it is there") {
        let path = file.expect("it is there").path();
        fs::copy(&path, to.join(path.file_name().expect("a file"))).expect("a copy");
    }
}

#[test]
fn the_first_journal_opens() {
    let copy = copy_of("journal-1");
    let expected = fs::read_to_string(released("journal-1").join("rows.txt")).expect("it is there");
    let found = rows(&copy);
    fs::remove_dir_all(&copy).expect("it was made here");
    assert_eq!(found, expected);
}

#[test]
fn the_first_store_of_a_cluster_opens() {
    let copy = copy_of("store-1");
    let expected = fs::read_to_string(released("store-1").join("state.txt")).expect("it is there");
    let found = state(&copy);
    fs::remove_dir_all(&copy).expect("it was made here");
    assert_eq!(found, expected);
}

#[tokio::test]
#[ignore = "makes a folder beside the released ones, for the next release to open"]
async fn a_store_is_made() {
    let folder = released("made");
    let _ = fs::remove_dir_all(&folder);
    let all = std::env::temp_dir().join(format!("iolite-making-{}", std::process::id()));
    making::make(&all).await;
    copy_files(&all.join("store-1"), &folder.join("data"));
    fs::write(folder.join("state.txt"), state(&all.join("store-1"))).expect("beside it");
    fs::remove_dir_all(&all).expect("it was made here");
}
