//! The only source of chance: streams that a seed and a number give.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// Equal for equal arguments, on every platform; unrelated for others.
    pub fn of(seed: u64, stream: u64) -> Random {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream);
        Random(generator)
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// From 0 up to but not including 1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
