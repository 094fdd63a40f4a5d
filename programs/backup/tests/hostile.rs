//! Whatever a file of a backup says, its decoder gives an error or what was written: it neither panics nor takes much memory.

use std::collections::BTreeMap;

use iolite_backup::{
    CHUNKS_AT_ONCE, ChunksSummary, ClientsSummary, FORMAT_VERSION, FormatError, LACKING_TOLD_MAX, MANIFEST_BYTES_MAX,
    Manifest, ManifestError, NAMES_MAX, PART_BYTES_MAX, PARTS_MAX, Part, PartKind, PartSummary, PartWriter,
    READS_OPEN_MAX, StoredChunk, TableSummary,
};
use iolite_values::{
    Attempt, CellState, ChunkId, ClientId, ColumnId, Counter, Cutting, Id, LeaseName, Row, RowKey, TableId, Timestamp,
    Value,
};
use iolite_wire::client_storage::StoredRow;
use iolite_wire::journal::{CheckpointChunk, CheckpointClient, CheckpointMeta, Completion, Settled};
use proptest::prelude::*;

fn rows() -> Vec<StoredRow> {
    let row = |number: i64| {
        let key = RowKey::new(&[Value::Int(number)]).expect("short");
        let cells = [(ColumnId(1), CellState::Scalar(Value::from("text")))];
        StoredRow { table: TableId(7), key, row: Row::from_parts(true, cells) }
    };
    (0..20).map(row).collect()
}

fn clients() -> Vec<CheckpointClient> {
    let completion = Completion { attempt: Attempt(2), at: Timestamp::from_u64(3), settled: Settled::Aborted };
    let client = |number: u128| CheckpointClient {
        client: ClientId(Id::from_u128(number)),
        acknowledged: Counter(4),
        completions: BTreeMap::from([(Counter(5), completion)]),
    };
    (0..20).map(client).collect()
}

fn chunks() -> Vec<StoredChunk> {
    (0..20).map(|number| chunk(vec![number; 50])).collect()
}

fn chunk(content: Vec<u8>) -> StoredChunk {
    StoredChunk { lease: LeaseName(Id::from_u128(9)), chunk: ChunkId::of(&content), content }
}

fn parts() -> Vec<(Vec<u8>, Part)> {
    let mut of_rows = PartWriter::new(PartKind::Rows);
    rows().iter().for_each(|row| of_rows.push(&row.encode().expect("small")));
    let mut of_clients = PartWriter::new(PartKind::Clients);
    for client in clients() {
        of_clients.push(&CheckpointChunk::Clients(vec![client]).encode().expect("small"));
    }
    let mut of_chunks = PartWriter::new(PartKind::Chunks);
    chunks().iter().for_each(|chunk| of_chunks.push(&chunk.encode()));
    vec![
        (of_rows.finish(), Part::Rows(rows())),
        (of_clients.finish(), Part::Clients(clients())),
        (of_chunks.finish(), Part::Chunks(chunks())),
    ]
}

fn manifest() -> Manifest {
    let sha256 = "00".repeat(32);
    let part = PartSummary {
        name: "part-00000000".into(),
        kind: PartKind::Rows,
        records: 1,
        bytes: 2,
        sha256: sha256.clone(),
    };
    Manifest {
        format: FORMAT_VERSION,
        backup: Id::from_u128(1),
        store: Id::from_u128(2),
        at: u64::MAX,
        at_unix_ms: 3,
        program: "0.1.0".into(),
        tables: vec![TableSummary { name: "t".into(), rows: 1, sha256: sha256.clone() }],
        clients: ClientsSummary { records: 0, sha256 },
        chunks: ChunksSummary { chunks: 3, bytes: 4, lacking: 5 },
        parts: vec![part],
    }
}

#[test]
fn what_was_written_reads_back() {
    for (bytes, part) in parts() {
        assert_eq!(Part::decode(&bytes), Ok(part));
    }
    assert_eq!(Manifest::decode(&manifest().encode()), Ok(manifest()));
}

#[test]
fn a_part_that_is_cut_off_anywhere_is_an_error_or_ends_at_a_record() {
    for (bytes, part) in parts() {
        let count = |part: &Part| match part {
            Part::Rows(rows) => rows.len(),
            Part::Clients(clients) => clients.len(),
            Part::Chunks(chunks) => chunks.len(),
        };
        let whole = (0..bytes.len()).filter_map(|end| Part::decode(&bytes[..end]).ok());
        // The checksum in the manifest tells these apart.
        assert!(whole.map(|cut| count(&cut)).eq(0..count(&part)));
    }
}

#[test]
fn another_version_is_refused_by_its_number() {
    let (mut bytes, _) = parts().remove(0);
    bytes[8] = FORMAT_VERSION as u8 + 1;
    assert_eq!(Part::decode(&bytes), Err(FormatError::UnknownVersion { version: FORMAT_VERSION + 1 }));
    let later = Manifest { format: FORMAT_VERSION + 1, ..manifest() };
    assert_eq!(Manifest::decode(&later.encode()), Err(ManifestError::UnknownVersion { version: FORMAT_VERSION + 1 }));
}

#[test]
fn other_records_than_its_kind_says_are_no_part() {
    let mut part = PartWriter::new(PartKind::Clients);
    let meta =
        CheckpointMeta { low_watermark: Timestamp::ZERO, ceiling: Timestamp::ZERO, reads_through: Timestamp::ZERO };
    part.push(&CheckpointChunk::Meta(meta).encode().expect("small"));
    assert_eq!(Part::decode(&part.finish()), Err(FormatError::NotAPart));
}

#[test]
fn a_chunk_that_is_not_its_name_or_is_longer_than_any_is_no_chunk() {
    let whole = chunk(vec![1; Cutting::CHUNK_BYTES_MAX]).encode();
    assert!(StoredChunk::decode(&whole).is_ok());
    let (mut other, long) = (whole.clone(), chunk(vec![1; Cutting::CHUNK_BYTES_MAX + 1]).encode());
    other[40] ^= 1;
    for wrong in [&other, &long, &whole[..31], &whole[..32], &[]] {
        assert_eq!(StoredChunk::decode(wrong), Err(FormatError::NotAChunk));
    }
}

#[test]
fn names_that_lead_out_of_the_place_are_damage() {
    for name in ["../part-1", "part-1/../../x", "manifest.json", "part-", ""] {
        let mut hostile = manifest();
        hostile.parts[0].name = name.into();
        assert!(matches!(Manifest::decode(&hostile.encode()), Err(ManifestError::Damaged(_))), "{name}");
    }
    let mut twice = manifest();
    twice.parts.push(twice.parts[0].clone());
    assert!(matches!(Manifest::decode(&twice.encode()), Err(ManifestError::Damaged(_))));
    let mut large = manifest();
    large.parts[0].bytes = PART_BYTES_MAX as u64 + 1;
    assert!(matches!(Manifest::decode(&large.encode()), Err(ManifestError::Damaged(_))));
}

#[test]
fn the_page_of_limits_gives_them() {
    let page = include_str!("../../../docs/limits.md");
    for (name, value) in [
        ("PART_BYTES_MAX", PART_BYTES_MAX),
        ("MANIFEST_BYTES_MAX", MANIFEST_BYTES_MAX),
        ("PARTS_MAX", PARTS_MAX),
        ("NAMES_MAX", NAMES_MAX),
        ("READS_OPEN_MAX", READS_OPEN_MAX),
        ("CHUNKS_AT_ONCE", CHUNKS_AT_ONCE),
        ("LACKING_TOLD_MAX", LACKING_TOLD_MAX),
    ] {
        assert!(page.contains(&format!("| `backup::{name}` | {value} |")), "{name}");
    }
}

proptest! {
    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(Part::decode(&bytes).is_err());
        prop_assert!(Manifest::decode(&bytes).is_err());
    }

    #[test]
    fn random_records_behind_a_head_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600), kind in 0_usize..3) {
        let (whole, _) = parts().remove(kind);
        let _ = Part::decode(&[&whole[..16], &bytes].concat());
    }

    #[test]
    fn changed_bytes_never_panic(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), kind in 0_usize..3) {
        let (mut bytes, _) = parts().remove(kind);
        for (place, value) in &places {
            let place = place.index(bytes.len());
            bytes[place] = *value;
        }
        let _ = Part::decode(&bytes);
    }

    #[test]
    fn a_manifest_with_a_changed_byte_is_damaged(place in any::<prop::sample::Index>(), flip in 1_u8..) {
        let mut bytes = manifest().encode();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        prop_assert!(Manifest::decode(&bytes).is_err());
    }
}
