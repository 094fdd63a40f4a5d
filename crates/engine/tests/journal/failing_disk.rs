//! A disk that reports an error, limits, and the classes of durability.

use crate::scene::{choices, open};
use iolite_engine::{
    AppendError, CheckpointError, CrashFault, Durability, Incarnation, Journal, MemoryDisk, Options, RECORD_BYTES_MAX,
};
use iolite_machine::PersistId;

/// The disk says that a second sync worked, as Linux does. It did not.
#[test]
fn a_failed_sync_is_final() {
    let (mut journal, _) = open(MemoryDisk::new());
    journal.append(b"kept").unwrap();
    assert_eq!(journal.sync().unwrap(), PersistId(1));
    journal.append(b"lost").unwrap();
    journal.disk_mut().fail_next_sync();
    journal.sync().unwrap_err();
    assert_eq!(journal.durable(), PersistId(1));
    let message = journal.sync().unwrap_err().to_string();
    assert!(message.contains("cannot sync 0000000000000001.segment") && message.contains("restart"), "{message}");
    assert!(matches!(journal.append(b"more"), Err(AppendError::Failed(_))));
    assert!(matches!(journal.begin_checkpoint(), Err(CheckpointError::Failed(_))));
    journal.flush().unwrap_err();
    let mut disk = journal.into_disk();
    disk.crash(&[CrashFault::LostWrites], &mut |_| 0);
    assert_eq!(open(disk).1.records.len(), 1);
}

#[test]
fn a_failed_write_is_final() {
    let (mut journal, _) = open(MemoryDisk::new());
    journal.append(b"lost").unwrap();
    journal.disk_mut().power_off_after(0);
    journal.flush().unwrap_err();
    journal.disk_mut().crash(&[], &mut choices(1));
    journal.sync().unwrap_err();
    assert_eq!(journal.durable(), PersistId::START);
}

#[test]
fn a_record_at_the_limit_is_taken_and_one_above_is_refused() {
    let (mut journal, _) = open(MemoryDisk::new());
    let at_limit = vec![7; RECORD_BYTES_MAX];
    let refused = journal.append(&vec![7; RECORD_BYTES_MAX + 1]);
    assert!(matches!(refused, Err(AppendError::RecordTooLarge { .. })));
    journal.begin_checkpoint().unwrap();
    let refused = journal.checkpoint_chunk(&vec![7; RECORD_BYTES_MAX + 1]);
    assert!(matches!(refused, Err(CheckpointError::ChunkTooLarge { .. })));
    journal.append(&at_limit).unwrap();
    journal.checkpoint_chunk(&at_limit).unwrap();
    journal.finish_checkpoint().unwrap();
    let recovery = open(journal.into_disk()).1;
    assert_eq!(recovery.records[0].bytes, at_limit);
    assert_eq!(recovery.checkpoint_chunks, [at_limit]);
}

#[test]
fn the_steps_of_a_checkpoint_out_of_order_are_refused_and_harm_nothing() {
    let (mut journal, _) = open(MemoryDisk::new());
    assert!(matches!(journal.checkpoint_chunk(b"x"), Err(CheckpointError::NotBegun)));
    assert!(matches!(journal.finish_checkpoint(), Err(CheckpointError::NotBegun)));
    journal.begin_checkpoint().unwrap();
    assert!(matches!(journal.begin_checkpoint(), Err(CheckpointError::AlreadyBegun)));
    journal.checkpoint_chunk(b"x").unwrap();
    journal.finish_checkpoint().unwrap();
    assert_eq!(open(journal.into_disk()).1.checkpoint_chunks, [b"x"]);
}

#[test]
fn class_memory_syncs_nothing_and_says_so() {
    let options = Options { durability: Durability::Memory, ..Options::default() };
    let (mut journal, _) = Journal::open(MemoryDisk::new(), options, Incarnation(1)).unwrap();
    assert_eq!(journal.durability().name(), "memory");
    journal.append(b"a record").unwrap();
    assert_eq!(journal.sync().unwrap(), PersistId(1));
    let bytes = journal.disk().files()["0000000000000001.segment"].len();
    assert_eq!(bytes, 48 + 17 + 8, "a header and a record, and no mark that claims a sync");
    journal.begin_checkpoint().unwrap();
    journal.finish_checkpoint().unwrap();
    let mut disk = journal.into_disk();
    disk.crash(&[], &mut choices(1));
    let (journal, _) = Journal::open(disk, options, Incarnation(2)).unwrap();
    assert_eq!(journal.incarnation(), Incarnation(1), "a killed process loses nothing");
    let mut disk = journal.into_disk();
    disk.power_off_after(u64::MAX);
    let (mut journal, _) = Journal::open(disk, options, Incarnation(2)).unwrap();
    journal.disk_mut().fail_next_sync();
    journal.append(b"a record").unwrap();
    journal.sync().expect("no sync is ever asked for");
}

#[test]
fn appends_since_the_last_sync_share_the_next_one() {
    let (mut journal, _) = open(MemoryDisk::new());
    for _ in 0..50 {
        journal.append(b"a record").unwrap();
    }
    // One append of the whole batch, one sync, one append of the mark.
    journal.disk_mut().power_off_after(3);
    assert_eq!(journal.sync().unwrap(), PersistId(50));
    // Nothing new: the disk is not asked.
    assert_eq!(journal.sync().unwrap(), PersistId(50));
    assert!(!journal.disk().is_off());
}
