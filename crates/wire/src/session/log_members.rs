//! The members of a log.

use std::collections::BTreeSet;

use iolite_values::{Id, LogId};

use crate::DecodeError;
use crate::encoding::{Reader, Writer, identity, row_key};
use crate::generated::proto;
use crate::limits::{LOG_MEMBERS, NAME};
use crate::message::LogMembers;

const BYTES: usize = 16;

pub(super) fn write(members: &LogMembers, writer: &mut Writer) -> proto::LogMembers {
    let LogMembers { log, is_whole, joined, left } = members;
    for origins in [joined, left] {
        writer.count(origins.len(), LOG_MEMBERS);
    }
    let bytes = |origins: &BTreeSet<Id>| origins.iter().flat_map(|origin| origin.to_bytes()).collect();
    proto::LogMembers {
        log: writer.text(&log.name, NAME),
        instance: log.instance.as_bytes().to_vec(),
        whole: *is_whole,
        joined: bytes(joined),
        left: bytes(left),
    }
}

pub(super) fn read(members: proto::LogMembers, reader: &Reader) -> Result<LogMembers, DecodeError> {
    let log = LogId { name: reader.text(members.log, NAME)?.into(), instance: row_key(&members.instance)? };
    let (joined, left) = (origins(&members.joined, reader)?, origins(&members.left, reader)?);
    if members.whole && !left.is_empty() || !joined.is_disjoint(&left) {
        return Err(DecodeError::malformed("members of a log that are there and gone"));
    }
    Ok(LogMembers { log, is_whole: members.whole, joined, left })
}

fn origins(bytes: &[u8], reader: &Reader) -> Result<BTreeSet<Id>, DecodeError> {
    reader.count(bytes.len().div_ceil(BYTES), LOG_MEMBERS)?;
    let mut origins = BTreeSet::new();
    for origin in bytes.chunks(BYTES) {
        let origin = identity(origin)?;
        if origins.last().is_some_and(|last| *last >= origin) {
            return Err(DecodeError::malformed("members of a log that are not in order"));
        }
        origins.insert(origin);
    }
    Ok(origins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(is_whole: bool, joined: &[u8], left: &[u8]) -> proto::LogMembers {
        let instance = vec![3, 1, 5];
        let wide = |ids: &[u8]| ids.iter().flat_map(|id| [*id; BYTES]).collect();
        proto::LogMembers { log: "sheet".into(), instance, whole: is_whole, joined: wide(joined), left: wide(left) }
    }

    #[test]
    fn members_that_no_gateway_tells_are_refused() {
        let reader = Reader::default();
        let check = |own: proto::LogMembers| origins(&own.joined, &reader).and_then(|_| origins(&own.left, &reader));
        assert!(check(message(false, &[1, 2], &[3])).is_ok());
        assert!(check(message(false, &[2, 1], &[])).is_err(), "not in order");
        assert!(check(message(false, &[], &[1, 1])).is_err(), "twice");
        let cut = proto::LogMembers { joined: vec![1; 17], ..message(false, &[], &[]) };
        assert!(check(cut).is_err(), "half an origin");
        let many = proto::LogMembers { joined: vec![1; 257 * BYTES], ..message(false, &[], &[]) };
        assert_eq!(check(many), Err(DecodeError::TooLarge { limit: LOG_MEMBERS }));
        let key = iolite_values::RowKey::new(&[iolite_values::Value::Int(1)]).expect("short");
        let whole =
            |own: proto::LogMembers| read(proto::LogMembers { instance: key.as_bytes().to_vec(), ..own }, &reader);
        assert!(whole(message(true, &[1, 2], &[])).is_ok());
        assert!(whole(message(true, &[1], &[2])).is_err(), "all, and one that left");
        assert!(whole(message(false, &[1], &[1])).is_err(), "there and gone");
    }
}
