//! An object that a node is to take.

use iolite_values::ObjectEpoch;

use super::Begin;
use super::parts::{read_bytes, write_bytes};
use super::tracking::{read_begin, write_begin};
use crate::DecodeError;
use crate::encoding::{Reader, Writer};
use crate::generated::proto;

/// Take this object with its state, in CBOR, and do not serve it yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub number: u64,
    pub begin: Begin,
    /// The epoch in which it is going to be served. 0: it is new, and its row says which.
    pub epoch: ObjectEpoch,
    pub state: Vec<u8>,
}

pub(super) fn write_hold(
    number: u64,
    begin: &Begin,
    epoch: ObjectEpoch,
    state: &[u8],
    writer: &mut Writer,
) -> proto::DeviceHold {
    let begin = Some(write_begin(begin, writer));
    proto::DeviceHold { number, begin, epoch: epoch.0, state: write_bytes(state, writer) }
}

pub(super) fn read_hold(hold: proto::DeviceHold, reader: &Reader) -> Result<Hold, DecodeError> {
    Ok(Hold {
        number: hold.number,
        begin: read_begin(hold.begin, reader)?,
        epoch: ObjectEpoch(hold.epoch),
        state: read_bytes(hold.state, reader)?,
    })
}
