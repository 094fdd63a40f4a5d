//! Messages between servers.

use iolite_values::{NodeId, ObjectEpoch, ObjectName, StoreIncarnation};

use super::hold::{Hold, read_hold, write_hold};
use super::parts::{Part, read_epoch, read_node, read_part, write_epoch, write_node, write_part};
use super::tracking::{read_served, write_served};
use super::{Answer, NotRun, OfferedClass, Rpc, answer, rpc};
use crate::encoding::{Reader, Writer, identity, required};
use crate::generated::proto::{self, peer_frame::Message, peer_held};
use crate::generated::shapes;
use crate::limits::PEER;
use crate::{DecodeError, EncodeError, frame};

/// A message of a server to another one. Numbers are chosen by the sender, from 1, and none is used twice on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerMessage {
    /// The first message on a link, and again when one of these changes.
    Hello(PeerHello),
    /// Run this call at a node that is there, or connected there.
    Call { number: u64, to: NodeId, rpc: Rpc },
    /// Answers the call with this number.
    Answer { number: u64, answer: Answer },
    /// Have this node take an object. None: any that is there, serves, and runs its class.
    Hold { to: Option<NodeId>, hold: Hold },
    /// Answers the hold with this number: the node that holds the object.
    Held { number: u64, held: Result<NodeId, NotRun> },
    /// This epoch is committed: have the node serve it.
    Serve { to: NodeId, object: ObjectName, epoch: ObjectEpoch },
    /// This epoch is not: have the node forget what it holds for it.
    Drop { to: NodeId, object: ObjectName, epoch: ObjectEpoch },
    /// A part of the state of the hold with this number, which is still to come.
    Part { number: u64, part: Part },
}

/// The state of a server, as far as others have to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerHello {
    /// Servers of different stores have nothing to say to each other.
    pub store: StoreIncarnation,
    /// The classes of nodes that serve, and which it can reach by itself.
    pub classes: Vec<ServedClass>,
}

/// A class that nodes of the service run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedClass {
    pub class: OfferedClass,
    /// Some of the nodes.
    pub nodes: Vec<NodeId>,
}

impl PeerMessage {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let message = match self {
            PeerMessage::Hello(hello) => Message::Hello(proto::PeerHello {
                store: hello.store.0.to_bytes().to_vec(),
                classes: write_served(&hello.classes, &mut writer),
            }),
            PeerMessage::Call { number, to, rpc } => {
                let rpc = Some(rpc::write(rpc, &mut writer));
                Message::Call(proto::DeviceCall { number: *number, to: Some(write_node(*to)), rpc })
            }
            PeerMessage::Answer { number, answer } => {
                let answer = Some(answer::write(answer, &mut writer));
                Message::Answer(proto::DeviceAnswer { number: *number, answer })
            }
            PeerMessage::Hold { to, hold: Hold { number, begin, epoch, state } } => {
                let hold = Some(write_hold(*number, begin, *epoch, state, &mut writer));
                Message::Hold(proto::PeerHold { to: to.map(write_node), hold })
            }
            PeerMessage::Held { number, held } => Message::Held(write_held(*number, held, &mut writer)),
            PeerMessage::Serve { to, object, epoch } => Message::Serve(write_serve(*to, object, *epoch)),
            PeerMessage::Drop { to, object, epoch } => Message::Drop(write_serve(*to, object, *epoch)),
            PeerMessage::Part { number, part } => Message::Part(write_part(*number, part, &mut writer)),
        };
        writer.check()?;
        frame::encode(&proto::PeerFrame { message: Some(message) }, shapes::PEER_FRAME, PEER)
    }

    /// # Errors
    /// [`DecodeError`]: the server is of another version, or wrong.
    pub fn decode(bytes: &[u8]) -> Result<PeerMessage, DecodeError> {
        let frame: proto::PeerFrame = frame::decode(bytes, shapes::PEER_FRAME, PEER)?;
        let reader = Reader::default();
        Ok(match required(frame.message, "no message that is known here")? {
            Message::Hello(hello) => PeerMessage::Hello(PeerHello {
                store: StoreIncarnation(identity(&hello.store)?),
                classes: read_served(hello.classes, &reader)?,
            }),
            Message::Call(call) => {
                PeerMessage::Call { number: call.number, to: read_node(call.to)?, rpc: rpc::read(call.rpc, &reader)? }
            }
            Message::Answer(answer) => {
                PeerMessage::Answer { number: answer.number, answer: answer::read(answer.answer, &reader)? }
            }
            Message::Hold(hold) => PeerMessage::Hold {
                to: hold.to.map(|to| read_node(Some(to))).transpose()?,
                hold: read_hold(required(hold.hold, "nothing is to be held")?, &reader)?,
            },
            Message::Held(held) => read_held(held, &reader)?,
            Message::Serve(serve) => {
                let (to, object, epoch) = read_serve(serve)?;
                PeerMessage::Serve { to, object, epoch }
            }
            Message::Drop(drop) => {
                let (to, object, epoch) = read_serve(drop)?;
                PeerMessage::Drop { to, object, epoch }
            }
            Message::Part(part) => {
                let (number, part) = read_part(part, &reader)?;
                PeerMessage::Part { number, part }
            }
        })
    }
}

fn write_held(number: u64, held: &Result<NodeId, NotRun>, writer: &mut Writer) -> proto::PeerHeld {
    let held = match held {
        Ok(node) => peer_held::Held::At(write_node(*node)),
        Err(refused) => peer_held::Held::Refused(answer::write_not_run(refused, writer)),
    };
    proto::PeerHeld { number, held: Some(held) }
}

fn read_held(held: proto::PeerHeld, reader: &Reader) -> Result<PeerMessage, DecodeError> {
    let number = held.number;
    let held = match required(held.held, "a hold is neither held nor refused")? {
        peer_held::Held::At(node) => Ok(read_node(Some(node))?),
        peer_held::Held::Refused(refused) => Err(answer::read_not_run(refused, reader)?),
    };
    Ok(PeerMessage::Held { number, held })
}

fn write_serve(to: NodeId, object: &ObjectName, epoch: ObjectEpoch) -> proto::PeerServe {
    proto::PeerServe { to: Some(write_node(to)), serve: Some(write_epoch(object, epoch)) }
}

fn read_serve(serve: proto::PeerServe) -> Result<(NodeId, ObjectName, ObjectEpoch), DecodeError> {
    let (object, epoch) = read_epoch(required(serve.serve, "no epoch of an object")?)?;
    Ok((read_node(serve.to)?, object, epoch))
}
