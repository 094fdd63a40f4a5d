//! What records promise beyond reading back.

use iolite_values::{
    Attempt, Cell, ClientId, ColumnId, CoordinatorId, Counter, DeviceSecret, Id, Level, Operation, RowKey, SchemaHash,
    TableId, Timestamp, TransactionId, Value, Write,
};
use iolite_wire::client_storage::{Bound, FORMAT_VERSION, StoredMeta};
use iolite_wire::journal::{
    CheckpointChunk, CheckpointMeta, Completed, CompletedDecision, JOURNAL_VERSION, JournalRecord,
};
use iolite_wire::node::{Ballot, Outcome, ProposalId, RecordPart, RecordedEntry, Term, View, Vote};
use iolite_wire::{DecodeError, limits};

/// The version is the first field of each: a tag of one byte, and the number.
fn of_version(mut bytes: Vec<u8>, version: u32) -> Vec<u8> {
    assert_eq!(bytes[0], 8);
    bytes[1] = u8::try_from(version).expect("small");
    bytes
}

#[test]
fn records_of_a_newer_release_are_told_apart_from_damaged_ones() {
    let at = Timestamp::from_u64(7);
    let record = JournalRecord::Ceiling(at).encode().expect("small");
    let meta = CheckpointMeta { low_watermark: at, ceiling: at, reads_through: at };
    let chunk = CheckpointChunk::Meta(meta).encode().expect("small");
    let stored = StoredMeta {
        device: ClientId::default(),
        next_counter: Counter(1),
        store: None,
        at,
        acknowledged: Counter(0),
        user: "ada".into(),
        schema: SchemaHash([0; 16]),
        secret: Some(DeviceSecret([1; 16])),
        others_know_client: true,
        unsent_after: None,
        centre_token: None,
        bound: Some(Bound { client: ClientId::default(), subject: None }),
        rights: None,
    };
    let stored = stored.encode().expect("small");

    let newer = |version| Some(DecodeError::UnknownVersion { version: version + 1 });
    let journal = of_version(record.clone(), JOURNAL_VERSION + 1);
    assert_eq!(JournalRecord::decode(&journal).err(), newer(JOURNAL_VERSION));
    assert_eq!(CheckpointChunk::decode(&of_version(chunk, JOURNAL_VERSION + 1)).err(), newer(JOURNAL_VERSION));
    assert_eq!(StoredMeta::decode(&of_version(stored.clone(), FORMAT_VERSION + 1)).err(), newer(FORMAT_VERSION));
    for known in 1..=FORMAT_VERSION {
        assert_eq!(StoredMeta::decode(&of_version(stored.clone(), known)), StoredMeta::decode(&stored));
    }
    let fresh = StoredMeta { others_know_client: false, ..StoredMeta::decode(&stored).expect("own") };
    let before = StoredMeta::decode(&of_version(fresh.encode().expect("small"), 3)).expect("older ones are read");
    assert!(before.others_know_client, "an older version drew ids from the client's own");
    let unbound = StoredMeta { bound: None, ..fresh }.encode().expect("small");
    let bound = |version| StoredMeta::decode(&of_version(unbound.clone(), version)).expect("it is read").bound;
    assert_eq!(bound(7), before.bound, "an older version was known by what its device drew");
    assert_eq!(bound(FORMAT_VERSION), None, "it was never welcomed");
    let none = JournalRecord::decode(&of_version(record.clone(), 0));
    assert!(matches!(none, Err(DecodeError::Malformed { .. })), "{none:?}");
    assert_eq!(JournalRecord::decode(&record[..record.len() - 1]), Err(DecodeError::Truncated));
}

/// A frame of a client may say thousands of cells by their numbers; the journal has to say them in full.
#[test]
fn the_largest_submission_fits_into_the_journal() {
    let cell = |number: usize| {
        let row = RowKey::new(&[Value::bytes(vec![1; RowKey::MAX_BYTES - 2])]).expect("the longest key");
        Cell { table: TableId(number as u32), row, column: ColumnId(1) }
    };
    let writes = (0..limits::FROM_CLIENT.parts.most).map(|at| Write { cell: cell(at), operation: Operation::Add(1) });
    let record = JournalRecord::Completed(Completed {
        transaction: TransactionId { client: ClientId(Id::from_u128(1)), counter: Counter(1) },
        attempt: Attempt(1),
        at: Timestamp::MAX,
        decision: CompletedDecision::Committed(writes.collect()),
        level: Level::Strict,
        is_home: true,
    });
    let bytes = record.encode().expect("it fits");
    assert!(bytes.len() + limits::FROM_CLIENT.bytes.most < limits::JOURNAL_RECORD.bytes.most);
    assert_eq!(JournalRecord::decode(&bytes), Ok(record));
}

/// A replica counts 32 bytes for an entry without its proposal, and cuts at 1 MiB.
#[test]
fn the_longest_part_of_a_master_record_fits_into_the_journal() {
    let by = CoordinatorId::new(CoordinatorId::MAX).expect("the last one");
    let ballot = Ballot { number: u32::MAX, by, term: Term(u32::MAX) };
    let id = ProposalId { at: Timestamp::MAX, transaction: TransactionId::default(), attempt: Attempt(1) };
    let (vote, finalised, promised, outcome) = (Vote::No, Some(ballot), ballot, Some(Outcome::Aborted));
    let entry = RecordedEntry { id, proposal: None, vote, finalised, promised, outcome };
    let entries = vec![entry; (1 << 20) / 32];
    let part = RecordPart { barrier: Timestamp::MAX, entries, ..RecordPart::empty(View::default()) };
    let record = JournalRecord::Master(part);
    assert_eq!(JournalRecord::decode(&record.encode().expect("it fits")), Ok(record));
}
