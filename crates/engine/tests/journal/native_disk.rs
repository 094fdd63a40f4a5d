//! The journal on real files.

use std::path::PathBuf;

use crate::scene::{self, open, record, restore, small_segments, state_after};
use iolite_engine::{Disk, Incarnation, Journal, NativeDisk, NativeDiskError};

/// A directory that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Scratch(path)
    }

    fn disk(&self) -> NativeDisk {
        NativeDisk::open(self.0.join("data")).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_store_on_real_files_comes_back_through_segments_checkpoints_and_a_torn_tail() {
    let scratch = Scratch::new("journal");
    let (mut journal, _) = open(scratch.disk());
    for version in 1..=30 {
        journal.append(&record(version, 200)).unwrap();
        journal.sync().unwrap();
        if version == 15 {
            journal.begin_checkpoint().unwrap();
            journal.checkpoint_chunk(&scene::chunk(&state_after(15), 0..scene::KEYS)).unwrap();
            journal.finish_checkpoint().unwrap();
        }
    }
    let mut disk = journal.into_disk();
    let last = disk.list().unwrap().pop().unwrap();
    disk.append(&last, b"half a fra").unwrap();
    drop(disk);
    let (journal, recovery) = open(scratch.disk());
    assert_eq!(recovery.torn_tail.as_ref().map(|tail| tail.bytes), Some(10));
    assert_eq!(restore(&recovery, None), (state_after(30), Some(30)));
    assert_eq!(recovery.records[0].position.0, 16);
    drop(journal);
    assert_eq!(open(scratch.disk()).1.torn_tail, None);
}

#[test]
fn a_data_directory_in_use_is_refused_until_it_is_left() {
    let scratch = Scratch::new("lock");
    let disk = scratch.disk();
    let refused = NativeDisk::open(disk.directory()).unwrap_err();
    assert!(matches!(refused, NativeDiskError::InUse { .. }));
    assert!(refused.to_string().contains("in use by another process"), "{refused}");
    drop(disk);
    scratch.disk();
}

#[test]
fn a_directory_that_cannot_be_made_is_a_clear_error() {
    let scratch = Scratch::new("file");
    std::fs::create_dir_all(&scratch.0).unwrap();
    let file = scratch.0.join("a-file");
    std::fs::write(&file, b"").unwrap();
    assert!(matches!(NativeDisk::open(file.join("data")), Err(NativeDiskError::Io { .. })));
}

#[test]
fn the_lock_and_folders_are_not_listed() {
    let scratch = Scratch::new("list");
    let disk = scratch.disk();
    std::fs::create_dir(disk.directory().join("0000000000000001.segment")).unwrap();
    assert_eq!(disk.list().unwrap(), Vec::<String>::new());
    assert!(Journal::open(disk, small_segments(), Incarnation(1)).is_err(), "its own name is taken by a folder");
}

#[test]
fn both_disks_answer_alike() {
    let scratch = Scratch::new("alike");
    let disks: [Box<dyn Disk>; 2] = [Box::new(scratch.disk()), Box::new(iolite_engine::MemoryDisk::new())];
    for mut disk in disks {
        disk.append("a", b"hello").unwrap();
        disk.append("b", b"").unwrap();
        disk.sync("a").unwrap();
        disk.append("a", b" there").unwrap();
        assert_eq!(disk.list().unwrap(), ["a", "b"]);
        assert_eq!(disk.read("a").unwrap(), b"hello there");
        assert_eq!(disk.read_range("a", 6, 3).unwrap(), b"the");
        assert_eq!(disk.read_range("a", 9, 30).unwrap(), b"re");
        assert_eq!(disk.read_range("a", 90, 30).unwrap(), b"");
        disk.truncate("a", 2).unwrap();
        disk.append("a", b"y").unwrap();
        assert_eq!((disk.read("a").unwrap(), disk.length("a").unwrap()), (b"hey".to_vec(), 3));
        disk.remove("b").unwrap();
        disk.sync_directory().unwrap();
        assert_eq!(disk.list().unwrap(), ["a"]);
        assert_eq!(disk.read("b").unwrap_err().kind(), std::io::ErrorKind::NotFound);
        assert_eq!(disk.length("b").unwrap_err().kind(), std::io::ErrorKind::NotFound);
        assert_eq!(disk.remove("b").unwrap_err().kind(), std::io::ErrorKind::NotFound);
    }
}
