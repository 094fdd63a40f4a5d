//! Parts of several messages: names of objects and nodes, bytes of the app.

use iolite_values::{CoordinatorId, NodeId, NodeLife, NodeName, ObjectEpoch, ObjectName};

use crate::DecodeError;
use crate::encoding::{Reader, Writer, each, identity, required};
use crate::generated::proto::{self, object_node};
use crate::limits::{CALL_CHAIN, OBJECT_BYTES, STATE_PART};

/// A part of a state that is longer than one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The bytes that came before it.
    pub offset: u64,
    pub bytes: Vec<u8>,
}

pub(super) fn write_name(name: &ObjectName) -> proto::ObjectName {
    proto::ObjectName { class: name.class().to_owned(), id: name.id().to_owned() }
}

pub(super) fn read_name(name: Option<proto::ObjectName>) -> Result<ObjectName, DecodeError> {
    let name = required(name, "no object is named")?;
    ObjectName::new(&name.class, &name.id).map_err(|_| DecodeError::malformed("an object has no such name"))
}

pub(super) fn write_chain(chain: &[ObjectName], writer: &mut Writer) -> Vec<proto::ObjectName> {
    writer.count(chain.len(), CALL_CHAIN);
    chain.iter().map(write_name).collect()
}

pub(super) fn read_chain(chain: Vec<proto::ObjectName>, reader: &Reader) -> Result<Vec<ObjectName>, DecodeError> {
    reader.count(chain.len(), CALL_CHAIN)?;
    each(chain, |name| read_name(Some(name)))
}

pub(super) fn write_node(node: NodeId) -> proto::ObjectNode {
    let name = match node.name {
        NodeName::Server(gateway) => object_node::Name::Server(gateway.number().into()),
        NodeName::Device(id) => object_node::Name::Device(id.to_bytes().to_vec()),
    };
    proto::ObjectNode { name: Some(name), life: node.life.0 }
}

pub(super) fn read_node(node: Option<proto::ObjectNode>) -> Result<NodeId, DecodeError> {
    let node = required(node, "no node is named")?;
    let name = match required(node.name, "a node has no name that is known here")? {
        object_node::Name::Server(number) => {
            let number = u16::try_from(number).ok().and_then(CoordinatorId::new);
            NodeName::Server(required(number, "no gateway has such a number")?)
        }
        object_node::Name::Device(id) => NodeName::Device(identity(&id)?),
    };
    Ok(NodeId { name, life: NodeLife(node.life) })
}

pub(super) fn write_bytes(bytes: &[u8], writer: &mut Writer) -> Vec<u8> {
    writer.count(bytes.len(), OBJECT_BYTES);
    bytes.to_vec()
}

pub(super) fn read_bytes(bytes: Vec<u8>, reader: &Reader) -> Result<Vec<u8>, DecodeError> {
    reader.count(bytes.len(), OBJECT_BYTES)?;
    Ok(bytes)
}

pub(super) fn write_epoch(object: &ObjectName, epoch: ObjectEpoch) -> proto::DeviceServe {
    proto::DeviceServe { object: Some(write_name(object)), epoch: epoch.0 }
}

pub(super) fn read_epoch(serve: proto::DeviceServe) -> Result<(ObjectName, ObjectEpoch), DecodeError> {
    Ok((read_name(serve.object)?, ObjectEpoch(serve.epoch)))
}

pub(super) fn write_part(number: u64, part: &Part, writer: &mut Writer) -> proto::DevicePart {
    writer.count(part.bytes.len(), STATE_PART);
    proto::DevicePart { number, offset: part.offset, bytes: part.bytes.clone() }
}

pub(super) fn read_part(part: proto::DevicePart, reader: &Reader) -> Result<(u64, Part), DecodeError> {
    reader.count(part.bytes.len(), STATE_PART)?;
    Ok((part.number, Part { offset: part.offset, bytes: part.bytes }))
}
