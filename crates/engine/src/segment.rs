//! The segment that is being written.
//!
//! Invariant: a sync mark is written only right after a sync, at the end of what that sync covered; never when more is
//! buffered, and never in class `Memory`. So whatever stands before a valid mark was durable.

use crate::failure::DiskFailure;
use crate::frame::{Frame, FrameKind, Seal};
use crate::header::Header;
use crate::identity::{Position, SegmentNumber};
use crate::journal_disk::JournalDisk;
use crate::{Disk, Durability};

#[derive(Debug)]
pub(crate) struct Segment {
    number: SegmentNumber,
    name: String,
    seal: Seal,
    /// Bytes handed to the disk.
    written_bytes: u64,
    /// Of those, bytes known to be durable.
    synced_bytes: u64,
    /// Frames for the end of the file, not handed to the disk yet.
    buffer: Vec<u8>,
}

impl Segment {
    /// Starts a segment and makes its header and its name durable.
    pub fn create<D: Disk>(disk: &mut JournalDisk<D>, header: &Header) -> Result<Segment, DiskFailure> {
        let name = header.file_name();
        let bytes = header.encode();
        disk.create(&name, &bytes)?;
        disk.sync(&name)?;
        disk.sync_directory()?;
        let mut segment = Segment::at_end(header, bytes.len() as u64);
        segment.mark(disk, Position(header.first.0 - 1))?;
        Ok(segment)
    }

    /// Goes on at the end of a segment of which all `bytes` are valid and durable.
    pub fn at_end(header: &Header, bytes: u64) -> Segment {
        Segment {
            number: header.number,
            name: header.file_name(),
            seal: header.seal(),
            written_bytes: bytes,
            synced_bytes: bytes,
            buffer: Vec::new(),
        }
    }

    pub fn number(&self) -> SegmentNumber {
        self.number
    }

    /// Its length with what is buffered.
    pub fn bytes(&self) -> u64 {
        self.written_bytes + self.buffer.len() as u64
    }

    pub fn push(&mut self, position: Position, record: &[u8]) {
        let frame = Frame { kind: FrameKind::Record, ordinal: position.0, payload: record };
        frame.encode(self.seal, self.bytes(), &mut self.buffer);
    }

    /// Hands everything buffered to the disk.
    pub fn flush<D: Disk>(&mut self, disk: &mut JournalDisk<D>) -> Result<(), DiskFailure> {
        if !self.buffer.is_empty() {
            disk.append(&self.name, &self.buffer)?;
            self.written_bytes += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Fails when a restart would not find the file.
    pub fn expect_in_place<D: Disk>(&self, disk: &JournalDisk<D>) -> Result<(), DiskFailure> {
        disk.expect_in_place(&self.name)
    }

    /// Makes everything durable, the last mark too.
    pub fn sync<D: Disk>(&mut self, disk: &mut JournalDisk<D>) -> Result<(), DiskFailure> {
        self.flush(disk)?;
        if self.synced_bytes < self.written_bytes {
            disk.sync(&self.name)?;
            self.synced_bytes = self.written_bytes;
        }
        Ok(())
    }

    /// Writes, without a sync of its own, that everything so far is durable; `last` is the last record of it.
    ///
    /// # Panics
    /// When something is not durable.
    pub fn mark<D: Disk>(&mut self, disk: &mut JournalDisk<D>, last: Position) -> Result<(), DiskFailure> {
        match disk.durability() {
            Durability::Memory => return Ok(()),
            Durability::Fsync => {}
        }
        assert_eq!(self.synced_bytes, self.bytes(), "a mark follows a sync of everything");
        let frame = Frame { kind: FrameKind::SyncMark, ordinal: last.0, payload: &[] };
        frame.encode(self.seal, self.bytes(), &mut self.buffer);
        self.flush(disk)
    }
}
