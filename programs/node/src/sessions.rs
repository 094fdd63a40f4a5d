//! Sessions of the gateway, for the host: which frames are which messages.

use iolite_gateway::{Input, SessionId};
use iolite_host::{Codec, SessionEvent, SessionHandler, SessionNumber};
use iolite_wire::limits;
use iolite_wire::message::{FromClient, FromGateway};
use iolite_wire::{SessionDecoder, SessionEncoder};

use crate::NodeInput;

/// Makes what happens to a socket an input of the gateway.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GatewaySessions;

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

impl SessionHandler for GatewaySessions {
    type Codec = GatewayCodec;
    type Input = NodeInput;

    fn codec(&self) -> GatewayCodec {
        GatewayCodec::default()
    }

    fn input(&self, session: SessionNumber, event: SessionEvent<FromClient>) -> NodeInput {
        let session = SessionId(session);
        NodeInput::Gateway(match event {
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
