//! A checkpoint: the state of the replica in chunks, and a footer that says that it is whole.
//!
//! Invariant: a file without a valid footer at its very end is not a checkpoint. The footer is written after all chunks and
//! after every record that a chunk may already reflect is durable.

use crate::Disk;
use crate::failure::DiskFailure;
use crate::frame::{Frame, FrameKind, Seal};
use crate::header::{HEADER_BYTES, Header};
use crate::identity::SegmentNumber;
use crate::journal_disk::JournalDisk;

/// A checkpoint is synced each time that this much was written, so that no single sync of it holds up commits for long.
const SYNC_EACH_BYTES: u64 = 4 << 20;

/// The checkpoint that is being written.
#[derive(Debug)]
pub(crate) struct CheckpointWriter {
    number: SegmentNumber,
    name: String,
    seal: Seal,
    bytes: u64,
    synced_bytes: u64,
    chunks: u64,
}

impl CheckpointWriter {
    pub fn begin<D: Disk>(disk: &mut JournalDisk<D>, header: &Header) -> Result<CheckpointWriter, DiskFailure> {
        let name = header.file_name();
        disk.create(&name, &header.encode())?;
        Ok(CheckpointWriter {
            number: header.number,
            name,
            seal: header.seal(),
            bytes: HEADER_BYTES as u64,
            synced_bytes: 0,
            chunks: 0,
        })
    }

    pub fn number(&self) -> SegmentNumber {
        self.number
    }

    pub fn chunk<D: Disk>(&mut self, disk: &mut JournalDisk<D>, chunk: &[u8]) -> Result<(), DiskFailure> {
        self.chunks += 1;
        self.write(disk, Frame { kind: FrameKind::Chunk, ordinal: self.chunks, payload: chunk })?;
        if self.bytes - self.synced_bytes >= SYNC_EACH_BYTES {
            disk.sync(&self.name)?;
            self.synced_bytes = self.bytes;
        }
        Ok(())
    }

    /// Completes the checkpoint and makes it durable, name and all.
    pub fn finish<D: Disk>(mut self, disk: &mut JournalDisk<D>) -> Result<(), DiskFailure> {
        self.write(disk, Frame { kind: FrameKind::Footer, ordinal: self.chunks, payload: &[] })?;
        disk.sync(&self.name)?;
        disk.sync_directory()
    }

    fn write<D: Disk>(&mut self, disk: &mut JournalDisk<D>, frame: Frame<'_>) -> Result<(), DiskFailure> {
        let mut bytes = Vec::with_capacity(frame.bytes());
        frame.encode(self.seal, self.bytes, &mut bytes);
        disk.append(&self.name, &bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// What a checkpoint file turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CheckpointReading {
    Complete(Vec<Vec<u8>>),
    /// Never finished, or damaged: the files that remain tell which.
    Incomplete {
        valid_bytes: usize,
    },
}

/// Reads a checkpoint whose header has been read.
pub(crate) fn read(header: &Header, file: &[u8]) -> CheckpointReading {
    let mut chunks: Vec<Vec<u8>> = Vec::new();
    let mut offset = HEADER_BYTES;
    while let Some(frame) = Frame::decode(header.seal(), file, offset) {
        let count = chunks.len() as u64;
        let end = offset + frame.bytes();
        match frame.kind {
            FrameKind::Chunk if frame.ordinal == count + 1 => chunks.push(frame.payload.to_vec()),
            FrameKind::Footer if frame.ordinal == count && end == file.len() => {
                return CheckpointReading::Complete(chunks);
            }
            FrameKind::Chunk | FrameKind::Footer | FrameKind::Record | FrameKind::SyncMark => break,
        }
        offset = end;
    }
    CheckpointReading::Incomplete { valid_bytes: offset }
}
