//! Frames: what follows the header in every file of the journal.
//!
//! Invariant: a frame is valid only in the file and at the offset for which it was written, because its checksum covers
//! both. Stale bytes, and frames that a user stored inside a record, are therefore never taken for frames.

/// The longest record and the longest checkpoint chunk, in bytes.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

pub(crate) const FRAME_HEADER_BYTES: usize = 17;

/// Binds frames to one file: the checksum of the file's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seal(u32);

impl Seal {
    pub fn of(file_header: &[u8]) -> Seal {
        Seal(crc32c::crc32c(file_header))
    }

    fn checksum(self, offset: u64, checked: &[&[u8]]) -> u32 {
        let start = crc32c::crc32c_append(self.0, &offset.to_le_bytes());
        checked.iter().fold(start, |checksum, bytes| crc32c::crc32c_append(checksum, bytes))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// In a segment. Its ordinal is its position.
    Record,
    /// In a segment: every byte of the file before this frame was synced when the frame was written. Its ordinal is the
    /// position of the last record before it. No payload.
    SyncMark,
    /// In a checkpoint. Its ordinal counts from 1.
    Chunk,
    /// The end of a complete checkpoint. Its ordinal is the number of chunks, its payload the position of the last record that
    /// a chunk may reflect.
    Footer,
}

impl FrameKind {
    fn code(self) -> u8 {
        match self {
            FrameKind::Record => 1,
            FrameKind::SyncMark => 2,
            FrameKind::Chunk => 3,
            FrameKind::Footer => 4,
        }
    }

    fn of(code: u8) -> Option<FrameKind> {
        [FrameKind::Record, FrameKind::SyncMark, FrameKind::Chunk, FrameKind::Footer]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub kind: FrameKind,
    pub ordinal: u64,
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Appends the frame's bytes to `out`, for `offset` in the file that `seal` stands for.
    ///
    /// # Panics
    /// When the payload is longer than [`RECORD_BYTES_MAX`], which callers refuse first.
    pub fn encode(&self, seal: Seal, offset: u64, out: &mut Vec<u8>) {
        assert!(self.payload.len() <= RECORD_BYTES_MAX, "callers refuse longer records");
        let mut described = [0; FRAME_HEADER_BYTES - 4];
        described[0..4].copy_from_slice(&(self.payload.len() as u32).to_le_bytes());
        described[4] = self.kind.code();
        described[5..13].copy_from_slice(&self.ordinal.to_le_bytes());
        let checksum = seal.checksum(offset, &[&described, self.payload]);
        out.extend_from_slice(&checksum.to_le_bytes());
        out.extend_from_slice(&described);
        out.extend_from_slice(self.payload);
    }

    /// The frame at `offset` in `file`, if there is a valid one.
    pub fn decode(seal: Seal, file: &'a [u8], offset: usize) -> Option<Frame<'a>> {
        let bytes = file.get(offset..)?;
        let (checksum, rest) = bytes.split_first_chunk::<4>()?;
        let (described, payloads) = rest.split_first_chunk::<{ FRAME_HEADER_BYTES - 4 }>()?;
        let kind = FrameKind::of(described[4])?;
        let length = u32::from_le_bytes(*described.first_chunk()?) as usize;
        if length > RECORD_BYTES_MAX {
            return None;
        }
        let payload = payloads.get(..length)?;
        if seal.checksum(offset as u64, &[described, payload]) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let ordinal = u64::from_le_bytes(*described[5..].first_chunk()?);
        Some(Frame { kind, ordinal, payload })
    }

    /// How many bytes of the file the frame takes.
    pub fn bytes(&self) -> usize {
        FRAME_HEADER_BYTES + self.payload.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FRAME: Frame<'static> = Frame { kind: FrameKind::Record, ordinal: 5, payload: b"payload" };

    fn encoded(seal: Seal, offset: u64) -> Vec<u8> {
        let mut out = vec![0; offset as usize];
        FRAME.encode(seal, offset, &mut out);
        out
    }

    #[test]
    fn a_frame_is_valid_only_where_it_was_written() {
        let seal = Seal::of(b"one file");
        let file = encoded(seal, 10);
        assert_eq!(Frame::decode(seal, &file, 10), Some(FRAME));
        assert_eq!(Frame::decode(Seal::of(b"another file"), &file, 10), None);
        assert_eq!(Frame::decode(seal, &file[1..], 9), None, "the same bytes at another offset");
    }

    #[test]
    fn every_cut_and_every_flipped_bit_makes_a_frame_invalid() {
        let seal = Seal::of(b"one file");
        let file = encoded(seal, 0);
        for length in 0..file.len() {
            assert_eq!(Frame::decode(seal, &file[..length], 0), None, "cut to {length}");
        }
        for bit in 0..file.len() * 8 {
            let mut harmed = file.clone();
            harmed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Frame::decode(seal, &harmed, 0), None, "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn random_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..220) {
            let _ = Frame::decode(Seal::of(b"one file"), &bytes, at);
        }
    }
}
