//! Frames of a session: an encoder and a decoder for each direction, made with the connection and dropped with it.
//!
//! Invariant: a decoder that is given an encoder's frames, all of them and in order, returns equal messages.

mod advance;
mod from_client;
mod from_gateway;
mod log_members;
mod logs;
mod submit;

use std::marker::PhantomData;

use crate::encoding::{Reader, Writer};
use crate::frame;
use crate::generated::Shape;
use crate::generated::shapes;
use crate::limits::{self, FrameLimits};
use crate::message::{FromClient, FromGateway};
use crate::{DecodeError, EncodeError};

pub(crate) use advance::{
    read_declined, read_rows, read_rows_as, read_snapshot, write_declined, write_rows, write_rows_of, write_snapshot,
};
pub(crate) use from_gateway::{millis, read_goodbye, write_goodbye};
pub(crate) use submit::{attempt, earlier_attempts, read_submit, write_submit};

/// The messages of one direction: [`FromClient`] or [`FromGateway`].
pub trait SessionMessage: private::Frame {}

impl SessionMessage for FromClient {}
impl SessionMessage for FromGateway {}

mod private {
    use super::{DecodeError, FrameLimits, Reader, Shape, Writer};

    /// What is not for other crates to see.
    #[allow(private_interfaces, reason = "the trait cannot be named outside")]
    pub trait Frame: Sized {
        type Proto: prost::Message + Default;
        const SHAPE: Shape;
        const LIMITS: FrameLimits;
        fn write(&self, writer: &mut Writer) -> Self::Proto;
        fn read(frame: Self::Proto, reader: &mut Reader) -> Result<Self, DecodeError>;
    }
}

#[allow(private_interfaces, reason = "the trait cannot be named outside")]
impl private::Frame for FromClient {
    type Proto = crate::generated::proto::FromClientFrame;
    const SHAPE: Shape = shapes::FROM_CLIENT_FRAME;
    const LIMITS: FrameLimits = limits::FROM_CLIENT;

    fn write(&self, writer: &mut Writer) -> Self::Proto {
        from_client::write(self, writer)
    }

    fn read(frame: Self::Proto, reader: &mut Reader) -> Result<Self, DecodeError> {
        from_client::read(frame, reader)
    }
}

#[allow(private_interfaces, reason = "the trait cannot be named outside")]
impl private::Frame for FromGateway {
    type Proto = crate::generated::proto::FromGatewayFrame;
    const SHAPE: Shape = shapes::FROM_GATEWAY_FRAME;
    const LIMITS: FrameLimits = limits::FROM_GATEWAY;

    fn write(&self, writer: &mut Writer) -> Self::Proto {
        from_gateway::write(self, writer)
    }

    fn read(frame: Self::Proto, reader: &mut Reader) -> Result<Self, DecodeError> {
        from_gateway::read(frame, reader)
    }
}

/// Encodes the messages that one side of a session sends, each into one binary WebSocket frame.
///
/// Every frame that it returns must be sent, in order: later ones build on earlier ones.
///
/// ```
/// use iolite_wire::message::FromClient;
/// use iolite_wire::{SessionDecoder, SessionEncoder};
///
/// let (mut encoder, mut decoder) = (SessionEncoder::new(), SessionDecoder::new());
/// let frame = encoder.encode(&FromClient::Ping(7))?;
/// assert_eq!(decoder.decode(&frame), Ok(FromClient::Ping(7)));
/// # Ok::<(), iolite_wire::EncodeError>(())
/// ```
#[derive(Debug)]
pub struct SessionEncoder<M> {
    writer: Writer,
    messages: PhantomData<fn(M)>,
}

impl<M: SessionMessage> SessionEncoder<M> {
    pub fn new() -> SessionEncoder<M> {
        SessionEncoder { writer: Writer::default(), messages: PhantomData }
    }

    /// # Errors
    /// [`EncodeError::TooLarge`]: the encoder is as before, and goes on with other messages.
    pub fn encode(&mut self, message: &M) -> Result<Vec<u8>, EncodeError> {
        let frame = message.write(&mut self.writer);
        let encoded = self.writer.check().and_then(|()| frame::encode(&frame, M::SHAPE, M::LIMITS));
        match encoded {
            Ok(_) => self.writer.commit(),
            Err(_) => self.writer.rollback(),
        }
        encoded
    }
}

impl<M: SessionMessage> Default for SessionEncoder<M> {
    fn default() -> SessionEncoder<M> {
        SessionEncoder::new()
    }
}

/// Decodes the frames that one side of a session receives.
#[derive(Debug)]
pub struct SessionDecoder<M> {
    state: State,
    messages: PhantomData<fn() -> M>,
}

#[derive(Debug)]
enum State {
    Reading(Reader),
    Broken,
}

impl<M: SessionMessage> SessionDecoder<M> {
    pub fn new() -> SessionDecoder<M> {
        SessionDecoder { state: State::Reading(Reader::default()), messages: PhantomData }
    }

    /// # Errors
    /// [`DecodeError`] when the bytes are not a message of this session. The session is over then: whatever follows is
    /// [`DecodeError::Broken`].
    pub fn decode(&mut self, frame: &[u8]) -> Result<M, DecodeError> {
        let State::Reading(reader) = &mut self.state else { return Err(DecodeError::Broken) };
        let message = frame::decode(frame, M::SHAPE, M::LIMITS).and_then(|frame| M::read(frame, reader));
        if message.is_err() {
            self.state = State::Broken;
        }
        message
    }
}

impl<M: SessionMessage> Default for SessionDecoder<M> {
    fn default() -> SessionDecoder<M> {
        SessionDecoder::new()
    }
}

#[cfg(test)]
mod tests;
