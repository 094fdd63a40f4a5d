//! The files of a backup: a head that says what they are, and records with their lengths. docs/backup.md shows them.
//!
//! Invariant: a decoder returns an error for whatever bytes it is given, and takes no more memory than a small multiple of them. That the bytes
//! are those that were written, the checksum in the manifest tells.

use iolite_wire::DecodeError;
use iolite_wire::client_storage::StoredRow;
use iolite_wire::journal::{CheckpointChunk, CheckpointClient};
use serde::{Deserialize, Serialize};

use crate::stored_chunk::StoredChunk;

/// The version that is written. All versions from 1 to this one are read.
pub const FORMAT_VERSION: u32 = 2;

/// A part that has so many bytes is ended. One record more is in it at most.
pub const PART_BYTES: usize = 8 << 20;

/// The largest part that is read: a full one, and the largest record.
pub const PART_BYTES_MAX: usize = PART_BYTES + (32 << 20);

const MAGIC: [u8; 8] = *b"iolitebk";
const HEAD_BYTES: usize = 16;
const LENGTH_BYTES: usize = 4;

/// What a part's records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    Rows,
    Clients,
    /// Since version 2.
    Chunks,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Rows(Vec<StoredRow>),
    /// Completion records.
    Clients(Vec<CheckpointClient>),
    /// Chunks of blobs.
    Chunks(Vec<StoredChunk>),
}

/// Why a file is no part of a backup.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error("it is no part of a backup")]
    NotAPart,
    #[error(
        "it has the version {version} of the format, and this program knows those up to {FORMAT_VERSION}: use the program that wrote it, or a newer one"
    )]
    UnknownVersion { version: u32 },
    #[error("it ends in the middle of a record")]
    CutOff,
    #[error("a chunk of it is not what its name says")]
    NotAChunk,
    #[error("a record cannot be read: {0}")]
    Record(#[from] DecodeError),
}

/// A part that grows.
#[derive(Clone, Debug)]
pub struct PartWriter {
    bytes: Vec<u8>,
    records: u64,
}

impl PartWriter {
    pub fn new(kind: PartKind) -> PartWriter {
        let mut bytes = Vec::with_capacity(PART_BYTES + (1 << 20));
        bytes.extend(MAGIC);
        bytes.extend(FORMAT_VERSION.to_le_bytes());
        let kind: u32 = match kind {
            PartKind::Rows => 1,
            PartKind::Clients => 2,
            PartKind::Chunks => 3,
        };
        bytes.extend(kind.to_le_bytes());
        PartWriter { bytes, records: 0 }
    }

    pub fn push(&mut self, record: &[u8]) {
        let length = u32::try_from(record.len()).expect("encoders refuse what is larger");
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(record);
        self.records += 1;
    }

    pub fn is_full(&self) -> bool {
        self.bytes.len() >= PART_BYTES
    }

    pub fn records(&self) -> u64 {
        self.records
    }

    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

impl Part {
    pub fn kind(&self) -> PartKind {
        match self {
            Part::Rows(_) => PartKind::Rows,
            Part::Clients(_) => PartKind::Clients,
            Part::Chunks(_) => PartKind::Chunks,
        }
    }

    /// # Errors
    /// [`FormatError`].
    pub fn decode(bytes: &[u8]) -> Result<Part, FormatError> {
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES).ok_or(FormatError::NotAPart)?;
        let (magic, numbers) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(FormatError::NotAPart);
        }
        let (version, kind) = (number(&numbers[..4]), number(&numbers[4..]));
        if version == 0 || version > FORMAT_VERSION {
            return Err(FormatError::UnknownVersion { version });
        }
        match kind {
            1 => Ok(Part::Rows(records(rest)?.into_iter().map(StoredRow::decode).collect::<Result<_, _>>()?)),
            2 => {
                let mut clients = Vec::new();
                for record in records(rest)? {
                    match CheckpointChunk::decode(record)? {
                        CheckpointChunk::Clients(some) => clients.extend(some),
                        CheckpointChunk::Rows(_)
                        | CheckpointChunk::Commits(_)
                        | CheckpointChunk::Meta(_)
                        | CheckpointChunk::Records(_) => return Err(FormatError::NotAPart),
                    }
                }
                Ok(Part::Clients(clients))
            }
            3 => Ok(Part::Chunks(records(rest)?.into_iter().map(StoredChunk::decode).collect::<Result<_, _>>()?)),
            _ => Err(FormatError::NotAPart),
        }
    }
}

fn records(mut bytes: &[u8]) -> Result<Vec<&[u8]>, FormatError> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_at_checked(LENGTH_BYTES).ok_or(FormatError::CutOff)?;
        let (record, rest) = rest.split_at_checked(number(length) as usize).ok_or(FormatError::CutOff)?;
        records.push(record);
        bytes = rest;
    }
    Ok(records)
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}
