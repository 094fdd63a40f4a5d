//! Messages of a server on `/objects`.

use std::time::Duration;

use iolite_values::{NodeId, ObjectEpoch, ObjectName, StoreIncarnation};

use super::hold::{Hold, read_hold, write_hold};
use super::parts::{Part, read_epoch, read_node, read_part, write_epoch, write_node, write_part};
use super::tracking::{read_placed, write_placed};
use super::{Answer, Begin, Rpc, TrackAnswer, answer, rpc};
use crate::encoding::{Reader, Writer, identity, only_true, required};
use crate::generated::proto::{self, device_told, to_device_frame::Message};
use crate::generated::shapes;
use crate::limits::TO_DEVICE;
use crate::message::{Goodbye, ProtocolVersion};
use crate::session::{millis, read_goodbye, write_goodbye};
use crate::{DecodeError, EncodeError, frame};

/// A message of a server on `/objects`. Numbers of [`ToDevice::Run`] and [`ToDevice::Hold`] are chosen by the server, from 1, and none is used twice on a
/// connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToDevice {
    /// The connection is open.
    Welcome(DeviceWelcome),
    /// Run this call, of an object that is here.
    Run { number: u64, rpc: Rpc },
    /// Answers the [`super::FromDevice::Call`] with this number.
    Answer { number: u64, answer: Answer },
    /// Answers a `Find`, a `Begin` or a `Create`.
    Told { number: u64, answer: TrackAnswer },
    /// Take this object with its state, in CBOR, and do not serve it yet.
    Hold { number: u64, begin: Begin, epoch: ObjectEpoch, state: Vec<u8> },
    /// This epoch is committed: serve it.
    Serve { object: ObjectName, epoch: ObjectEpoch },
    /// This epoch is not: forget what is held for it.
    Drop { object: ObjectName, epoch: ObjectEpoch },
    /// The connection ends after this message.
    Goodbye(Goodbye),
    /// Answers the [`super::FromDevice::Ping`] with this number.
    Pong { number: u64 },
    /// A part of the state of the `Hold` with this number, which is still to come.
    Part { number: u64, part: Part },
    /// The token that was sent last has taken the place of the one before. It is good for so long, in whole milliseconds. None: it does not run out.
    Renewed(Option<Duration>),
}

/// The connection is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceWelcome {
    pub version: ProtocolVersion,
    pub store: StoreIncarnation,
    /// The device, in the life that it has. Its name belongs to one user on one device.
    pub device: NodeId,
    pub server: NodeId,
    /// How often the device was taken for lost, in its life.
    pub lapses: u64,
    /// For how long the token is good, in whole milliseconds. None: it does not run out.
    pub token_left: Option<Duration>,
}

impl ToDevice {
    /// # Errors
    /// [`EncodeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        let message = match self {
            ToDevice::Welcome(welcome) => Message::Welcome(proto::DeviceWelcome {
                version: welcome.version.0,
                store: welcome.store.0.to_bytes().to_vec(),
                device: Some(write_node(welcome.device)),
                server: Some(write_node(welcome.server)),
                lapses: welcome.lapses,
                token_left_ms: welcome.token_left.map(millis),
            }),
            ToDevice::Run { number, rpc } => {
                Message::Run(proto::DeviceRun { number: *number, rpc: Some(rpc::write(rpc, &mut writer)) })
            }
            ToDevice::Answer { number, answer } => {
                let answer = Some(answer::write(answer, &mut writer));
                Message::Answer(proto::DeviceAnswer { number: *number, answer })
            }
            ToDevice::Told { number, answer } => {
                let answer = Some(write_told(answer, &mut writer));
                Message::Told(proto::DeviceTold { number: *number, answer })
            }
            ToDevice::Hold { number, begin, epoch, state } => {
                Message::Hold(write_hold(*number, begin, *epoch, state, &mut writer))
            }
            ToDevice::Serve { object, epoch } => Message::Serve(write_epoch(object, *epoch)),
            ToDevice::Drop { object, epoch } => Message::Drop(write_epoch(object, *epoch)),
            ToDevice::Goodbye(goodbye) => Message::Goodbye(write_goodbye(goodbye, &mut writer)),
            ToDevice::Pong { number } => Message::Pong(proto::DevicePing { number: *number }),
            ToDevice::Part { number, part } => Message::Part(write_part(*number, part, &mut writer)),
            ToDevice::Renewed(left) => Message::Renewed(proto::DeviceRenewed { token_left_ms: left.map(millis) }),
        };
        writer.check()?;
        frame::encode(&proto::ToDeviceFrame { message: Some(message) }, shapes::TO_DEVICE_FRAME, TO_DEVICE)
    }

    /// # Errors
    /// [`DecodeError`]: the server is of another version, or wrong.
    pub fn decode(bytes: &[u8]) -> Result<ToDevice, DecodeError> {
        let frame: proto::ToDeviceFrame = frame::decode(bytes, shapes::TO_DEVICE_FRAME, TO_DEVICE)?;
        let reader = Reader::default();
        Ok(match required(frame.message, "no message that is known here")? {
            Message::Welcome(welcome) => ToDevice::Welcome(DeviceWelcome {
                version: ProtocolVersion(welcome.version),
                store: StoreIncarnation(identity(&welcome.store)?),
                device: read_node(welcome.device)?,
                server: read_node(welcome.server)?,
                lapses: welcome.lapses,
                token_left: welcome.token_left_ms.map(Duration::from_millis),
            }),
            Message::Run(run) => ToDevice::Run { number: run.number, rpc: rpc::read(run.rpc, &reader)? },
            Message::Answer(answer) => {
                ToDevice::Answer { number: answer.number, answer: answer::read(answer.answer, &reader)? }
            }
            Message::Told(told) => ToDevice::Told { number: told.number, answer: read_told(told.answer, &reader)? },
            Message::Hold(hold) => {
                let Hold { number, begin, epoch, state } = read_hold(hold, &reader)?;
                ToDevice::Hold { number, begin, epoch, state }
            }
            Message::Serve(serve) => {
                let (object, epoch) = read_epoch(serve)?;
                ToDevice::Serve { object, epoch }
            }
            Message::Drop(drop) => {
                let (object, epoch) = read_epoch(drop)?;
                ToDevice::Drop { object, epoch }
            }
            Message::Goodbye(goodbye) => ToDevice::Goodbye(read_goodbye(goodbye, &reader)?),
            Message::Pong(pong) => ToDevice::Pong { number: pong.number },
            Message::Part(part) => {
                let (number, part) = read_part(part, &reader)?;
                ToDevice::Part { number, part }
            }
            Message::Renewed(renewed) => ToDevice::Renewed(renewed.token_left_ms.map(Duration::from_millis)),
        })
    }
}

fn write_told(answer: &TrackAnswer, writer: &mut Writer) -> device_told::Answer {
    match answer {
        TrackAnswer::Found(placed) => device_told::Answer::Found(write_placed(placed, writer)),
        TrackAnswer::Begun(placed) => device_told::Answer::Begun(write_placed(placed, writer)),
        TrackAnswer::Unknown => device_told::Answer::Unknown(true),
        TrackAnswer::Lost => device_told::Answer::Lost(true),
        TrackAnswer::Refused(why) => device_told::Answer::Refused(answer::write_not_run(why, writer)),
    }
}

fn read_told(answer: Option<device_told::Answer>, reader: &Reader) -> Result<TrackAnswer, DecodeError> {
    Ok(match required(answer, "no answer that is known here")? {
        device_told::Answer::Found(placed) => TrackAnswer::Found(read_placed(placed, reader)?),
        device_told::Answer::Begun(placed) => TrackAnswer::Begun(read_placed(placed, reader)?),
        device_told::Answer::Unknown(unknown) => only_true(unknown).map(|()| TrackAnswer::Unknown)?,
        device_told::Answer::Lost(lost) => only_true(lost).map(|()| TrackAnswer::Lost)?,
        device_told::Answer::Refused(why) => TrackAnswer::Refused(answer::read_not_run(why, reader)?),
    })
}
