//! Row keys: the primary key's values, encoded so that byte order is the order of the values.
//!
//! Invariant: for keys of the same column types, comparing the bytes compares the tuples; a shorter tuple sorts before its extensions.
//! Source: the ordering rules are those of FoundationDB's tuple layer, with our own tags.

mod bytes;

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use self::bytes::KeyBytes;
use crate::{Direction, Id, Value};

/// The encoded primary key of a row. At most [`RowKey::MAX_BYTES`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey(KeyBytes);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("a key column holds a bool, int, string, bytes or id, not {0:?}")]
    Type(Value),
    #[error("a key has at most {max} bytes, not {bytes}", max = RowKey::MAX_BYTES)]
    TooLong { bytes: usize },
    #[error("a key has at least one column")]
    Empty,
    #[error("these bytes are not a key")]
    Malformed,
}

const FALSE: u8 = 0x02;
const TRUE: u8 = 0x03;
/// Integers: the tag tells sign and length, so that longer positive numbers sort later and longer negative ones earlier.
pub(crate) const INT_ZERO: u8 = 0x14;
pub(crate) const STRING: u8 = 0x30;
pub(crate) const BYTES: u8 = 0x31;
pub(crate) const ID: u8 = 0x32;
/// Ends strings and bytes; a zero byte inside them is followed by `ESCAPE`.
pub(crate) const END: u8 = 0x00;
pub(crate) const ESCAPE: u8 = 0xff;
/// No value begins with it: behind a tuple, it makes a bound that all extensions of the tuple sort below.
pub(crate) const ABOVE_ALL: u8 = 0xff;

/// What all extensions of a tuple sort below.
pub(crate) fn above(tuple: &[u8]) -> Arc<[u8]> {
    tuple.iter().copied().chain([ABOVE_ALL]).collect()
}

impl RowKey {
    pub const MAX_BYTES: usize = 1024;

    /// Encodes the primary key's values in the order of its columns.
    ///
    /// # Errors
    /// [`KeyError`] for a value that cannot be in a key, no value at all, or a key that is too long.
    pub fn new(values: &[Value]) -> Result<RowKey, KeyError> {
        if values.is_empty() {
            return Err(KeyError::Empty);
        }
        let mut bytes = Vec::new();
        for value in values {
            encode(value, &mut bytes)?;
        }
        if bytes.len() > RowKey::MAX_BYTES {
            return Err(KeyError::TooLong { bytes: bytes.len() });
        }
        Ok(RowKey(KeyBytes::new(&bytes)))
    }

    /// Takes encoded bytes from a peer or a disk.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] when the bytes are not the encoding of any values; [`KeyError::TooLong`].
    pub fn from_bytes(bytes: &[u8]) -> Result<RowKey, KeyError> {
        let mut rest = bytes;
        let mut canonical = Vec::with_capacity(bytes.len());
        while !rest.is_empty() {
            encode(&decode(&mut rest)?, &mut canonical)?;
        }
        if canonical.is_empty() {
            return Err(KeyError::Empty);
        }
        if canonical.len() > RowKey::MAX_BYTES {
            return Err(KeyError::TooLong { bytes: canonical.len() });
        }
        if canonical == bytes { Ok(RowKey(KeyBytes::new(bytes))) } else { Err(KeyError::Malformed) }
    }

    /// A bound for look-ups in maps of keys: it sorts as `bytes` do, and need not be a key.
    pub fn bound(bytes: &[u8]) -> RowKey {
        RowKey(KeyBytes::new(bytes))
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// Decodes the values.
    ///
    /// # Errors
    /// [`KeyError::Malformed`]; never for a key made by [`RowKey::new`].
    pub fn values(&self) -> Result<Vec<Value>, KeyError> {
        let mut rest = self.as_bytes();
        let mut values = Vec::new();
        while !rest.is_empty() {
            values.push(decode(&mut rest)?);
        }
        if values.is_empty() { Err(KeyError::Empty) } else { Ok(values) }
    }
}

/// Ordered maps of keys are searched by the bounds of a range, which are bytes.
impl Borrow<[u8]> for RowKey {
    fn borrow(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl fmt::Debug for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.values() {
            Ok(values) => f.debug_list().entries(values).finish(),
            Err(_) => write!(f, "{:02x?}", self.as_bytes()),
        }
    }
}

/// Rows from `lower` (included) to `upper` (not included), or to the table's end. Bounds are bytes in key order, not always keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyRange {
    pub lower: Arc<[u8]>,
    pub upper: Option<Arc<[u8]>>,
}

impl KeyRange {
    /// The bytes of its bounds.
    pub fn size_bytes(&self) -> usize {
        self.lower.len() + self.upper.as_ref().map_or(0, |upper| upper.len())
    }

    pub fn all() -> KeyRange {
        KeyRange { lower: Arc::from([]), upper: None }
    }

    /// No row.
    pub fn none() -> KeyRange {
        KeyRange { lower: Arc::from([]), upper: Some(Arc::from([])) }
    }

    /// Exactly one row.
    pub fn one(key: &RowKey) -> KeyRange {
        KeyRange { lower: key.as_bytes().into(), upper: Some(successor(key.as_bytes())) }
    }

    /// Every row whose key begins with these values; all rows for none.
    ///
    /// # Errors
    /// As [`RowKey::new`].
    pub fn prefix(values: &[Value]) -> Result<KeyRange, KeyError> {
        if values.is_empty() {
            return Ok(KeyRange::all());
        }
        let key = RowKey::new(values)?;
        Ok(KeyRange { lower: key.as_bytes().into(), upper: Some(above(key.as_bytes())) })
    }

    pub fn contains(&self, key: &RowKey) -> bool {
        self.contains_bytes(key.as_bytes())
    }

    /// Whether these bytes lie between the bounds.
    pub fn contains_bytes(&self, bytes: &[u8]) -> bool {
        *self.lower <= *bytes && self.upper.as_ref().is_none_or(|upper| *bytes < **upper)
    }

    pub fn covers(&self, other: &KeyRange) -> bool {
        let upper = match (&self.upper, &other.upper) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(ours), Some(theirs)) => theirs <= ours,
        };
        self.lower <= other.lower && upper
    }

    /// What lies in both.
    #[must_use]
    pub fn within(&self, other: &KeyRange) -> KeyRange {
        let upper = match (&self.upper, &other.upper) {
            (Some(own), Some(theirs)) => Some(own.min(theirs).clone()),
            (Some(upper), None) | (None, Some(upper)) => Some(upper.clone()),
            (None, None) => None,
        };
        KeyRange { lower: (&self.lower).max(&other.lower).clone(), upper }
    }

    /// The part of another range, from one end of it on, that lies in this one.
    pub fn beginning_of(&self, other: &KeyRange, direction: Direction) -> Option<KeyRange> {
        let part = self.within(other);
        let begins = match direction {
            Direction::Ascending => part.lower == other.lower,
            Direction::Descending => part.upper == other.upper,
        };
        (begins && !part.is_empty()).then_some(part)
    }

    /// The rest behind such a part of it.
    #[must_use]
    pub fn behind_part(&self, part: &KeyRange, direction: Direction) -> KeyRange {
        match (direction, &part.upper) {
            (Direction::Ascending, None) => KeyRange::none(),
            (Direction::Ascending, Some(end)) => KeyRange { lower: end.clone(), upper: self.upper.clone() },
            (Direction::Descending, _) => KeyRange { lower: self.lower.clone(), upper: Some(part.lower.clone()) },
        }
    }

    pub fn is_empty(&self) -> bool {
        self.upper.as_ref().is_some_and(|upper| **upper <= *self.lower)
    }

    /// Whether no two keys can lie in it, as by [`KeyRange::one`].
    pub fn is_of_one_row(&self) -> bool {
        self.is_empty() || self.upper.as_ref().is_some_and(|upper| *upper == successor(&self.lower))
    }

    /// The part that comes behind these bytes, in a direction.
    #[must_use]
    pub fn behind(&self, last: &[u8], direction: Direction) -> KeyRange {
        match direction {
            Direction::Ascending => KeyRange { lower: successor(last), upper: self.upper.clone() },
            Direction::Descending => KeyRange { lower: self.lower.clone(), upper: Some(last.into()) },
        }
    }

    /// The part that ends with these bytes, in a direction.
    #[must_use]
    pub fn ending_with(&self, last: &[u8], direction: Direction) -> KeyRange {
        match direction {
            Direction::Ascending => KeyRange { lower: self.lower.clone(), upper: Some(successor(last)) },
            Direction::Descending => KeyRange { lower: last.into(), upper: self.upper.clone() },
        }
    }

    /// The part up to and including `key`.
    pub fn through(&self, key: &RowKey) -> KeyRange {
        KeyRange { lower: self.lower.clone(), upper: Some(successor(key.as_bytes())) }
    }

    /// The part from `key` on.
    pub fn from(&self, key: &RowKey) -> KeyRange {
        KeyRange { lower: key.as_bytes().into(), upper: self.upper.clone() }
    }
}

/// The least bytes above `bytes`.
fn successor(bytes: &[u8]) -> Arc<[u8]> {
    bytes.iter().copied().chain([0]).collect()
}

/// A value that can be in a primary key.
pub(crate) fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), KeyError> {
    match value {
        Value::Bool(value) => out.push(if *value { TRUE } else { FALSE }),
        Value::Int(value) => encode_int(*value, out),
        Value::String(text) => encode_escaped(STRING, text.as_bytes(), out),
        Value::Bytes(bytes) => encode_escaped(BYTES, bytes, out),
        Value::Id(id) => {
            out.push(ID);
            out.extend_from_slice(&id.to_bytes());
        }
        Value::Null | Value::Float(_) | Value::Blob(_) => return Err(KeyError::Type(value.clone())),
    }
    Ok(())
}

fn encode_int(value: i64, out: &mut Vec<u8>) {
    let magnitude = value.unsigned_abs();
    let length = 8 - magnitude.leading_zeros() as u8 / 8;
    if value >= 0 {
        out.push(INT_ZERO + length);
        out.extend_from_slice(&magnitude.to_be_bytes()[8 - usize::from(length)..]);
    } else {
        out.push(INT_ZERO - length);
        out.extend_from_slice(&(!magnitude).to_be_bytes()[8 - usize::from(length)..]);
    }
}

pub(crate) fn encode_escaped(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    for byte in bytes {
        out.push(*byte);
        if *byte == END {
            out.push(ESCAPE);
        }
    }
    out.push(END);
}

fn decode(rest: &mut &[u8]) -> Result<Value, KeyError> {
    let tag = take(rest, 1)?[0];
    match tag {
        FALSE => Ok(Value::Bool(false)),
        TRUE => Ok(Value::Bool(true)),
        STRING => {
            let text = String::from_utf8(decode_escaped(rest)?).map_err(|_| KeyError::Malformed)?;
            Ok(Value::from(text))
        }
        BYTES => Ok(Value::bytes(decode_escaped(rest)?)),
        ID => {
            let bytes = take(rest, 16)?.try_into().expect("sixteen bytes were taken");
            Ok(Value::Id(Id::from_bytes(bytes)))
        }
        _ if tag.abs_diff(INT_ZERO) <= 8 => decode_int(tag, rest),
        _ => Err(KeyError::Malformed),
    }
}

fn decode_int(tag: u8, rest: &mut &[u8]) -> Result<Value, KeyError> {
    let length = usize::from(tag.abs_diff(INT_ZERO));
    let negative = tag < INT_ZERO;
    let mut bytes = if negative { [0xff; 8] } else { [0; 8] };
    bytes[8 - length..].copy_from_slice(take(rest, length)?);
    let raw = u64::from_be_bytes(bytes);
    let magnitude = if negative { !raw } else { raw };
    let value = if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() };
    value.map(Value::Int).ok_or(KeyError::Malformed)
}

fn decode_escaped(rest: &mut &[u8]) -> Result<Vec<u8>, KeyError> {
    let mut bytes = Vec::with_capacity(rest.len());
    loop {
        let byte = take(rest, 1)?[0];
        if byte == END {
            if rest.first() != Some(&ESCAPE) {
                return Ok(bytes);
            }
            take(rest, 1)?;
        }
        bytes.push(byte);
    }
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], KeyError> {
    let (taken, left) = rest.split_at_checked(count).ok_or(KeyError::Malformed)?;
    *rest = left;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value_of(kind: u8) -> BoxedStrategy<Value> {
        match kind {
            0 => any::<bool>().prop_map(Value::Bool).boxed(),
            1 => any::<i64>().prop_map(Value::Int).boxed(),
            2 => (-300i64..300).prop_map(Value::Int).boxed(),
            3 => "[\\x00a-c]{0,4}".prop_map(Value::from).boxed(),
            4 => proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..4)
                .prop_map(Value::bytes)
                .boxed(),
            _ => any::<u128>().prop_map(|bits| Value::Id(Id::from_u128(bits))).boxed(),
        }
    }

    fn tuple(kinds: Vec<u8>) -> impl Strategy<Value = Vec<Value>> {
        kinds.into_iter().map(value_of).collect::<Vec<_>>()
    }

    fn kinds() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(0u8..6, 1..4)
    }

    /// Two tuples of a table's column types, perhaps of different lengths, perhaps one the other's beginning.
    fn pair() -> impl Strategy<Value = (Vec<Value>, Vec<Value>)> {
        let of = |kinds: Vec<u8>| (tuple(kinds.clone()), tuple(kinds), 1usize..4, any::<bool>());
        kinds().prop_flat_map(of).prop_map(|(a, b, length, extend)| {
            let short = (if extend { &b } else { &a })[..length.min(a.len())].to_vec();
            (short, b)
        })
    }

    proptest! {
        #[test]
        fn keys_read_back(values in kinds().prop_flat_map(tuple)) {
            let key = RowKey::new(&values).expect("short");
            prop_assert_eq!(key.values(), Ok(values));
            prop_assert_eq!(RowKey::from_bytes(key.as_bytes()), Ok(key));
        }

        #[test]
        fn byte_order_is_tuple_order((a, b) in pair()) {
            let (ka, kb) = (RowKey::new(&a).expect("short"), RowKey::new(&b).expect("short"));
            prop_assert_eq!(ka.cmp(&kb), a.cmp(&b));
        }

        #[test]
        fn a_prefix_holds_its_extensions_and_nothing_else((a, b) in pair()) {
            let range = KeyRange::prefix(&a).expect("short");
            prop_assert_eq!(range.contains(&RowKey::new(&b).expect("short")), b.starts_with(&a));
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(key) = RowKey::from_bytes(&bytes) {
                prop_assert_eq!(key.as_bytes(), &bytes[..]);
            }
        }
    }

    #[test]
    fn one_row_is_one_row() {
        let key = RowKey::new(&[Value::from("a")]).expect("short");
        let range = KeyRange::one(&key);
        assert!(range.contains(&key));
        assert!(!range.contains(&RowKey::new(&[Value::from("a"), Value::from("b")]).expect("short")));
        assert!(KeyRange::all().covers(&range) && !range.covers(&KeyRange::all()));
    }

    #[test]
    fn floats_and_null_are_no_keys() {
        assert!(matches!(RowKey::new(&[Value::Float(1.0)]), Err(KeyError::Type(_))));
        assert!(matches!(RowKey::new(&[Value::Null]), Err(KeyError::Type(_))));
        assert_eq!(RowKey::new(&[]), Err(KeyError::Empty));
    }
}
