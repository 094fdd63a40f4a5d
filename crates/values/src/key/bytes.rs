//! The bytes of a key. Maps of rows compare them all the time, so short ones lie where they are compared, and nothing has to be fetched for it.
//!
//! Invariant: what is short is never shared, so equal bytes are equal variants. Order, equality and hash are those of the slice.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// As many as fit beside the tag and the length in three words: a number, an id, or a string of 20 bytes.
const INLINE: usize = 22;

#[derive(Clone)]
pub(super) enum KeyBytes {
    Short { length: u8, bytes: [u8; INLINE] },
    Long(Arc<[u8]>),
}

impl KeyBytes {
    pub(super) fn new(slice: &[u8]) -> KeyBytes {
        if slice.len() > INLINE {
            return KeyBytes::Long(slice.into());
        }
        let mut bytes = [0; INLINE];
        bytes[..slice.len()].copy_from_slice(slice);
        KeyBytes::Short { length: slice.len() as u8, bytes }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            KeyBytes::Short { length, bytes } => &bytes[..usize::from(*length)],
            KeyBytes::Long(bytes) => bytes,
        }
    }
}

impl PartialEq for KeyBytes {
    fn eq(&self, other: &KeyBytes) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for KeyBytes {}

impl PartialOrd for KeyBytes {
    fn partial_cmp(&self, other: &KeyBytes) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyBytes {
    fn cmp(&self, other: &KeyBytes) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for KeyBytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;

    fn hash(value: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn short_and_long_bytes_are_in_the_order_of_slices() {
        assert_eq!(size_of::<KeyBytes>(), 24);
        let slices: Vec<Vec<u8>> =
            (0..50).flat_map(|length| [0, 1, 0xff].map(|last| [vec![7; length], vec![last]].concat())).collect();
        for a in &slices {
            let key = KeyBytes::new(a);
            assert_eq!(key.as_slice(), a);
            assert_eq!(hash(&key), hash(&a[..]));
            for b in &slices {
                assert_eq!(key.cmp(&KeyBytes::new(b)), a.cmp(b), "{a:?} and {b:?}");
                assert_eq!(key == KeyBytes::new(b), a == b, "{a:?} and {b:?}");
            }
        }
    }
}
