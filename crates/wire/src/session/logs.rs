//! The states of logs, as members and gateways speak of them.

use iolite_values::{LogId, RowKey};

use crate::DecodeError;
use crate::encoding::{Reader, Writer};
use crate::generated::proto;
use crate::limits::{LOG_PART, NAME};
use crate::message::{LogHash, LogPart};

pub(super) fn write_hash(hash: &LogHash, writer: &mut Writer) -> proto::LogHash {
    proto::LogHash {
        log: writer.text(&hash.log.name, NAME),
        instance: hash.log.instance.as_bytes().to_vec(),
        block: hash.block,
        index: hash.index,
        hash: hash.hash.to_vec(),
        parts: hash.parts,
    }
}

pub(super) fn read_hash(hash: proto::LogHash, reader: &Reader) -> Result<LogHash, DecodeError> {
    let log = read_log(hash.log, &hash.instance, reader)?;
    let of_32_bytes = hash.hash.try_into().map_err(|_| DecodeError::malformed("a hash of a log is 32 bytes"))?;
    Ok(LogHash { log, block: hash.block, index: hash.index, hash: of_32_bytes, parts: hash.parts })
}

pub(super) fn write_part(part: &LogPart, writer: &mut Writer) -> proto::LogPart {
    writer.count(part.state.len(), LOG_PART);
    proto::LogPart {
        log: writer.text(&part.log.name, NAME),
        instance: part.log.instance.as_bytes().to_vec(),
        block: part.block,
        part: part.part,
        state: part.state.clone(),
    }
}

pub(super) fn read_part(part: proto::LogPart, reader: &Reader) -> Result<LogPart, DecodeError> {
    reader.count(part.state.len(), LOG_PART)?;
    let log = read_log(part.log, &part.instance, reader)?;
    Ok(LogPart { log, block: part.block, part: part.part, state: part.state })
}

fn read_log(name: String, instance: &[u8], reader: &Reader) -> Result<LogId, DecodeError> {
    let instance = RowKey::from_bytes(instance).map_err(|_| DecodeError::malformed("an instance is a key"))?;
    Ok(LogId { name: reader.text(name, NAME)?.into(), instance })
}
