//! The bytes of a key. Maps of rows compare them all the time, so short ones lie where they are compared, and nothing has to be fetched for it.
//!
//! Invariant: what is short is never shared, so equal bytes are equal variants; past its length it is zeros, so that it is compared as numbers are. Order,
//! equality and hash are those of the slice.

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

/// In the order of slices: where one is the beginning of another, the other's next byte decides, or its length if that byte is zero too.
fn compare_short(a: (&[u8; INLINE], u8), b: (&[u8; INLINE], u8)) -> Ordering {
    first(a.0).cmp(&first(b.0)).then_with(|| last(a.0).cmp(&last(b.0))).then_with(|| a.1.cmp(&b.1))
}

fn first(bytes: &[u8; INLINE]) -> u128 {
    u128::from_be_bytes(*bytes.first_chunk().expect("it is longer"))
}

/// Two bytes of it are of the first too, which are equal when this is looked at.
fn last(bytes: &[u8; INLINE]) -> u64 {
    u64::from_be_bytes(*bytes.last_chunk().expect("it is longer"))
}

impl PartialEq for KeyBytes {
    fn eq(&self, other: &KeyBytes) -> bool {
        self.cmp(other).is_eq()
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
        match (self, other) {
            (KeyBytes::Short { length: a_length, bytes: a }, KeyBytes::Short { length: b_length, bytes: b }) => {
                compare_short((a, *a_length), (b, *b_length))
            }
            _ => self.as_slice().cmp(other.as_slice()),
        }
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
        let slices: Vec<Vec<u8>> = (0..50)
            .flat_map(|length| {
                [vec![], vec![0], vec![1], vec![0xff], vec![0, 0], vec![0, 1]]
                    .map(|last| [vec![7; length], last].concat())
            })
            .collect();
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
