//! Directories in which something is wrong: refused and untouched, or harmless.

use std::collections::BTreeMap;

use crate::scene::{self, State, choices, chunk, record, restore, small_segments, state_after};
use iolite_engine::{Damage, Incarnation, Journal, MemoryDisk, OpenError, Recovery};
use proptest::prelude::*;

type Files = BTreeMap<String, Vec<u8>>;

/// Enough for one segment behind the checkpoint, and for several.
const SHORT: u64 = 14;
const LONG: u64 = 22;

/// Segments, a complete checkpoint, and the older files that it replaces, as a crash right before their removal leaves them.
fn directory(older: Older, records: u64) -> Files {
    let (mut journal, _) = scene::open(MemoryDisk::new());
    let mut versions = 1..=records;
    let mut append = |journal: &mut Journal<MemoryDisk>, count: usize| {
        for version in versions.by_ref().take(count) {
            journal.append(&record(version, 20 * version as usize)).unwrap();
            journal.sync().unwrap();
        }
    };
    append(&mut journal, 10);
    let before = journal.disk().files();
    journal.begin_checkpoint().unwrap();
    append(&mut journal, 2);
    journal.checkpoint_chunk(&chunk(&state_after(12), 0..4)).unwrap();
    journal.checkpoint_chunk(&chunk(&state_after(12), 4..scene::KEYS)).unwrap();
    journal.finish_checkpoint().unwrap();
    append(&mut journal, records as usize - 12);
    let mut files = journal.disk().files();
    match older {
        Older::Removed => {}
        Older::Kept => files.extend(before),
    }
    files
}

#[derive(Clone, Copy)]
enum Older {
    Removed,
    Kept,
}

/// Opens `files`; a refusal must leave them as they were.
fn try_open(files: &Files) -> Result<Recovery, OpenError> {
    let mut disk = MemoryDisk::with_files(files.clone());
    let outcome = Journal::open(&mut disk, small_segments(), Incarnation(2)).map(|(_, recovery)| recovery);
    if outcome.is_err() {
        assert_eq!(&disk.files(), files, "a refused directory is untouched");
    }
    outcome
}

fn state_of(recovery: &Recovery) -> State {
    assert_eq!(recovery.incarnation, Incarnation(0xfeed));
    restore(recovery, None).0
}

#[test]
fn a_flipped_bit_anywhere_is_refused_or_harmless() {
    for (files, last) in
        [(directory(Older::Removed, LONG), LONG), (directory(Older::Kept, SHORT), SHORT), (young_store(), 1)]
    {
        assert_eq!(state_of(&try_open(&files).unwrap()), state_after(last));
        let mut refused = 0;
        for (name, bytes) in &files {
            for at in 0..bytes.len() {
                let mut harmed = files.clone();
                harmed.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
                match try_open(&harmed) {
                    Ok(recovery) => assert_eq!(state_of(&recovery), state_after(last), "byte {at} of {name}"),
                    Err(OpenError::Damaged { file, .. } | OpenError::UnknownVersion { file, .. }) => {
                        assert_eq!(&file, name, "the refusal names the file, byte {at}");
                        refused += 1;
                    }
                    Err(other) => panic!("byte {at} of {name}: {other}"),
                }
            }
        }
        assert!(refused > 90, "only {refused} were refused");
    }
}

/// One segment, and no checkpoint yet.
fn young_store() -> Files {
    let (mut journal, _) = scene::open(MemoryDisk::new());
    journal.append(&record(1, 20)).unwrap();
    journal.sync().unwrap();
    journal.disk().files()
}

#[test]
fn a_file_cut_anywhere_is_refused_or_harmless_or_the_torn_end_of_the_last_segment() {
    for (older, records) in [(Older::Removed, LONG), (Older::Kept, SHORT)] {
        let files = directory(older, records);
        let last = files.keys().rfind(|name| name.ends_with(".segment")).unwrap();
        for (name, bytes) in &files {
            for length in 0..bytes.len() {
                let mut harmed = files.clone();
                harmed.get_mut(name).unwrap().truncate(length);
                match try_open(&harmed) {
                    Ok(recovery) if name == last => {
                        let (state, last) = restore(&recovery, None);
                        assert!(last.is_none_or(|last| state == state_after(last)), "{name} cut to {length}");
                    }
                    Ok(recovery) => assert_eq!(state_of(&recovery), state_after(records), "{name} cut to {length}"),
                    Err(OpenError::Damaged { file, .. }) if &file == name => {}
                    // Cut between two frames: the next segment does not begin where this one ends.
                    Err(OpenError::Damaged { damage: Damage::Foreign, .. }) => {}
                    Err(other) => panic!("{name} cut to {length}: {other}"),
                }
            }
        }
    }
}

#[test]
fn a_checkpoint_whose_segment_lost_its_header_is_refused() {
    let (mut journal, _) = scene::open(MemoryDisk::new());
    journal.begin_checkpoint().unwrap();
    journal.finish_checkpoint().unwrap();
    for length in 0..48 {
        let mut files = journal.disk().files();
        files.get_mut("0000000000000002.segment").unwrap().truncate(length);
        assert!(matches!(try_open(&files), Err(OpenError::Damaged { damage: Damage::Header, .. })));
    }
}

#[test]
fn a_later_segment_alone_is_not_a_new_store() {
    for bytes in [b"".to_vec(), b"IOLITEJ\n".to_vec()] {
        let files = Files::from([("0000000000000002.segment".to_owned(), bytes)]);
        assert!(matches!(try_open(&files), Err(OpenError::Missing { .. })));
    }
}

#[test]
fn a_checkpoint_alone_is_not_a_new_store() {
    let mut files = directory(Older::Removed, SHORT);
    files.retain(|name, _| name.ends_with(".checkpoint"));
    assert!(matches!(try_open(&files), Err(OpenError::Missing { .. })));
}

#[test]
fn a_damaged_record_without_a_byte_of_payload_is_refused() {
    let (mut journal, _) = scene::open(MemoryDisk::new());
    journal.append(b"").unwrap();
    journal.sync().unwrap();
    let mut files = journal.disk().files();
    files.get_mut("0000000000000001.segment").unwrap()[48 + 17] ^= 1;
    assert!(matches!(try_open(&files), Err(OpenError::Damaged { offset: 65, damage: Damage::Frame, .. })));
}

#[test]
fn damage_to_what_only_a_recovery_made_durable_is_refused() {
    let (mut journal, _) = scene::open(MemoryDisk::new());
    journal.append(&record(1, 20)).unwrap();
    journal.flush().unwrap();
    let (journal, _) = scene::open(journal.into_disk());
    let mut files = journal.disk().files();
    files.get_mut("0000000000000001.segment").unwrap()[48 + 17 + 30] ^= 1;
    assert!(matches!(try_open(&files), Err(OpenError::Damaged { offset: 65, damage: Damage::Frame, .. })));
}

#[test]
fn the_refusal_names_the_byte_at_which_the_damaged_frame_starts() {
    let (mut journal, _) = scene::open(MemoryDisk::new());
    for version in 1..=2 {
        journal.append(&record(version, 0)).unwrap();
    }
    journal.sync().unwrap();
    let mut files = journal.disk().files();
    // 48 bytes of header, 17 of the mark of its creation, 17 + 8 of the first record, then the second.
    files.get_mut("0000000000000001.segment").unwrap()[48 + 17 + 25 + 20] ^= 1;
    let refused = try_open(&files).unwrap_err();
    assert!(
        matches!(&refused, OpenError::Damaged { file, offset: 90, damage: Damage::Frame } if file == "0000000000000001.segment"),
        "{refused}"
    );
}

#[test]
fn a_missing_file_is_refused() {
    for (older, records) in [(Older::Removed, LONG), (Older::Kept, SHORT)] {
        let files = directory(older, records);
        let last = files.keys().rfind(|name| name.ends_with(".segment")).unwrap();
        for name in files.keys() {
            let mut fewer = files.clone();
            fewer.remove(name);
            match try_open(&fewer) {
                Ok(recovery) if name == last && !recovery.records.is_empty() => {
                    // Nothing tells that a last segment was there once.
                    assert_eq!(restore(&recovery, None).1, recovery.records.last().map(|found| found.position.0));
                }
                Ok(recovery) => assert_eq!(state_of(&recovery), state_after(records), "without {name}"),
                Err(OpenError::Missing { .. } | OpenError::Damaged { .. }) => {}
                Err(other) => panic!("without {name}: {other}"),
            }
        }
    }
}

#[test]
fn another_format_version_is_refused_untouched() {
    for name in ["0000000000000001.segment", "0000000000000009.checkpoint"] {
        for rest in [&b""[..], b"a layout that this version does not know, and that may be longer than its own header"]
        {
            let magic: &[u8] = if name.ends_with("segment") { b"IOLITEJ\n" } else { b"IOLITEC\n" };
            let mut files = directory(Older::Removed, SHORT);
            files.insert(name.to_owned(), [magic, &[9, 0, 0, 0], rest].concat());
            let refused = try_open(&files).unwrap_err();
            assert!(matches!(&refused, OpenError::UnknownVersion { file, version: 9 } if file == name), "{refused}");
        }
    }
}

#[test]
fn files_of_two_stores_are_refused() {
    let mut files = directory(Older::Removed, SHORT);
    let (other, _) = Journal::open(MemoryDisk::new(), small_segments(), Incarnation(3)).unwrap();
    files.extend(other.disk().files());
    assert!(matches!(try_open(&files), Err(OpenError::Damaged { damage: Damage::Foreign, .. })));
}

#[test]
fn files_of_others_are_left_alone() {
    let mut files = directory(Older::Removed, SHORT);
    files.insert("notes.txt".to_owned(), b"mine".to_vec());
    let mut disk = MemoryDisk::with_files(files);
    Journal::open(&mut disk, small_segments(), Incarnation(2)).unwrap();
    assert_eq!(disk.files()["notes.txt"], b"mine");
}

/// A record that holds a whole segment, marks and all, is torn: nothing inside it counts.
#[test]
fn marks_inside_a_torn_record_are_not_believed() {
    let (mut journal, _) = scene::open(MemoryDisk::new());
    journal.append(b"first").unwrap();
    journal.sync().unwrap();
    let inside = journal.disk().files()["0000000000000001.segment"].clone();
    journal.append(&inside).unwrap();
    journal.flush().unwrap();
    let mut files = journal.disk().files();
    let bytes = files.get_mut("0000000000000001.segment").unwrap();
    bytes.pop();
    let recovery = try_open(&files).unwrap();
    assert_eq!(recovery.records.len(), 1);
    let tail = recovery.torn_tail.expect("the second record was torn");
    assert_eq!((tail.offset, tail.bytes), (inside.len() as u64, 17 + inside.len() as u64 - 1));
}

#[test]
fn a_tail_of_zeros_is_cut_off() {
    let (mut journal, _) = scene::open(MemoryDisk::new());
    journal.append(b"first").unwrap();
    journal.sync().unwrap();
    let mut files = journal.disk().files();
    files.get_mut("0000000000000001.segment").unwrap().extend([0; 5_000]);
    let mut disk = MemoryDisk::with_files(files);
    let (mut journal, recovery) = Journal::open(&mut disk, small_segments(), Incarnation(2)).unwrap();
    assert_eq!(recovery.torn_tail.unwrap().bytes, 5_000);
    journal.append(b"second").unwrap();
    journal.sync().unwrap();
    let records = scene::open(disk).1.records;
    assert_eq!(records.iter().map(|found| found.bytes.as_slice()).collect::<Vec<_>>(), [&b"first"[..], b"second"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn random_files_are_opened_or_refused_without_a_panic(
        noise in proptest::collection::vec(any::<u8>(), 0..400),
        keep_bytes in 0_usize..300,
        which in any::<proptest::sample::Index>(),
        seed in any::<u64>(),
    ) {
        let mut files = directory(Older::Kept, SHORT);
        let name = which.get(&files.keys().cloned().collect::<Vec<_>>()).clone();
        let bytes = files.get_mut(&name).unwrap();
        let at = choices(seed)(bytes.len() as u64) as usize;
        bytes.truncate(at.max(keep_bytes));
        bytes.extend(noise);
        if let Ok(recovery) = try_open(&files) {
            let (state, _) = restore(&recovery, None);
            prop_assert!((0..=SHORT).any(|last| state == state_after(last)));
        }
    }
}
