//! Messages between nodes as frames: each is encoded when it leaves, and decoded where and whenever it arrives.

use std::fmt::Debug;

use iolite_replication::node::{BetweenReplicas, FromReplica, ToReplica};
use iolite_wire::{DecodeError, EncodeError};

/// A message between nodes.
pub trait NodeMessage: Debug + PartialEq + Sized {
    fn to_frame(&self) -> Result<Vec<u8>, EncodeError>;
    fn from_frame(frame: &[u8]) -> Result<Self, DecodeError>;
}

macro_rules! node_message {
    ($message:ty) => {
        impl NodeMessage for $message {
            fn to_frame(&self) -> Result<Vec<u8>, EncodeError> {
                self.encode()
            }
            fn from_frame(frame: &[u8]) -> Result<Self, DecodeError> {
                Self::decode(frame)
            }
        }
    };
}

node_message!(ToReplica);
node_message!(FromReplica);
node_message!(BetweenReplicas);

/// # Panics
/// When the frame does not say the same.
pub fn encode<Message: NodeMessage>(message: &Message) -> Vec<u8> {
    let frame = message.to_frame().expect("messages of a run are small");
    let read = decode::<Message>(&frame);
    assert_eq!(read, *message, "a frame says what its message does");
    frame
}

pub fn decode<Message: NodeMessage>(frame: &[u8]) -> Message {
    Message::from_frame(frame).expect("what was encoded can be decoded")
}
