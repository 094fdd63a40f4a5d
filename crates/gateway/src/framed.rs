//! A gateway that speaks frames: what a host runs behind its sockets.
//!
//! Invariant: a session's frames leave in the order in which they were encoded, without gaps: after a message that cannot be encoded only
//! the goodbye follows.

use std::collections::{BTreeMap, VecDeque};

use iolite_machine::{Instant, Machine, Now};
use iolite_store::{Event, Request, RequestId};
use iolite_wire::message::{FromClient, FromGateway};
use iolite_wire::{SessionDecoder, SessionEncoder};

use crate::{Gateway, Input, Output, SessionId, Settings};

/// A [`Gateway`] with the encoder and decoder of every session.
#[derive(Debug)]
pub struct FramedGateway {
    gateway: Gateway,
    codecs: BTreeMap<SessionId, Codec>,
    outputs: VecDeque<FrameOutput>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameInput {
    /// A connection is there. Its id is never used again.
    SessionOpened(SessionId),
    /// A binary WebSocket frame.
    Frame(SessionId, Vec<u8>),
    /// The connection is gone. Not needed after [`FrameOutput::Close`], but harmless.
    SessionClosed(SessionId),
    /// The socket has taken this many more of the session's frames, oldest first.
    Drained {
        session: SessionId,
        frames: usize,
    },
    Store(Event),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameOutput {
    Frame(SessionId, Vec<u8>),
    /// Close the connection once its frames are sent, or after a second.
    Close(SessionId),
    Store(RequestId, Request),
}

#[derive(Debug, Default)]
struct Codec {
    decoder: SessionDecoder<FromClient>,
    encoder: SessionEncoder<FromGateway>,
    state: Outgoing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Outgoing {
    #[default]
    Whole,
    /// A message could not be encoded.
    Broken,
}

impl FramedGateway {
    pub fn new(settings: Settings) -> FramedGateway {
        FramedGateway { gateway: Gateway::new(settings), codecs: BTreeMap::new(), outputs: VecDeque::new() }
    }

    /// The gateway inside, for metrics and readiness.
    pub fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    fn on_frame(&mut self, now: Now, id: SessionId, frame: &[u8]) {
        // Whatever comes after a goodbye is for nobody.
        let Some(codec) = self.codecs.get_mut(&id) else { return };
        let input = match codec.decoder.decode(frame) {
            Ok(message) => Input::Message(id, message),
            Err(error) => Input::Garbled(id, error.to_string()),
        };
        self.gateway.handle(now, input);
    }

    /// Encodes what the gateway says. A message that is too large for any frame ends its session.
    fn encode_all(&mut self, now: Now) {
        while let Some(output) = self.gateway.poll() {
            match output {
                Output::Message(id, message) => self.encode(now, id, &message),
                Output::Close(id) => {
                    self.codecs.remove(&id);
                    self.outputs.push_back(FrameOutput::Close(id));
                }
                Output::Store(id, request) => self.outputs.push_back(FrameOutput::Store(id, request)),
            }
        }
    }

    fn encode(&mut self, now: Now, id: SessionId, message: &FromGateway) {
        let Some(codec) = self.codecs.get_mut(&id) else { return };
        let last = matches!(message, FromGateway::Goodbye(_));
        if codec.state == Outgoing::Broken && !last {
            return;
        }
        match codec.encoder.encode(message) {
            Ok(frame) => self.outputs.push_back(FrameOutput::Frame(id, frame)),
            Err(error) => {
                codec.state = Outgoing::Broken;
                self.gateway.handle(now, Input::Unsendable(id, error.to_string()));
            }
        }
    }
}

impl Machine for FramedGateway {
    type Input = FrameInput;
    type Output = FrameOutput;

    fn handle(&mut self, now: Now, input: FrameInput) {
        match input {
            FrameInput::SessionOpened(id) => {
                self.codecs.insert(id, Codec::default());
                self.gateway.handle(now, Input::SessionOpened(id));
            }
            FrameInput::Frame(id, frame) => self.on_frame(now, id, &frame),
            FrameInput::SessionClosed(id) => {
                self.codecs.remove(&id);
                self.gateway.handle(now, Input::SessionClosed(id));
            }
            FrameInput::Drained { session, frames } => {
                self.gateway.handle(now, Input::Drained { session, messages: frames });
            }
            FrameInput::Store(event) => self.gateway.handle(now, Input::Store(event)),
        }
        self.encode_all(now);
    }

    fn poll(&mut self) -> Option<FrameOutput> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        self.gateway.deadline()
    }

    fn on_deadline(&mut self, now: Now) {
        self.gateway.on_deadline(now);
        self.encode_all(now);
    }

    fn validate(&self) {
        assert_eq!(self.codecs.len(), self.gateway.sessions(), "every session has its codec");
        self.gateway.validate();
    }
}
