//! Mutations of a frame, from a seed.

/// SplitMix64: the same stream on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Below `most`, which is not 0.
    pub fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.next() as u8).collect()
    }
}

/// Bytes at which encodings break: ends of varints, wire types, signs.
const INTERESTING: [u8; 10] = [0, 1, 2, 8, 0x0a, 0x12, 0x7f, 0x80, 0xfe, 0xff];

/// One to three changes: truncate, flip, set, splice, extend, cut out, or replace by random bytes.
pub fn mutate(frame: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(frame.len() + 1);
        match random.below(8) {
            0 => frame.truncate(at),
            1 | 2 => change(frame, at, |byte| byte ^ 1 << random.below(8)),
            3 | 4 => change(frame, at, |_| INTERESTING[random.below(INTERESTING.len())]),
            5 => {
                let other = &others[random.below(others.len())];
                let from = random.below(other.len() + 1);
                frame.truncate(at);
                frame.extend_from_slice(&other[from..]);
            }
            6 => {
                let part = frame[at..].to_vec();
                let times = random.below(4);
                (0..times).for_each(|_| frame.extend_from_slice(&part));
                frame.extend(random.bytes(8));
            }
            _ if random.below(8) == 0 => *frame = random.bytes(200),
            _ => drop(frame.drain(at..(at + random.below(4)).min(frame.len()))),
        }
    }
}

fn change(frame: &mut [u8], at: usize, mut to: impl FnMut(u8) -> u8) {
    if let Some(byte) = frame.get_mut(at) {
        *byte = to(*byte);
    }
}
