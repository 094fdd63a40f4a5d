//! Messages of a node on `/objects`.

use iolite_values::{Id, NodeId, NodeLife, ObjectEpoch, ObjectName};

use super::parts::{
    Part, read_bytes, read_epoch, read_name, read_node, read_part, write_bytes, write_epoch, write_name, write_node,
    write_part,
};
use super::tracking::{read_begin, read_classes, write_begin, write_classes};
use super::{Answer, Begin, NotRun, OfferedClass, Rpc, answer, rpc};
use crate::encoding::{Reader, Writer, identity, required};
use crate::generated::proto::{self, from_device_frame::Message};
use crate::generated::shapes;
use crate::limits::{FROM_DEVICE, TOKEN};
use crate::message::ProtocolVersion;
use crate::{DecodeError, EncodeError, frame};

/// A message of a node on `/objects`. Numbers are chosen by the node, from 1, and none is used twice on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromDevice {
    /// The first message of a connection.
    Hello(DeviceHello),
    /// Run this call at the object's node.
    Call { number: u64, to: NodeId, rpc: Rpc },
    /// Answers the [`super::ToDevice::Run`] with this number.
    Answer { number: u64, answer: Answer },
    /// Where is this object?
    Find { number: u64, object: ObjectName },
    /// An object begins at this device.
    Begin { number: u64, begin: Begin },
    /// An object begins at a node that the server chooses. Its first state is CBOR.
    Create { number: u64, begin: Begin, state: Vec<u8> },
    /// Answers the [`super::ToDevice::Hold`] with this number.
    Held { number: u64, held: Result<(), NotRun> },
    /// An object that is here, in this epoch, goes to another node. Its state is CBOR.
    Move { number: u64, begin: Begin, epoch: ObjectEpoch, to: NodeId, state: Vec<u8> },
    /// An object that was here in this epoch stays here, in a new one: its move is in doubt.
    Keep { number: u64, object: ObjectName, epoch: ObjectEpoch },
    /// The object's row names this node in this epoch, which has no such object: it is gone.
    Missing { object: ObjectName, epoch: ObjectEpoch },
    /// Answered with [`super::ToDevice::Pong`].
    Ping { number: u64 },
    /// A part of the state of the `Create` or the `Move` with this number, which is still to come.
    Part { number: u64, part: Part },
    /// Another token, of the same user: it takes the place of the one before.
    Token(String),
}

/// The first message of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceHello {
    pub oldest_version: ProtocolVersion,
    pub newest_version: ProtocolVersion,
    /// As at the hello of a session of `/sync`.
    pub token: String,
    /// Drawn by the node. The server makes the name of the node of it and of who the user is, and tells that in its welcome.
    pub device: Id,
    /// The life that it had on an earlier connection. 0: it has none yet.
    pub life: NodeLife,
    /// The node is part of the service, and no device of a user.
    pub serves: bool,
    pub classes: Vec<OfferedClass>,
    /// Counts the connections of its process, from 1.
    pub connection: u64,
}

impl FromDevice {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let message = match self {
            FromDevice::Hello(hello) => Message::Hello(write_hello(hello, &mut writer)),
            FromDevice::Call { number, to, rpc } => {
                let rpc = Some(rpc::write(rpc, &mut writer));
                Message::Call(proto::DeviceCall { number: *number, to: Some(write_node(*to)), rpc })
            }
            FromDevice::Answer { number, answer } => {
                let answer = Some(answer::write(answer, &mut writer));
                Message::Answer(proto::DeviceAnswer { number: *number, answer })
            }
            FromDevice::Find { number, object } => {
                Message::Find(proto::DeviceFind { number: *number, object: Some(write_name(object)) })
            }
            FromDevice::Begin { number, begin } => {
                let begin = Some(write_begin(begin, &mut writer));
                Message::Begin(proto::DeviceBegin { number: *number, begin })
            }
            FromDevice::Create { number, begin, state } => {
                let (begin, state) = (Some(write_begin(begin, &mut writer)), write_bytes(state, &mut writer));
                Message::Create(proto::DeviceCreate { number: *number, begin, state })
            }
            FromDevice::Held { number, held } => {
                let refused = held.as_ref().err().map(|refused| answer::write_not_run(refused, &mut writer));
                Message::Held(proto::DeviceHeld { number: *number, refused })
            }
            FromDevice::Move { number, begin, epoch, to, state } => Message::Move(proto::DeviceMove {
                number: *number,
                object: Some(write_begin(begin, &mut writer)),
                epoch: epoch.0,
                to: Some(write_node(*to)),
                state: write_bytes(state, &mut writer),
            }),
            FromDevice::Keep { number, object, epoch } => {
                let object = Some(write_name(object));
                Message::Keep(proto::DeviceKeep { number: *number, object, epoch: epoch.0 })
            }
            FromDevice::Missing { object, epoch } => Message::Missing(write_epoch(object, *epoch)),
            FromDevice::Ping { number } => Message::Ping(proto::DevicePing { number: *number }),
            FromDevice::Part { number, part } => Message::Part(write_part(*number, part, &mut writer)),
            FromDevice::Token(token) => Message::Token(writer.text(token, TOKEN)),
        };
        writer.check()?;
        frame::encode(&proto::FromDeviceFrame { message: Some(message) }, shapes::FROM_DEVICE_FRAME, FROM_DEVICE)
    }

    /// # Errors
    /// [`DecodeError`]: the node is of another version, or wrong.
    pub fn decode(bytes: &[u8]) -> Result<FromDevice, DecodeError> {
        let frame: proto::FromDeviceFrame = frame::decode(bytes, shapes::FROM_DEVICE_FRAME, FROM_DEVICE)?;
        let reader = Reader::default();
        Ok(match required(frame.message, "no message that is known here")? {
            Message::Hello(hello) => FromDevice::Hello(read_hello(hello, &reader)?),
            Message::Call(call) => {
                FromDevice::Call { number: call.number, to: read_node(call.to)?, rpc: rpc::read(call.rpc, &reader)? }
            }
            Message::Answer(answer) => {
                FromDevice::Answer { number: answer.number, answer: answer::read(answer.answer, &reader)? }
            }
            Message::Find(find) => FromDevice::Find { number: find.number, object: read_name(find.object)? },
            Message::Begin(begin) => {
                FromDevice::Begin { number: begin.number, begin: read_begin(begin.begin, &reader)? }
            }
            Message::Create(create) => FromDevice::Create {
                number: create.number,
                begin: read_begin(create.begin, &reader)?,
                state: read_bytes(create.state, &reader)?,
            },
            Message::Held(held) => {
                let refused = held.refused.map(|refused| answer::read_not_run(refused, &reader)).transpose()?;
                FromDevice::Held { number: held.number, held: refused.map_or(Ok(()), Err) }
            }
            Message::Move(going) => FromDevice::Move {
                number: going.number,
                begin: read_begin(going.object, &reader)?,
                epoch: ObjectEpoch(going.epoch),
                to: read_node(going.to)?,
                state: read_bytes(going.state, &reader)?,
            },
            Message::Keep(keep) => FromDevice::Keep {
                number: keep.number,
                object: read_name(keep.object)?,
                epoch: ObjectEpoch(keep.epoch),
            },
            Message::Missing(missing) => {
                let (object, epoch) = read_epoch(missing)?;
                FromDevice::Missing { object, epoch }
            }
            Message::Ping(ping) => FromDevice::Ping { number: ping.number },
            Message::Part(part) => {
                let (number, part) = read_part(part, &reader)?;
                FromDevice::Part { number, part }
            }
            Message::Token(token) => FromDevice::Token(reader.text(token, TOKEN)?),
        })
    }
}

fn write_hello(hello: &DeviceHello, writer: &mut Writer) -> proto::DeviceHello {
    proto::DeviceHello {
        oldest_version: hello.oldest_version.0,
        newest_version: hello.newest_version.0,
        token: writer.text(&hello.token, TOKEN),
        device: hello.device.to_bytes().to_vec(),
        life: hello.life.0,
        serves: hello.serves,
        classes: write_classes(&hello.classes, writer),
        connection: hello.connection,
    }
}

fn read_hello(hello: proto::DeviceHello, reader: &Reader) -> Result<DeviceHello, DecodeError> {
    Ok(DeviceHello {
        oldest_version: ProtocolVersion(hello.oldest_version),
        newest_version: ProtocolVersion(hello.newest_version),
        token: reader.text(hello.token, TOKEN)?,
        device: identity(&hello.device)?,
        life: NodeLife(hello.life),
        serves: hello.serves,
        classes: read_classes(hello.classes, reader)?,
        connection: hello.connection,
    })
}
