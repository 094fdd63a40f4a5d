//! The journal on real files.

use std::path::{Path, PathBuf};

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

/// A thing that somebody does to a data directory.
type Harm = Box<dyn Fn(&Path)>;

/// A store with two segments and a checkpoint, of which everything is durable.
fn busy(scratch: &Scratch) -> Journal<NativeDisk> {
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
    journal.look().unwrap();
    journal
}

#[test]
fn what_a_restart_would_not_find_is_never_called_durable() {
    let replaced: fn(&Path) = |file| {
        let aside = file.with_extension("aside");
        std::fs::copy(file, &aside).unwrap();
        std::fs::rename(aside, file).unwrap();
    };
    let last = |data: &Path, ending: &str| {
        let files = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|file| file.extension().is_some_and(|own| own == ending)).max().unwrap()
    };
    let harms: [(&str, &str, Harm); 9] = [
        ("removed", "data was removed", Box::new(|data| std::fs::remove_dir_all(data).unwrap())),
        (
            "renamed",
            "data was removed or renamed",
            Box::new(|data| std::fs::rename(data, data.with_extension("old")).unwrap()),
        ),
        (
            "anew",
            "data was replaced",
            Box::new(|data| {
                std::fs::rename(data, data.with_extension("old")).unwrap();
                std::fs::create_dir(data).unwrap();
            }),
        ),
        (
            "removed-anew",
            "data was replaced",
            Box::new(|data| {
                std::fs::remove_dir_all(data).unwrap();
                drop(NativeDisk::open(data).unwrap());
            }),
        ),
        (
            "link",
            "data was replaced",
            Box::new(|data| {
                std::fs::rename(data, data.with_extension("old")).unwrap();
                std::fs::create_dir(data.with_extension("other")).unwrap();
                std::os::unix::fs::symlink(data.with_extension("other"), data).unwrap();
            }),
        ),
        ("lock", "LOCK was removed", Box::new(|data| std::fs::remove_file(data.join("LOCK")).unwrap())),
        ("other-lock", "LOCK was replaced", Box::new(move |data| replaced(&data.join("LOCK")))),
        ("segment", "segment was removed", Box::new(move |data| std::fs::remove_file(last(data, "segment")).unwrap())),
        ("other-segment", "segment was replaced", Box::new(move |data| replaced(&last(data, "segment")))),
    ];
    for (name, told, harm) in harms {
        let scratch = Scratch::new(&format!("gone-{name}"));
        let mut journal = busy(&scratch);
        let durable = journal.durable();
        harm(&scratch.0.join("data"));
        journal.append(&record(31, 200)).unwrap();
        let error = journal.sync().expect_err(name).to_string();
        assert!(error.contains(told) && error.contains("a restart would not find"), "{name}: {error}");
        assert_eq!(journal.durable(), durable, "{name}");
        assert!(journal.append(&record(32, 200)).is_err() && journal.look().is_err(), "{name}: it is final");
    }
}

/// Closed segments and checkpoints are not written any more, so no sync tells of them.
#[test]
fn a_look_at_all_files_finds_what_is_missing_although_nothing_is_written() {
    let closed = |files: &[String], ending: &str| files.iter().find(|name| name.ends_with(ending)).unwrap().clone();
    for (name, ending) in [("closed", "segment"), ("checkpoint", "checkpoint"), ("lock", "LOCK"), ("data", "")] {
        let scratch = Scratch::new(&format!("look-{name}"));
        let mut journal = busy(&scratch);
        let data = scratch.0.join("data");
        match ending {
            "" => std::fs::remove_dir_all(&data).unwrap(),
            "LOCK" => std::fs::remove_file(data.join("LOCK")).unwrap(),
            ending => std::fs::remove_file(data.join(closed(&journal.disk().list().unwrap(), ending))).unwrap(),
        }
        let error = journal.look().expect_err(name).to_string();
        assert!(error.contains("removed or renamed"), "{name}: {error}");
    }
    let scratch = Scratch::new("look-shorter");
    let mut journal = busy(&scratch);
    let oldest = scratch.0.join("data").join(closed(&journal.disk().list().unwrap(), "segment"));
    std::fs::OpenOptions::new().write(true).open(oldest).unwrap().set_len(10).unwrap();
    assert!(journal.look().unwrap_err().to_string().contains("has 10 bytes"));
}

/// A directory that somebody else has put there stays as it is: no file is made in it or removed.
#[test]
fn a_checkpoint_touches_no_other_directory_at_its_place() {
    for finishes in [false, true] {
        let scratch = Scratch::new(&format!("checkpoint-elsewhere-{finishes}"));
        let (data, aside) = (scratch.0.join("data"), scratch.0.join("aside"));
        let mut journal = busy(&scratch);
        if finishes {
            journal.begin_checkpoint().unwrap();
            journal.checkpoint_chunk(&scene::chunk(&state_after(30), 0..scene::KEYS)).unwrap();
        }
        std::fs::rename(&data, &aside).unwrap();
        std::fs::create_dir(&data).unwrap();
        for entry in std::fs::read_dir(&aside).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), data.join(entry.file_name())).unwrap();
        }
        let names = || {
            let files = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name());
            files.collect::<std::collections::BTreeSet<_>>()
        };
        let before = names();
        let done = if finishes { journal.finish_checkpoint().map(drop) } else { journal.begin_checkpoint() };
        assert!(done.unwrap_err().to_string().contains("a restart would not find"));
        assert_eq!(names(), before);
    }
}
