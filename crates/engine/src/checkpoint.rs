//! A checkpoint: the state of the replica in chunks, and a footer that says that it is whole.
//!
//! Invariant: a file without a valid footer at its very end is not a checkpoint. The footer is written after all chunks and
//! after every record that a chunk may already reflect is durable.

use crate::Disk;
use crate::failure::DiskFailure;
use crate::frame::{Frame, FrameKind, Seal};
use crate::header::{HEADER_BYTES, Header};
use crate::identity::{Position, SegmentNumber};
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

    /// Completes the checkpoint and makes it durable, name and all. Its chunks may reflect the records up to `reflects`,
    /// which are durable.
    pub fn finish<D: Disk>(mut self, disk: &mut JournalDisk<D>, reflects: Position) -> Result<(), DiskFailure> {
        self.write(disk, Frame { kind: FrameKind::Footer, ordinal: self.chunks, payload: &reflects.0.to_le_bytes() })?;
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
    Complete(CheckpointContent),
    /// Never finished, or damaged: the files that remain tell which.
    Incomplete {
        valid_bytes: usize,
    },
}

/// What a complete checkpoint holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CheckpointContent {
    pub chunks: Vec<Vec<u8>>,
    /// The last record that a chunk may reflect.
    pub reflects: Position,
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
                let Ok(reflects) = frame.payload.try_into() else { break };
                let reflects = Position(u64::from_le_bytes(reflects));
                return CheckpointReading::Complete(CheckpointContent { chunks, reflects });
            }
            FrameKind::Chunk | FrameKind::Footer | FrameKind::Record | FrameKind::SyncMark => break,
        }
        offset = end;
    }
    CheckpointReading::Incomplete { valid_bytes: offset }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_name::FileKind;
    use crate::identity::Incarnation;

    const HEADER: Header = Header {
        kind: FileKind::Checkpoint,
        incarnation: Incarnation(7),
        number: SegmentNumber(2),
        first: Position(5),
    };

    fn file(frames: &[(FrameKind, u64)]) -> Vec<u8> {
        let mut file = HEADER.encode().to_vec();
        for (kind, ordinal) in frames {
            let frame = Frame { kind: *kind, ordinal: *ordinal, payload: b"\x09\0\0\0\0\0\0\0" };
            frame.encode(HEADER.seal(), file.len() as u64, &mut file);
        }
        file
    }

    #[test]
    fn a_checkpoint_is_complete_only_with_all_its_chunks_and_the_footer_at_its_end() {
        use FrameKind::{Chunk, Footer, Record, SyncMark};
        let complete = file(&[(Chunk, 1), (Chunk, 2), (Footer, 2)]);
        let content = CheckpointContent { chunks: vec![vec![9, 0, 0, 0, 0, 0, 0, 0]; 2], reflects: Position(9) };
        assert_eq!(read(&HEADER, &complete), CheckpointReading::Complete(content));
        for frames in [
            &[(Chunk, 1), (Chunk, 2)][..],
            &[(Chunk, 1), (Footer, 2)],
            &[(Chunk, 1), (Chunk, 3), (Footer, 2)],
            &[(Chunk, 1), (Footer, 1), (Chunk, 2)],
            &[(Chunk, 1), (Record, 2), (Footer, 1)],
            &[(Chunk, 1), (SyncMark, 1), (Footer, 1)],
        ] {
            assert!(matches!(read(&HEADER, &file(frames)), CheckpointReading::Incomplete { .. }), "{frames:?}");
        }
        let mut longer = complete;
        longer.push(0);
        assert!(matches!(read(&HEADER, &longer), CheckpointReading::Incomplete { .. }), "bytes after the footer");
    }
}
