//! Changes of a client's storage, as bytes: a record of its journal.
//!
//! A version; then for each change a length and the key, and a length and the value, or [`DELETED`] for its length. Lengths are four bytes,
//! big-endian.

use std::collections::BTreeMap;

use iolite_client::StorageChange;

const VERSION: u8 = 1;
/// In place of a value's length.
const DELETED: u32 = u32::MAX;

/// Everything that is stored.
pub(crate) type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) fn encode<'a>(changes: impl IntoIterator<Item = &'a StorageChange>) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    for change in changes {
        match change {
            StorageChange::Put { key, value } => put(&mut bytes, key, value),
            StorageChange::Delete { key } => {
                push(&mut bytes, key);
                bytes.extend_from_slice(&DELETED.to_be_bytes());
            }
        }
    }
    bytes
}

/// Parts of all entries, of about `bytes_max` bytes each.
pub(crate) fn encode_parts(entries: &Entries, bytes_max: usize) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut part = vec![VERSION];
    for (key, value) in entries {
        put(&mut part, key, value);
        if part.len() >= bytes_max {
            parts.push(std::mem::replace(&mut part, vec![VERSION]));
        }
    }
    parts.push(part);
    parts
}

/// Applies what was encoded.
///
/// # Errors
/// What is wrong with the bytes.
pub(crate) fn apply(entries: &mut Entries, bytes: &[u8]) -> Result<(), &'static str> {
    let mut rest = match bytes.split_first() {
        Some((&VERSION, rest)) => rest,
        Some(_) => return Err("it is in a format that this version does not know: use a newer one"),
        None => return Err("a record is empty"),
    };
    while !rest.is_empty() {
        let length = take_length(&mut rest)?;
        let key = take(&mut rest, length)?.to_vec();
        match take_length(&mut rest)? {
            DELETED => drop(entries.remove(&key)),
            length => drop(entries.insert(key, take(&mut rest, length)?.to_vec())),
        }
    }
    Ok(())
}

fn put(bytes: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    push(bytes, key);
    push(bytes, value);
}

fn push(bytes: &mut Vec<u8>, part: &[u8]) {
    let length = u32::try_from(part.len()).ok().filter(|length| *length != DELETED);
    bytes.extend_from_slice(&length.expect("the core stores entries of 32 MiB at most").to_be_bytes());
    bytes.extend_from_slice(part);
}

fn take_length(rest: &mut &[u8]) -> Result<u32, &'static str> {
    let bytes = take(rest, 4)?.try_into().expect("four bytes were taken");
    Ok(u32::from_be_bytes(bytes))
}

fn take<'a>(rest: &mut &'a [u8], length: u32) -> Result<&'a [u8], &'static str> {
    let (taken, left) = rest.split_at_checked(length as usize).ok_or("a record ends in its middle")?;
    *rest = left;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_read_back_and_deletions_delete() {
        let put = |key: &[u8], value: &[u8]| StorageChange::Put { key: key.to_vec(), value: value.to_vec() };
        let mut entries = Entries::new();
        apply(&mut entries, &encode(&[put(b"a", b"1"), put(b"b", b""), put(b"c", b"3")])).expect("whole");
        apply(&mut entries, &encode(&[StorageChange::Delete { key: b"c".to_vec() }])).expect("whole");
        let all: Vec<_> = entries.iter().map(|(key, value)| (&key[..], &value[..])).collect();
        assert_eq!(all, [(&b"a"[..], &b"1"[..]), (b"b", b"")]);
        let mut again = Entries::new();
        for part in encode_parts(&entries, 8) {
            apply(&mut again, &part).expect("whole");
        }
        assert_eq!(again, entries);
    }

    #[test]
    fn bytes_that_are_no_changes_are_an_error() {
        let whole = encode(&[StorageChange::Put { key: b"key".to_vec(), value: b"value".to_vec() }]);
        for length in (2..whole.len()).chain([0]) {
            assert!(apply(&mut Entries::new(), &whole[..length]).is_err(), "{length}");
        }
        assert!(apply(&mut Entries::new(), &[9, 0]).is_err());
    }
}
