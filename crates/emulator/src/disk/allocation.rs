//! Requests of modules to a disk before anything runs (`DISK_ALLOC`): the blocks that a module wants, and where it would like them.
//!
//! Source: Perkins 2015, section 4.3.2.

use crate::quantity::Bytes;

/// Space is given out in blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block(pub u64);

impl Block {
    pub const BYTES: u64 = 1 << 20;

    /// As many blocks as hold these bytes.
    pub fn holding(bytes: Bytes) -> Block {
        Block(bytes.0.div_ceil(Block::BYTES))
    }
}

/// The module that asks, and its purpose: no two requests to one disk have the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(pub String);

/// The blocks that are asked for, by the places where the module would like them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One bit a block, from the start of the disk.
    Bits(Vec<bool>),
    /// `count` runs of `run` blocks; each begins `stride` blocks after the one before, the first at `start`.
    Runs { start: Block, run: Block, stride: Block, count: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskAlloc {
    /// The number of the disk in its node.
    pub disk: usize,
    pub owner: Owner,
    pub shape: Shape,
}

impl Shape {
    /// One piece, wherever the disk has room.
    pub fn piece(bytes: Bytes) -> Shape {
        let run = Block::holding(bytes);
        Shape::Runs { start: Block(0), run, stride: run, count: 1 }
    }

    /// Where each run of neighbouring blocks should be, and how long it is, in the order of the module's own addresses.
    pub fn runs(&self) -> Vec<(Block, Block)> {
        match self {
            Shape::Bits(bits) => runs_of(bits),
            Shape::Runs { start, run, stride, count } if stride <= run => {
                let blocks = run.0.saturating_mul(*count);
                if blocks == 0 { Vec::new() } else { vec![(*start, Block(blocks))] }
            }
            Shape::Runs { run, count, .. } if run.0 == 0 || *count == 0 => Vec::new(),
            Shape::Runs { start, run, stride, count } => (0..*count)
                .map(|number| (Block(start.0.saturating_add(stride.0.saturating_mul(number))), *run))
                .collect(),
        }
    }

    pub fn blocks(&self) -> Block {
        Block(self.runs().iter().fold(0, |sum, (_, run)| run.0.saturating_add(sum)))
    }
}

fn runs_of(bits: &[bool]) -> Vec<(Block, Block)> {
    let mut runs: Vec<(Block, Block)> = Vec::new();
    for (place, _) in bits.iter().enumerate().filter(|(_, bit)| **bit) {
        let place = place as u64;
        match runs.last_mut() {
            Some((start, run)) if start.0 + run.0 == place => run.0 += 1,
            Some(_) | None => runs.push((Block(place), Block(1))),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_strides_say_the_same_runs() {
        let bits = Shape::Bits(vec![false, true, true, false, false, true, true]);
        let strided = Shape::Runs { start: Block(1), run: Block(2), stride: Block(4), count: 2 };
        assert_eq!(bits.runs(), vec![(Block(1), Block(2)), (Block(5), Block(2))]);
        assert_eq!(strided.runs(), bits.runs());
        assert_eq!(bits.blocks(), Block(4));
    }

    #[test]
    fn runs_that_touch_are_one() {
        let touching = Shape::Runs { start: Block(3), run: Block(2), stride: Block(2), count: 4 };
        assert_eq!(touching.runs(), vec![(Block(3), Block(8))]);
        assert_eq!(Shape::piece(Bytes(1)).runs(), vec![(Block(0), Block(1))]);
    }
}
