//! Content that nothing can pack, made as it is read: equal seeds make equal bytes, so none of it has to be kept for a comparison.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

#[derive(Clone, Debug)]
pub struct Noise {
    state: u64,
    word: [u8; 8],
    at: u64,
    length: u64,
    /// The place of the byte that is another one.
    changed: Option<u64>,
}

/// A byte of this is changed to its complement.
pub const FLIP: u8 = 0xff;
const COMPARED_BYTES: usize = 64 << 10;

impl Noise {
    pub fn new(seed: u64, length: u64) -> Noise {
        Noise { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, word: [0; 8], at: 0, length, changed: None }
    }

    #[must_use]
    pub fn changed_at(mut self, place: Option<u64>) -> Noise {
        self.changed = place;
        self
    }

    /// All of it, if it is short.
    pub fn bytes(mut self) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(self.length).expect("it fits into memory")];
        self.fill(&mut bytes);
        bytes
    }

    /// The byte at a place.
    pub fn byte_at(mut self, place: u64) -> u8 {
        let mut piece = vec![0; COMPARED_BYTES];
        loop {
            let begins = self.at;
            let count = self.fill(&mut piece);
            assert!(count > 0, "the place is within it");
            if place < begins + count as u64 {
                return piece[(place - begins) as usize];
            }
        }
    }

    /// Writes the next bytes, and returns how many: fewer at the end only.
    fn fill(&mut self, bytes: &mut [u8]) -> usize {
        let count = (bytes.len() as u64).min(self.length - self.at) as usize;
        for byte in &mut bytes[..count] {
            let within = (self.at % 8) as usize;
            if within == 0 {
                self.state ^= self.state << 13;
                self.state ^= self.state >> 7;
                self.state ^= self.state << 17;
                self.word = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes();
            }
            *byte = self.word[within] ^ if self.changed == Some(self.at) { FLIP } else { 0 };
            self.at += 1;
        }
        count
    }

    /// Whether a stream has these bytes and ends with them.
    ///
    /// # Errors
    /// Of the stream.
    pub async fn equals(mut self, mut stream: impl AsyncRead + Unpin) -> io::Result<bool> {
        let (mut read, mut wanted) = (vec![0; COMPARED_BYTES], vec![0; COMPARED_BYTES]);
        loop {
            let count = stream.read(&mut read).await?;
            let own = self.fill(&mut wanted[..count.max(1)]);
            if own != count || read[..count] != wanted[..count] {
                return Ok(false);
            }
            if count == 0 {
                return Ok(true);
            }
        }
    }
}

impl AsyncRead for Noise {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let count = self.fill(buffer.initialize_unfilled());
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_changed_byte_and_a_missing_end_are_seen() {
        let noise = Noise::new(7, 200_001);
        let bytes = noise.clone().bytes();
        assert!(noise.clone().equals(&bytes[..]).await.expect("in memory"));
        assert!(!noise.clone().equals(&bytes[..200_000]).await.expect("in memory"));
        let changed = noise.clone().changed_at(Some(199_999));
        assert!(!changed.clone().equals(&bytes[..]).await.expect("in memory"));
        assert_eq!(changed.byte_at(199_999), noise.byte_at(199_999) ^ FLIP);
    }
}
