//! Numbers that look drawn, the same in every arm of every run.

/// SplitMix64.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        usize::try_from(self.next() % bound).unwrap_or(0)
    }

    /// The numbers below the bound, each once.
    pub fn shuffled(&mut self, bound: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..bound).collect();
        for last in (1..bound).rev() {
            all.swap(last, self.below(last + 1));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_has_each_number_once() {
        let mut shuffled = Draw::new(7).shuffled(1000);
        assert_ne!(shuffled, (0..1000).collect::<Vec<usize>>());
        shuffled.sort_unstable();
        assert_eq!(shuffled, (0..1000).collect::<Vec<usize>>());
    }
}
