//! A call of a method.

use std::time::Duration;

use iolite_values::{DeviceRight, Id, NodeId, ObjectEpoch, ObjectName};

use super::parts::{read_bytes, read_chain, read_name, read_node, write_bytes, write_chain, write_name, write_node};
use super::tracking::{read_devices, write_devices};
use crate::DecodeError;
use crate::encoding::{Reader, Writer, identity, required};
use crate::generated::proto;
use crate::limits::{CALL_CHAIN, CALLER, METHOD};

/// The identity of a call. A call from inside of a method has that of the method's own call, and where it stands in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RpcId {
    /// Drawn by the kernel of the first caller when it started.
    pub kernel: Id,
    pub counter: u64,
    /// The place of each nested call in the call around it, from the outermost.
    pub path: Vec<u32>,
}

/// Whether a method may change its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallMode {
    Read,
    Write,
}

/// The part of an object that a call is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// A method of the object.
    #[default]
    Method,
    /// The manager of this layer, beside the object.
    Instance(u8),
    /// The manager of this layer, at a node that calls the object or has a copy of it.
    Proxy(u8),
    /// The manager of this layer, at the server that coordinates the object.
    Coordinator(u8),
}

/// A call of a method, or a message of a manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rpc {
    pub id: RpcId,
    pub object: ObjectName,
    /// The epoch that the caller knows of.
    pub epoch: ObjectEpoch,
    /// The version of the caller's methods.
    pub version: u32,
    pub method: String,
    pub mode: CallMode,
    /// The objects whose methods wait for this call, from the outermost.
    pub chain: Vec<ObjectName>,
    /// How long the caller waits still: in milliseconds on its way.
    pub time_left: Duration,
    /// The user whose session the call came in by. The server at which it entered writes this.
    pub caller: String,
    /// CBOR: an array. Of a message of a manager: whatever it says.
    pub arguments: Vec<u8>,
    /// The node that calls. The server at which the call entered writes this.
    pub from: Option<NodeId>,
    pub component: Component,
    /// The copy that the caller wants to have. `Call`: none. The server at which the call entered has looked whether its user may.
    pub claim: DeviceRight,
    /// The caller is a device of a user. The server at which the call entered writes this.
    pub by_device: bool,
}

impl Rpc {
    /// Bytes that it takes in memory, about.
    pub fn size_bytes(&self) -> usize {
        let names = self.chain.iter().chain([&self.object]).map(|name| name.class().len() + name.id().len());
        size_of::<Rpc>() + names.sum::<usize>() + self.method.len() + self.caller.len() + self.arguments.len()
    }
}

pub(super) fn write(rpc: &Rpc, writer: &mut Writer) -> proto::ObjectRpc {
    writer.count(rpc.id.path.len(), CALL_CHAIN);
    let (component, layer) = write_component(rpc.component);
    let (kernel, counter, path) = (rpc.id.kernel.to_bytes().to_vec(), rpc.id.counter, rpc.id.path.clone());
    proto::ObjectRpc {
        id: Some(proto::ObjectRpcId { kernel, counter, path }),
        object: Some(write_name(&rpc.object)),
        epoch: rpc.epoch.0,
        version: rpc.version,
        method: writer.text(&rpc.method, METHOD),
        reads: rpc.mode == CallMode::Read,
        chain: write_chain(&rpc.chain, writer),
        time_left: u32::try_from(rpc.time_left.as_millis()).unwrap_or(u32::MAX),
        caller: writer.text(&rpc.caller, CALLER),
        arguments: write_bytes(&rpc.arguments, writer),
        from: rpc.from.map(write_node),
        component: component.into(),
        layer,
        claim: write_devices(rpc.claim).into(),
        by_device: rpc.by_device,
    }
}

pub(super) fn read(rpc: Option<proto::ObjectRpc>, reader: &Reader) -> Result<Rpc, DecodeError> {
    let rpc = required(rpc, "a call of nothing")?;
    let id = required(rpc.id, "a call without its id")?;
    reader.count(id.path.len(), CALL_CHAIN)?;
    Ok(Rpc {
        id: RpcId { kernel: identity(&id.kernel)?, counter: id.counter, path: id.path },
        object: read_name(rpc.object)?,
        epoch: ObjectEpoch(rpc.epoch),
        version: rpc.version,
        method: reader.text(rpc.method, METHOD)?,
        mode: if rpc.reads { CallMode::Read } else { CallMode::Write },
        chain: read_chain(rpc.chain, reader)?,
        time_left: Duration::from_millis(rpc.time_left.into()),
        caller: reader.text(rpc.caller, CALLER)?,
        arguments: read_bytes(rpc.arguments, reader)?,
        from: rpc.from.map(|from| read_node(Some(from))).transpose()?,
        component: read_component(rpc.component, rpc.layer)?,
        claim: read_devices(rpc.claim)?,
        by_device: rpc.by_device,
    })
}

fn write_component(component: Component) -> (proto::ObjectComponent, u32) {
    match component {
        Component::Method => (proto::ObjectComponent::Method, 0),
        Component::Instance(layer) => (proto::ObjectComponent::Instance, layer.into()),
        Component::Proxy(layer) => (proto::ObjectComponent::Proxy, layer.into()),
        Component::Coordinator(layer) => (proto::ObjectComponent::Coordinator, layer.into()),
    }
}

fn read_component(component: i32, layer: u32) -> Result<Component, DecodeError> {
    let unknown = DecodeError::malformed("an object has no such part");
    let component = proto::ObjectComponent::try_from(component).map_err(|_| unknown)?;
    let layer = u8::try_from(layer).map_err(|_| unknown)?;
    match component {
        proto::ObjectComponent::Method if layer == 0 => Ok(Component::Method),
        proto::ObjectComponent::Method => Err(unknown),
        proto::ObjectComponent::Instance => Ok(Component::Instance(layer)),
        proto::ObjectComponent::Proxy => Ok(Component::Proxy(layer)),
        proto::ObjectComponent::Coordinator => Ok(Component::Coordinator(layer)),
    }
}
