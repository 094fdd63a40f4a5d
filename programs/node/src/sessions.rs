//! Sessions of the gateway, for the host: which frames are which messages.

use iolite_gateway::{Input, SessionId};
use iolite_host::{Codec, SessionEvent, SessionHandler, SessionNumber};
use iolite_wire::limits;
use iolite_wire::message::{FromClient, FromGateway};
use iolite_wire::{SessionDecoder, SessionEncoder};

/// Makes what happens to a socket an input of the gateway, as the machine that it is part of takes it.
#[derive(Debug)]
pub(crate) struct GatewaySessions<I>(pub fn(Input) -> I);

// By hand, because an input need not be a copy for the function to be one.
impl<I> Clone for GatewaySessions<I> {
    fn clone(&self) -> Self {
        GatewaySessions(self.0)
    }
}

#[derive(Debug, Default)]
pub(crate) struct GatewayCodec {
    decoder: SessionDecoder<FromClient>,
    encoder: SessionEncoder<FromGateway>,
}

impl Codec for GatewayCodec {
    type Incoming = FromClient;
    type Outgoing = FromGateway;

    fn decode(&mut self, frame: &[u8]) -> Result<FromClient, String> {
        self.decoder.decode(frame).map_err(|error| error.to_string())
    }

    fn encode(&mut self, message: &FromGateway) -> Result<Vec<u8>, String> {
        self.encoder.encode(message).map_err(|error| error.to_string())
    }
}

impl<I: Send + 'static> SessionHandler for GatewaySessions<I> {
    type Codec = GatewayCodec;
    type Input = I;

    fn codec(&self) -> GatewayCodec {
        GatewayCodec::default()
    }

    fn input(&self, session: SessionNumber, event: SessionEvent<FromClient>) -> I {
        let session = SessionId(session);
        (self.0)(match event {
            SessionEvent::Opened => Input::SessionOpened(session),
            SessionEvent::Message(message) => Input::Message(session, message),
            SessionEvent::Garbled(problem) => Input::Garbled(session, problem),
            SessionEvent::Drained(messages) => Input::Drained { session, messages },
            SessionEvent::Closed => Input::SessionClosed(session),
        })
    }

    /// More than the protocol allows, so that who is a little over is told so instead of being cut off.
    fn frame_bytes_max(&self) -> usize {
        4 * limits::FROM_CLIENT.bytes.most
    }
}
