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

/// Its name.
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
    /// In the order in which they were written, which is that of tables and their keys.
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
