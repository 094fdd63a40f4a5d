//! What workloads draw: equal for equal seeds, on every system that is measured.

mod key;
mod random;
mod zipf;

pub use key::KeyNumber;
pub use random::Random;
pub use zipf::Zipf;
