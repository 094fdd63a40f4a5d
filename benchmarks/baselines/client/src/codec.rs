//! Messages of clients and servers as frames of a link.

use iolite_host::Codec;
use prost::Message;

use crate::messages::{Reply, Request};

/// Bytes of the largest frame that either takes: many times what a thousand loaded keys need.
pub const FRAME_BYTES_MAX: usize = 16 << 20;

/// A client's end of a link.
#[derive(Clone, Copy, Debug)]
pub struct OfClient;

/// A server's end of a link.
#[derive(Clone, Copy, Debug)]
pub struct OfServer;

impl Codec for OfClient {
    type Incoming = Reply;
    type Outgoing = Request;

    fn decode(&mut self, frame: &[u8]) -> Result<Reply, String> {
        Reply::decode(frame).map_err(|error| error.to_string())
    }

    fn encode(&mut self, message: &Request) -> Result<Vec<u8>, String> {
        Ok(message.encode_to_vec())
    }
}

impl Codec for OfServer {
    type Incoming = Request;
    type Outgoing = Reply;

    fn decode(&mut self, frame: &[u8]) -> Result<Request, String> {
        Request::decode(frame).map_err(|error| error.to_string())
    }

    fn encode(&mut self, message: &Reply) -> Result<Vec<u8>, String> {
        Ok(message.encode_to_vec())
    }
}
