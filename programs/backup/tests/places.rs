//! Folders as places of backups: what is wrong with one is said, and nothing is taken for a backup that is none.

use std::fs;
use std::path::PathBuf;

use iolite_backup::{
    ChunksSummary, ClientsSummary, FORMAT_VERSION, MANIFEST_BYTES_MAX, Manifest, PartKind, PartSummary, Place,
    RestoreError, check_backup,
};
use iolite_values::Id;
use sha2::{Digest as _, Sha256};

/// A temporary folder, removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("iolite-backup-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a temporary folder");
        Folder(folder)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.join(name), bytes).expect("it can be written");
    }

    async fn check(&self) -> Result<Manifest, RestoreError> {
        let address = self.0.to_str().expect("plain letters");
        check_backup(&Place::of(address).expect("a folder"), address).await
    }

    async fn told(&self) -> String {
        self.check().await.expect_err("it is no whole backup").to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Of one part without records.
fn part() -> Vec<u8> {
    iolite_backup::PartWriter::new(PartKind::Rows).finish()
}

fn manifest(bytes: &[u8]) -> Manifest {
    let part = PartSummary {
        name: "part-00000000".into(),
        kind: PartKind::Rows,
        records: 0,
        bytes: bytes.len() as u64,
        sha256: sha256(bytes),
    };
    Manifest {
        format: FORMAT_VERSION,
        backup: Id::from_u128(1),
        store: Id::from_u128(2),
        at: 0,
        at_unix_ms: 0,
        program: "0.1.0".into(),
        tables: Vec::new(),
        clients: ClientsSummary { records: 0, sha256: sha256(b"") },
        chunks: ChunksSummary::default(),
        parts: vec![part],
    }
}

#[tokio::test]
async fn an_empty_and_an_unfinished_place_are_told_apart() {
    let folder = Folder::new("unfinished");
    assert!(folder.told().await.contains("there is no backup in"));
    folder.write("part-00000000", &part());
    assert!(folder.told().await.contains("was not finished"));
    folder.write("manifest.json", &manifest(&part()).encode());
    assert_eq!(folder.check().await.expect("it is whole"), manifest(&part()));
}

#[tokio::test]
async fn a_file_that_is_missing_cut_off_longer_or_changed_is_named() {
    let folder = Folder::new("damaged");
    folder.write("manifest.json", &manifest(&part()).encode());
    assert!(folder.told().await.contains("part-00000000 of the backup is missing"));
    let mut changed = part();
    changed[9] ^= 1;
    for wrong in [part()[..15].to_vec(), [part(), vec![0]].concat(), changed, Vec::new()] {
        folder.write("part-00000000", &wrong);
        assert!(folder.told().await.contains("part-00000000 of the backup is damaged"), "{wrong:?}");
    }
    // The manifest says that it has other records.
    let mut manifest_of_chunks = manifest(&part());
    manifest_of_chunks.parts[0].kind = PartKind::Chunks;
    folder.write("part-00000000", &part());
    folder.write("manifest.json", &manifest_of_chunks.encode());
    assert!(folder.told().await.contains("part-00000000 of the backup is damaged"));
    // Of another version, and nothing else is wrong.
    let mut later = part();
    later[8] = FORMAT_VERSION as u8 + 1;
    folder.write("part-00000000", &later);
    folder.write("manifest.json", &manifest(&later).encode());
    assert!(folder.told().await.contains("use the program that wrote it"));
    folder.write("manifest.json", b"{}");
    assert!(folder.told().await.contains("manifest.json of the backup: it is damaged"));
}

#[tokio::test]
async fn a_manifest_that_is_too_large_is_not_read() {
    let folder = Folder::new("large");
    let file = fs::File::create(folder.0.join("manifest.json")).expect("it can be made");
    file.set_len(MANIFEST_BYTES_MAX as u64 + 1).expect("it has holes");
    assert!(folder.told().await.contains("more than any file of a backup"));
}

#[tokio::test]
async fn an_address_without_a_bucket_is_refused() {
    let refused = Place::of("s3:///x").expect_err("no bucket").to_string();
    assert!(refused.contains("names no bucket"), "{refused}");
}
