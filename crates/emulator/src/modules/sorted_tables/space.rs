//! Free room of a file area, which tables take and give back.

use std::collections::BTreeMap;

/// A run of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    pub offset: u64,
    pub length: u64,
}

impl Piece {
    pub fn end(self) -> u64 {
        self.offset + self.length
    }
}

/// Invariant: free pieces neither touch nor overlap, and no piece that was taken is free.
#[derive(Debug)]
pub struct Space {
    free: BTreeMap<u64, u64>,
}

impl Space {
    pub fn new(bytes: u64) -> Space {
        Space { free: BTreeMap::from([(0, bytes)]) }
    }

    /// The first piece that is large enough.
    pub fn take(&mut self, length: u64) -> Option<Piece> {
        let (offset, had) = self.free.iter().find(|(_, had)| **had >= length).map(|(offset, had)| (*offset, *had))?;
        self.free.remove(&offset);
        if had > length {
            self.free.insert(offset + length, had - length);
        }
        Some(Piece { offset, length })
    }

    pub fn give(&mut self, piece: Piece) {
        let Piece { mut offset, mut length } = piece;
        if length == 0 {
            return;
        }
        if let Some((before, had)) = self.free.range(..offset).next_back().map(|(before, had)| (*before, *had)) {
            assert!(before + had <= offset, "a piece is given back once");
            if before + had == offset {
                self.free.remove(&before);
                (offset, length) = (before, had + length);
            }
        }
        if let Some(had) = self.free.remove(&(offset + length)) {
            length += had;
        }
        self.free.insert(offset, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_joins_its_neighbours() {
        let mut space = Space::new(100);
        let pieces: Vec<Piece> = (0..4).filter_map(|_| space.take(25)).collect();
        assert_eq!(pieces.iter().map(|piece| piece.offset).collect::<Vec<_>>(), [0, 25, 50, 75]);
        assert_eq!(space.take(1), None);
        [2, 0, 1].into_iter().for_each(|number| space.give(pieces[number]));
        assert_eq!(space.free, BTreeMap::from([(0, 75)]));
        assert_eq!(space.take(75), Some(Piece { offset: 0, length: 75 }));
        space.give(pieces[3]);
        assert_eq!(space.take(26), None);
    }

    #[test]
    #[should_panic(expected = "given back once")]
    fn a_piece_that_is_given_back_twice_is_a_bug() {
        let mut space = Space::new(100);
        let piece = space.take(50).expect("there is room");
        space.give(piece);
        space.give(Piece { offset: 10, length: 10 });
    }
}
