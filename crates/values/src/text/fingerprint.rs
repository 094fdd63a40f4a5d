//! What tells texts from each other without looking at all of them.
//!
//! 128 bits from two differently seeded hashes. They live in one process and are never stored.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Texts of equal fingerprints are equal. Equal texts have equal ones if the same edits made them in the same order: else they may differ.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fingerprint(u64, u64);

impl Fingerprint {
    pub(super) fn of(content: impl Hash) -> Fingerprint {
        let of_seed = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            seed.hash(&mut hasher);
            content.hash(&mut hasher);
            hasher.finish()
        };
        Fingerprint(of_seed(0), of_seed(0x9e37_79b9_7f4a_7c15))
    }
}
