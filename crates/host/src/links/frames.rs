//! Frames of a link: how messages follow each other in a stream of bytes, and how they are found in it again.
//!
//! Invariants:
//! - a frame's length is judged before any of its bytes is waited for;
//! - memory follows the bytes that have come, not those that were announced.
//!
//! Source: Iolite's own; docs/protocols/links.md has the bytes.

use std::ops::Range;

/// The length of the payload, and the kind.
pub(crate) const HEADER_BYTES: usize = 5;
/// Read at once, and kept for a link that is quiet.
const READ_BYTES: usize = 64 << 10;
/// A buffer that a large frame has made larger than this is made small again behind it.
const KEPT_BYTES: usize = 1 << 20;
/// Bytes of a goodbye's sentence.
pub(crate) const GOODBYE_BYTES_MAX: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// A message of the protocol above.
    Message,
    /// Nothing: the link lives.
    KeepAlive,
    /// The sender closes the link; the payload is a sentence for people.
    Goodbye,
}

/// Why a stream of frames cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("a frame of {bytes} bytes, at most {bytes_max}")]
    TooLong { bytes: usize, bytes_max: usize },
    #[error("a frame of the unknown kind {0}")]
    UnknownKind(u8),
}

impl FrameKind {
    fn byte(self) -> u8 {
        match self {
            FrameKind::Message => 1,
            FrameKind::KeepAlive => 2,
            FrameKind::Goodbye => 3,
        }
    }

    fn of(byte: u8) -> Result<FrameKind, FrameError> {
        let kinds = [FrameKind::Message, FrameKind::KeepAlive, FrameKind::Goodbye];
        kinds.into_iter().find(|kind| kind.byte() == byte).ok_or(FrameError::UnknownKind(byte))
    }
}

/// The bytes before a payload.
pub(crate) fn header(kind: FrameKind, payload_bytes: u32) -> [u8; HEADER_BYTES] {
    let [a, b, c, d] = payload_bytes.to_le_bytes();
    [a, b, c, d, kind.byte()]
}

/// Bytes that have come, and were not all taken for frames.
#[derive(Debug)]
pub(crate) struct Received {
    /// Filled from the front; its length is the room.
    buffer: Vec<u8>,
    filled: Range<usize>,
    frame_bytes_max: usize,
}

impl Received {
    pub fn new(frame_bytes_max: usize) -> Received {
        Received { buffer: Vec::new(), filled: 0..0, frame_bytes_max }
    }

    /// Where the next bytes are read to: never empty.
    pub fn room(&mut self) -> &mut [u8] {
        if self.filled.is_empty() {
            self.filled = 0..0;
            if self.buffer.len() > KEPT_BYTES || self.buffer.is_empty() {
                self.buffer = vec![0; READ_BYTES];
            }
        }
        if self.buffer.len() - self.filled.end < READ_BYTES / 2 && self.filled.start > 0 {
            self.buffer.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
        }
        if self.buffer.len() == self.filled.end {
            // One frame fills it all: twice as much has come as when it last grew.
            let longest = self.frame_bytes_max.saturating_add(HEADER_BYTES).max(READ_BYTES);
            self.buffer.resize((self.buffer.len() * 2).min(longest), 0);
        }
        &mut self.buffer[self.filled.end..]
    }

    /// So many bytes were read to the room.
    pub fn add(&mut self, bytes: usize) {
        self.filled.end += bytes;
    }

    /// The next whole frame.
    ///
    /// # Errors
    /// [`FrameError`]: nothing behind it can be found.
    pub fn next(&mut self) -> Result<Option<(FrameKind, &[u8])>, FrameError> {
        let filled = &self.buffer[self.filled.clone()];
        let Some((&[a, b, c, d, kind], rest)) = filled.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let bytes = u32::from_le_bytes([a, b, c, d]) as usize;
        let kind = FrameKind::of(kind)?;
        let bytes_max = match kind {
            FrameKind::Message => self.frame_bytes_max,
            FrameKind::KeepAlive => 0,
            FrameKind::Goodbye => GOODBYE_BYTES_MAX,
        };
        if bytes > bytes_max {
            return Err(FrameError::TooLong { bytes, bytes_max });
        }
        let Some(payload) = rest.get(..bytes) else { return Ok(None) };
        self.filled.start += HEADER_BYTES + bytes;
        Ok(Some((kind, payload)))
    }

    /// Bytes of memory that it holds.
    #[cfg(test)]
    pub fn memory(&self) -> usize {
        self.buffer.capacity()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: FrameKind, payload: &[u8]) -> Vec<u8> {
        let mut frame = header(kind, payload.len() as u32).to_vec();
        frame.extend_from_slice(payload);
        frame
    }

    /// Gives the bytes in pieces of such sizes, and notes the frames.
    fn read(
        received: &mut Received,
        mut bytes: &[u8],
        pieces: &[usize],
    ) -> Result<Vec<(FrameKind, Vec<u8>)>, FrameError> {
        let mut frames = Vec::new();
        for piece in pieces.iter().cycle() {
            if bytes.is_empty() {
                break;
            }
            let room = received.room();
            let count = room.len().min(*piece).min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            received.add(count);
            bytes = &bytes[count..];
            while let Some((kind, payload)) = received.next()? {
                frames.push((kind, payload.to_vec()));
            }
        }
        Ok(frames)
    }

    #[test]
    fn a_frame_has_a_length_and_is_judged_by_its_header() {
        let mut received = Received::new(100);
        let longest = frame(FrameKind::Message, &[7; 100]);
        assert_eq!(read(&mut received, &longest, &[1]), Ok(vec![(FrameKind::Message, vec![7; 100])]));
        let error = FrameError::TooLong { bytes: 101, bytes_max: 100 };
        assert_eq!(read(&mut received, &header(FrameKind::Message, 101), &[5]), Err(error));
        let error = FrameError::TooLong { bytes: 1, bytes_max: 0 };
        assert_eq!(read(&mut Received::new(100), &header(FrameKind::KeepAlive, 1), &[5]), Err(error));
        let bytes = GOODBYE_BYTES_MAX + 1;
        let error = FrameError::TooLong { bytes, bytes_max: GOODBYE_BYTES_MAX };
        assert_eq!(read(&mut Received::new(9999), &header(FrameKind::Goodbye, bytes as u32), &[5]), Err(error));
        assert_eq!(read(&mut Received::new(100), &[0, 0, 0, 0, 9], &[5]), Err(FrameError::UnknownKind(9)));
    }

    #[test]
    fn memory_follows_what_has_come_and_shrinks_behind_a_large_frame() {
        let bytes_max = 32 << 20;
        let mut received = Received::new(bytes_max);
        read(&mut received, &header(FrameKind::Message, bytes_max as u32), &[5]).expect("it may be so long");
        assert_eq!(received.memory(), READ_BYTES);
        read(&mut received, &vec![1; 1 << 20], &[READ_BYTES]).expect("it is not whole");
        assert!(received.memory() <= 4 << 20, "{}", received.memory());
        let rest = read(&mut received, &vec![1; bytes_max - (1 << 20)], &[READ_BYTES]).expect("it is whole");
        assert_eq!(rest.len(), 1);
        received.room();
        assert_eq!(received.memory(), READ_BYTES);
    }

    proptest! {
        #[test]
        fn frames_are_found_however_the_bytes_are_cut(
            payloads in prop::collection::vec((0_usize..3000, any::<u8>()), 0..60),
            pieces in prop::collection::vec(1_usize..5000, 1..8),
        ) {
            let sent: Vec<_> = payloads.iter().map(|&(bytes, byte)| (FrameKind::Message, vec![byte; bytes])).collect();
            let bytes: Vec<u8> = sent.iter().flat_map(|(kind, payload)| frame(*kind, payload)).collect();
            prop_assert_eq!(read(&mut Received::new(3000), &bytes, &pieces), Ok(sent));
        }

        #[test]
        fn whatever_bytes_come_memory_stays_bounded(bytes in prop::collection::vec(any::<u8>(), 0..2000), limit in 0_usize..5000) {
            let mut received = Received::new(limit);
            let _ = read(&mut received, &bytes, &[7, 900]);
            prop_assert!(received.memory() <= READ_BYTES);
        }
    }
}
