//! The manifest: what a backup is of, and every file of it with its checksum. One line of JSON, and one with the checksum of the first.
//!
//! Invariant: it is written last, and under its name only when it is whole; so a place without one holds no backup.

use std::collections::BTreeSet;

use iolite_values::Id;
use serde::{Deserialize, Serialize};

use crate::digest::checksum;
use crate::format::{FORMAT_VERSION, PART_BYTES_MAX, PartKind};

/// The largest manifest that is read: of some hundreds of thousands of parts.
pub const MANIFEST_BYTES_MAX: usize = 64 << 20;

/// Files of a backup: the manifest of so many can be read.
pub const PARTS_MAX: usize = 400_000;

/// The name of the file.
pub(crate) const MANIFEST: &str = "manifest.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub format: u32,
    /// Chosen at random for each backup.
    pub backup: Id,
    /// The history that it is of.
    pub store: Id,
    /// The timestamp that it shows.
    pub at: u64,
    /// The same as a time, in milliseconds since 1970.
    pub at_unix_ms: u64,
    /// The release that wrote it.
    pub program: String,
    /// The schema's tables, and the one that the schema itself is in.
    pub tables: Vec<TableSummary>,
    pub clients: ClientsSummary,
    /// Nothing in a backup of version 1.
    #[serde(default)]
    pub chunks: ChunksSummary,
    /// In the order in which they were written, which is that of tables and their keys; then clients, then chunks.
    pub parts: Vec<PartSummary>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSummary {
    pub name: String,
    pub rows: u64,
    /// Of its rows, as they are encoded, in the order of their keys.
    pub sha256: String,
}

/// The completion records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientsSummary {
    /// Clients and outcomes together.
    pub records: u64,
    pub sha256: String,
}

/// The chunks of blobs that rows name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChunksSummary {
    pub chunks: u64,
    /// Bytes of content.
    pub bytes: u64,
    /// Chunks that rows name, and that were missing or damaged when the backup was taken.
    pub lacking: u64,
}

impl ChunksSummary {
    /// One chunk more.
    pub(crate) fn with(self, content_bytes: usize) -> ChunksSummary {
        ChunksSummary { chunks: self.chunks + 1, bytes: self.bytes + content_bytes as u64, ..self }
    }

    pub(crate) fn plus(self, more: ChunksSummary) -> ChunksSummary {
        let ChunksSummary { chunks, bytes, lacking } = more;
        ChunksSummary { chunks: self.chunks + chunks, bytes: self.bytes + bytes, lacking: self.lacking + lacking }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartSummary {
    pub name: String,
    pub kind: PartKind,
    pub records: u64,
    pub bytes: u64,
    pub sha256: String,
}

/// Why bytes are no manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    #[error(
        "it has the version {version} of the format, and this program knows those up to {FORMAT_VERSION}: use the program that wrote it, or a newer one"
    )]
    UnknownVersion { version: u32 },
    #[error("it is damaged: {0}")]
    Damaged(String),
}

/// What every version has.
#[derive(Deserialize)]
struct Versioned {
    format: u32,
}

impl Manifest {
    pub fn encode(&self) -> Vec<u8> {
        let json = serde_json::to_string(self).expect("texts and numbers");
        format!("{json}\n{}\n", checksum(json.as_bytes())).into_bytes()
    }

    /// # Errors
    /// [`ManifestError`].
    pub fn decode(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        let damaged = |problem: &str| ManifestError::Damaged(problem.to_owned());
        let text = str::from_utf8(bytes).map_err(|_| damaged("it is no text"))?;
        let (json, rest) = text.split_once('\n').ok_or_else(|| damaged("its checksum is missing"))?;
        if rest.strip_suffix('\n') != Some(&checksum(json.as_bytes())) {
            return Err(damaged("its checksum is another one"));
        }
        let broken = |error: serde_json::Error| ManifestError::Damaged(error.to_string());
        let Versioned { format } = serde_json::from_str(json).map_err(broken)?;
        if format == 0 || format > FORMAT_VERSION {
            return Err(ManifestError::UnknownVersion { version: format });
        }
        let manifest: Manifest = serde_json::from_str(json).map_err(broken)?;
        manifest.check()?;
        Ok(manifest)
    }

    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }

    /// Whether a restore needs a store of chunks.
    pub fn has_chunks(&self) -> bool {
        self.parts.iter().any(|part| part.kind == PartKind::Chunks)
    }

    /// Of all parts together.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    fn check(&self) -> Result<(), ManifestError> {
        let mut names = BTreeSet::new();
        for part in &self.parts {
            let digits = part.name.strip_prefix("part-").unwrap_or("");
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) || !names.insert(&part.name) {
                return Err(ManifestError::Damaged(format!("{:?} is no name of a part, or is there twice", part.name)));
            }
            if part.bytes > PART_BYTES_MAX as u64 {
                return Err(ManifestError::Damaged(format!("{} is said to have {} bytes", part.name, part.bytes)));
            }
        }
        Ok(())
    }
}

pub(crate) fn part_name(number: usize) -> String {
    format!("part-{number:08}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_of_as_many_parts_as_a_backup_has_can_be_read() {
        let part = |number| PartSummary {
            name: part_name(number),
            kind: PartKind::Clients,
            records: u64::from(u32::MAX),
            bytes: PART_BYTES_MAX as u64,
            sha256: checksum(&[]),
        };
        let bytes = serde_json::to_string(&part(PARTS_MAX)).expect("texts and numbers").len() + 1;
        assert!(bytes * PARTS_MAX < MANIFEST_BYTES_MAX - (1 << 20), "{bytes} bytes a part");
    }

    #[test]
    fn a_manifest_of_version_1_says_nothing_of_chunks_and_is_read() {
        let zeros = "0".repeat(32);
        let json = format!(
            r#"{{"format":1,"backup":"{zeros}","store":"{zeros}","at":1,"at_unix_ms":1,"program":"0.1.0","tables":[],"clients":{{"records":0,"sha256":""}},"parts":[]}}"#
        );
        let manifest = Manifest::decode(format!("{json}\n{}\n", checksum(json.as_bytes())).as_bytes());
        assert_eq!(manifest.map(|manifest| manifest.chunks), Ok(ChunksSummary::default()));
    }
}
