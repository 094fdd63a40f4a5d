//! Index keys: where a row stands in an index. The indexed values, then the primary key, encoded as row keys are.
//!
//! Invariants: keys of one index are in the order of the values of its fields, and of the primary key where these are equal: null first, then as values are
//! ordered; no two rows have one key. Of a long string or of long bytes only the beginning is in the key, so that no key is too long: rows whose values
//! agree in it stand in the order of their primary keys. So a key tells a value only if it is shorter than what a key has of one at most.
//! Source: as of row keys; floats in the order of IEEE 754's totalOrder.

use std::borrow::{Borrow, Cow};
use std::ops::Bound;
use std::sync::Arc;

use crate::key::{ABOVE_ALL, BYTES, END, ESCAPE, ID, INT_ZERO, STRING, encode, encode_escaped};
use crate::{KeyRange, RowKey, Value};

/// A row's place in an index.
#[derive(Clone, Debug)]
pub struct IndexKey {
    bytes: Arc<[u8]>,
    /// Where the primary key begins.
    key_at: u32,
}

const NULL: u8 = 0x01;
const FLOAT: u8 = 0x21;

impl IndexKey {
    /// Of a string or of bytes, so many are in the key. One that has as many looks there like every longer one that begins so.
    pub const VALUE_BYTES_MAX: usize = 256;

    /// The longest there is: as many fields as an index can have, each as long as can be.
    pub const MAX_BYTES: usize = crate::Table::INDEX_COLUMNS_MAX * (2 * Self::VALUE_BYTES_MAX + 2) + RowKey::MAX_BYTES;

    /// The key of a row with these values in the fields of the index.
    pub fn new<'a>(values: impl IntoIterator<Item = Cow<'a, Value>>, key: &RowKey) -> IndexKey {
        let mut bytes = Vec::new();
        for value in values {
            encode_indexed(&value, &mut bytes);
        }
        let key_at = u32::try_from(bytes.len()).expect("values are cut");
        bytes.extend_from_slice(key.as_bytes());
        IndexKey { bytes: bytes.into(), key_at }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The primary key of the row, encoded.
    pub fn row_key_bytes(&self) -> &[u8] {
        &self.bytes[self.key_at as usize..]
    }
}

impl PartialEq for IndexKey {
    fn eq(&self, other: &IndexKey) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for IndexKey {}

impl PartialOrd for IndexKey {
    fn partial_cmp(&self, other: &IndexKey) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for IndexKey {
    fn cmp(&self, other: &IndexKey) -> std::cmp::Ordering {
        self.bytes.cmp(&other.bytes)
    }
}

/// Indexes are searched by the bounds of a range, which are bytes.
impl Borrow<[u8]> for IndexKey {
    fn borrow(&self) -> &[u8] {
        &self.bytes
    }
}

/// A range of index keys, and whether it says all that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRange {
    pub range: KeyRange,
    /// Whether a value is long: rows of the range may differ from it behind what keys have, and a condition has to tell.
    pub is_cut: bool,
}

impl IndexRange {
    /// The rows whose first fields have the values `equal`, and whose next one lies between two bounds.
    pub fn new(equal: &[Value], from: Bound<&Value>, to: Bound<&Value>) -> IndexRange {
        let mut prefix = Vec::new();
        let mut is_cut = false;
        for value in equal {
            is_cut |= encode_indexed(value, &mut prefix);
        }
        // What is equal as far as it is in the key may lie on either side: of a long value, whether it is in does not depend on the bound.
        let mut bound = |value: &Value, is_behind: fn(bool) -> bool| {
            let mut bytes = prefix.clone();
            let cut = encode_indexed(value, &mut bytes);
            is_cut |= cut;
            bytes.extend(is_behind(cut).then_some(ABOVE_ALL));
            bytes
        };
        let lower = match from {
            Bound::Unbounded => prefix.clone(),
            Bound::Included(value) => bound(value, |_| false),
            Bound::Excluded(value) => bound(value, |cut| !cut),
        };
        let upper = match to {
            Bound::Unbounded if prefix.is_empty() => None,
            Bound::Unbounded => Some(prefix.iter().copied().chain([ABOVE_ALL]).collect()),
            Bound::Included(value) => Some(bound(value, |_| true)),
            Bound::Excluded(value) => Some(bound(value, |cut| cut)),
        };
        IndexRange { range: KeyRange { lower: lower.into(), upper: upper.map(Arc::from) }, is_cut }
    }
}

/// Appends a value. Says whether others have the same bytes, because it or they are cut.
pub(crate) fn encode_indexed(value: &Value, out: &mut Vec<u8>) -> bool {
    let cut = |bytes: &[u8]| bytes.len().min(IndexKey::VALUE_BYTES_MAX);
    let is_shared = |bytes: &[u8]| bytes.len() >= IndexKey::VALUE_BYTES_MAX;
    match value {
        Value::Null => out.push(NULL),
        Value::Float(number) => {
            let bits = number.to_bits();
            let ordered = if number.is_sign_negative() { !bits } else { bits | 1 << 63 };
            out.push(FLOAT);
            out.extend_from_slice(&ordered.to_be_bytes());
        }
        Value::String(text) => {
            encode_escaped(STRING, &text.as_bytes()[..cut(text.as_bytes())], out);
            return is_shared(text.as_bytes());
        }
        Value::Bytes(bytes) => {
            encode_escaped(BYTES, &bytes[..cut(bytes)], out);
            return is_shared(bytes);
        }
        // No schema has an index with a blob.
        Value::Blob(blob) => encode_escaped(BYTES, &blob.digest().to_bytes(), out),
        Value::Bool(_) | Value::Int(_) | Value::Id(_) => encode(value, out).expect("a key holds such a value"),
    }
    false
}

/// The encodings of the first values that all keys of the range begin with.
pub(crate) fn fixed_values(range: &KeyRange) -> Vec<&[u8]> {
    let Some(upper) = &range.upper else { return Vec::new() };
    let common = range.lower.iter().zip(&**upper).take_while(|(a, b)| a == b).count();
    let mut rest = &range.lower[..common];
    let mut values = Vec::new();
    while let Some((value, behind)) = split_value(rest) {
        // What looks like the end of a string is not, if it is escaped in a key of the range.
        let may_go_on = matches!(value[0], STRING | BYTES) && upper.get(common) == Some(&ESCAPE);
        if behind.is_empty() && may_go_on && upper.len() > common + 1 {
            break;
        }
        values.push(value);
        rest = behind;
    }
    values
}

/// The first value, and what is behind it; none if it is not whole.
pub(crate) fn split_value(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let tag = *bytes.first()?;
    let length = match tag {
        STRING | BYTES => {
            let mut at = 1;
            loop {
                match (bytes.get(at)?, bytes.get(at + 1)) {
                    (&END, Some(&ESCAPE)) => at += 2,
                    (&END, _) => break at + 1,
                    _ => at += 1,
                }
            }
        }
        ID => 17,
        FLOAT => 9,
        _ if tag.abs_diff(INT_ZERO) <= 8 => 1 + usize::from(tag.abs_diff(INT_ZERO)),
        _ => 1,
    };
    bytes.split_at_checked(length)
}

/// Whether any key that begins with these whole values may lie in the range.
pub(crate) fn has_some_with(range: &KeyRange, prefix: &[u8]) -> bool {
    let begins_below_the_end = range.upper.as_ref().is_none_or(|upper| prefix < &**upper);
    let reaches_the_beginning = match range.lower.strip_prefix(prefix) {
        Some(behind) => behind.first() != Some(&ABOVE_ALL),
        None => *range.lower <= *prefix,
    };
    begins_below_the_end && reaches_the_beginning
}

#[cfg(test)]
mod tests;
