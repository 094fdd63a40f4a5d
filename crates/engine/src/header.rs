//! The first 48 bytes of a segment or checkpoint.
//!
//! Invariant: the first 12 bytes, magic and format version, keep their meaning in every later format, and every later
//! format keeps at least one file of these names: that is how this version knows what it must not touch.

use crate::file_name::FileKind;
use crate::frame::Seal;
use crate::identity::{Incarnation, Position, SegmentNumber};

/// The on-disk format that this version writes, and the only one that it reads.
pub const FORMAT_VERSION: u32 = 1;

pub(crate) const HEADER_BYTES: usize = 48;
const CHECKSUMMED_BYTES: usize = 44;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub kind: FileKind,
    pub incarnation: Incarnation,
    pub number: SegmentNumber,
    /// The position of the segment's first record; in a checkpoint, that of the segment with its number.
    pub first: Position,
}

/// What the start of a file turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderReading {
    Valid(Header),
    /// Not a header, in a file that is not longer than one: its creation may have been cut short.
    Unfinished,
    /// Not a header, in a file that got more bytes. They are written only after the header was synced.
    Damaged,
    UnknownVersion(u32),
}

impl Header {
    pub fn file_name(&self) -> String {
        self.kind.file_name(self.number)
    }

    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(magic(self.kind));
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[12..28].copy_from_slice(&self.incarnation.0.to_le_bytes());
        bytes[28..36].copy_from_slice(&self.number.0.to_le_bytes());
        bytes[36..44].copy_from_slice(&self.first.0.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..CHECKSUMMED_BYTES]);
        bytes[44..48].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// What binds the frames of this file to it. The header's own checksum must not be summed again: that gives the same
    /// number for every header.
    pub fn seal(&self) -> Seal {
        Seal::of(&self.encode()[..CHECKSUMMED_BYTES])
    }

    /// Reads the start of the file that is named for `kind` and `number` and is `file_bytes` long.
    pub fn read(kind: FileKind, number: SegmentNumber, start: &[u8], file_bytes: u64) -> HeaderReading {
        if let Some(version) = version_of(kind, start)
            && version != FORMAT_VERSION
            && version != 0
        {
            return HeaderReading::UnknownVersion(version);
        }
        match Header::decode(kind, start) {
            Some(header) if header.number == number => HeaderReading::Valid(header),
            Some(_) | None if file_bytes <= HEADER_BYTES as u64 => HeaderReading::Unfinished,
            Some(_) | None => HeaderReading::Damaged,
        }
    }

    fn decode(kind: FileKind, start: &[u8]) -> Option<Header> {
        let bytes: &[u8; HEADER_BYTES] = start.get(..HEADER_BYTES)?.try_into().ok()?;
        let checksum = u32::from_le_bytes(field(bytes, CHECKSUMMED_BYTES));
        if &bytes[0..8] != magic(kind)
            || u32::from_le_bytes(field(bytes, 8)) != FORMAT_VERSION
            || crc32c::crc32c(&bytes[..CHECKSUMMED_BYTES]) != checksum
        {
            return None;
        }
        Some(Header {
            kind,
            incarnation: Incarnation(u128::from_le_bytes(field(bytes, 12))),
            number: SegmentNumber(u64::from_le_bytes(field(bytes, 28))),
            first: Position(u64::from_le_bytes(field(bytes, 36))),
        })
    }
}

fn magic(kind: FileKind) -> &'static [u8; 8] {
    match kind {
        FileKind::Segment => b"IOLITEJ\n",
        FileKind::Checkpoint => b"IOLITEC\n",
    }
}

fn version_of(kind: FileKind, start: &[u8]) -> Option<u32> {
    let rest = start.strip_prefix(magic(kind))?;
    Some(u32::from_le_bytes(*rest.first_chunk()?))
}

fn field<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("every field lies inside the header")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header { kind: FileKind::Segment, incarnation: Incarnation(7), number: SegmentNumber(3), first: Position(9) }
    }

    fn read(bytes: &[u8], file_bytes: u64) -> HeaderReading {
        Header::read(FileKind::Segment, SegmentNumber(3), bytes, file_bytes)
    }

    #[test]
    fn a_header_reads_back_under_its_own_name_only() {
        let bytes = header().encode();
        assert_eq!(read(&bytes, 100), HeaderReading::Valid(header()));
        assert_eq!(Header::read(FileKind::Segment, SegmentNumber(4), &bytes, 100), HeaderReading::Damaged);
        assert_eq!(Header::read(FileKind::Checkpoint, SegmentNumber(3), &bytes, 100), HeaderReading::Damaged);
    }

    #[test]
    fn every_file_has_a_seal_of_its_own() {
        let others = [
            Header { kind: FileKind::Checkpoint, ..header() },
            Header { incarnation: Incarnation(8), ..header() },
            Header { number: SegmentNumber(4), ..header() },
            Header { first: Position(10), ..header() },
        ];
        for other in others {
            assert_ne!(header().seal(), other.seal(), "{other:?}");
        }
    }

    #[test]
    fn a_bad_header_is_unfinished_only_in_a_file_without_more() {
        let mut bytes = header().encode();
        bytes[20] ^= 1;
        assert_eq!(read(&bytes, 48), HeaderReading::Unfinished);
        assert_eq!(read(&bytes, 49), HeaderReading::Damaged);
        assert_eq!(read(&[], 0), HeaderReading::Unfinished);
        assert_eq!(read(&[0; 48], 48), HeaderReading::Unfinished);
    }

    #[test]
    fn another_version_is_known_by_the_first_twelve_bytes() {
        assert_eq!(read(b"IOLITEJ\n\x02\0\0\0", 12), HeaderReading::UnknownVersion(2));
    }
}
