//! Reads the frames of one segment and judges its end.
//!
//! Invariant: an end is called torn only when nothing after it proves that it was durable.

use crate::failure::Damage;
use crate::frame::{FRAME_HEADER_BYTES, Frame, FrameKind, Seal};
use crate::header::{HEADER_BYTES, Header};
use crate::identity::Position;

/// A record that was found, with its place in the life of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredRecord {
    pub position: Position,
    pub bytes: Vec<u8>,
}

/// What a segment holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    pub records: Vec<RecoveredRecord>,
    /// The position after the last record.
    pub next: Position,
    /// The length of the part in which every frame is valid, header included.
    pub valid_bytes: usize,
    pub end: SegmentEnd,
}

/// What follows the valid part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentEnd {
    /// Nothing, and the last frame is a sync mark.
    Marked,
    /// Nothing.
    Unmarked,
    /// Bytes that no sync mark vouches for.
    Torn,
    /// Bytes that were durable once.
    Damaged(Damage),
}

/// Reads a segment whose header has been read.
pub(crate) fn scan(header: &Header, file: &[u8]) -> Scan {
    let seal = header.seal();
    let mut scan =
        Scan { records: Vec::new(), next: header.first, valid_bytes: HEADER_BYTES, end: SegmentEnd::Unmarked };
    while scan.valid_bytes < file.len() {
        let Some(frame) = Frame::decode(seal, file, scan.valid_bytes) else {
            let damaged = has_mark_after(seal, file, scan.valid_bytes);
            scan.end = if damaged { SegmentEnd::Damaged(Damage::Frame) } else { SegmentEnd::Torn };
            return scan;
        };
        match frame.kind {
            FrameKind::Record if frame.ordinal == scan.next.0 => {
                scan.records.push(RecoveredRecord { position: scan.next, bytes: frame.payload.to_vec() });
                scan.next = scan.next.next();
                scan.end = SegmentEnd::Unmarked;
            }
            FrameKind::SyncMark if frame.ordinal.checked_add(1) == Some(scan.next.0) => scan.end = SegmentEnd::Marked,
            FrameKind::Record | FrameKind::SyncMark | FrameKind::Chunk | FrameKind::Footer => {
                // Its checksum is right, so it was meant to be here: no tear writes that.
                scan.end = SegmentEnd::Damaged(Damage::UnexpectedFrame);
                return scan;
            }
        }
        scan.valid_bytes += frame.bytes();
    }
    scan
}

/// Whether a sync mark stands anywhere after `offset`. Frame boundaries are not known there, so every byte is tried; a mark
/// has no payload, so a try is cheap.
fn has_mark_after(seal: Seal, file: &[u8], offset: usize) -> bool {
    (offset + 1..file.len()).any(|at| {
        let end = file.len().min(at + FRAME_HEADER_BYTES);
        Frame::decode(seal, &file[..end], at).is_some_and(|frame| frame.kind == FrameKind::SyncMark)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_name::FileKind;
    use crate::identity::{Incarnation, SegmentNumber};

    fn header() -> Header {
        Header { kind: FileKind::Segment, incarnation: Incarnation(7), number: SegmentNumber(2), first: Position(5) }
    }

    fn segment(frames: &[(FrameKind, u64)]) -> Vec<u8> {
        let mut file = header().encode().to_vec();
        for (kind, ordinal) in frames {
            let frame = Frame { kind: *kind, ordinal: *ordinal, payload: &[] };
            frame.encode(header().seal(), file.len() as u64, &mut file);
        }
        file
    }

    #[test]
    fn records_and_marks_are_read_in_their_order() {
        use FrameKind::{Record, SyncMark};
        let file = segment(&[(SyncMark, 4), (Record, 5), (Record, 6), (SyncMark, 6)]);
        let records = [5, 6].map(|position| RecoveredRecord { position: Position(position), bytes: Vec::new() });
        let expected =
            Scan { records: records.to_vec(), next: Position(7), valid_bytes: file.len(), end: SegmentEnd::Marked };
        assert_eq!(scan(&header(), &file), expected);
    }

    #[test]
    fn a_valid_frame_that_does_not_belong_there_is_damage() {
        use FrameKind::{Chunk, Footer, Record, SyncMark};
        for wrong in
            [(Record, 5), (Record, 7), (SyncMark, 4), (SyncMark, 6), (SyncMark, u64::MAX), (Chunk, 6), (Footer, 5)]
        {
            let found = scan(&header(), &segment(&[(Record, 5), wrong]));
            assert_eq!(found.end, SegmentEnd::Damaged(Damage::UnexpectedFrame), "{wrong:?}");
            assert_eq!(found.next, Position(6));
        }
    }
}
