//! What tells contents from each other without keeping them.
//!
//! 128 bits from two differently seeded hashes. They live in one process and are never stored.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Contents of equal digests are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Digest(u64, u64);

impl Digest {
    pub fn of(content: impl Hash) -> Digest {
        let mut hasher = DigestHasher::default();
        content.hash(&mut hasher);
        hasher.digest()
    }
}

/// Content is fed to it as to any hasher.
#[derive(Clone, Debug)]
pub struct DigestHasher {
    first: DefaultHasher,
    second: DefaultHasher,
}

impl DigestHasher {
    /// Of what it was fed.
    pub fn digest(&self) -> Digest {
        Digest(self.first.finish(), self.second.finish())
    }
}

impl Default for DigestHasher {
    fn default() -> DigestHasher {
        let mut second = DefaultHasher::new();
        second.write_u64(0x9e37_79b9_7f4a_7c15);
        DigestHasher { first: DefaultHasher::new(), second }
    }
}

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.first.write(bytes);
        self.second.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.first.finish()
    }
}
