//! The amount that a link has carried, in messages, in frames, and on a network.

use std::ops::{Add, Sub};

use serde::Serialize;

use super::frames::Frame;

/// The amount of one direction, or of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    pub messages: u64,
    pub message_bytes: u64,
    /// With the headers of WebSocket.
    pub frame_bytes: u64,
    /// With those of TCP and IPv4 too.
    pub network_bytes: u64,
}

/// The content of a segment on Ethernet, and its headers: 20 bytes of IPv4, 20 of TCP and 12 of its timestamps.
const SEGMENT_BYTES: u64 = 1448;
const SEGMENT_HEADER_BYTES: u64 = 52;

impl Counted {
    /// A frame is taken to begin a segment; segments without data are not counted.
    pub fn frame(frame: Frame) -> Counted {
        let segments = frame.whole.div_ceil(SEGMENT_BYTES);
        Counted {
            messages: 1,
            message_bytes: frame.message,
            frame_bytes: frame.whole,
            network_bytes: frame.whole + segments * SEGMENT_HEADER_BYTES,
        }
    }
}

impl Add for Counted {
    type Output = Counted;

    fn add(self, other: Counted) -> Counted {
        Counted {
            messages: self.messages + other.messages,
            message_bytes: self.message_bytes + other.message_bytes,
            frame_bytes: self.frame_bytes + other.frame_bytes,
            network_bytes: self.network_bytes + other.network_bytes,
        }
    }
}

impl Sub for Counted {
    type Output = Counted;

    fn sub(self, before: Counted) -> Counted {
        Counted {
            messages: self.messages - before.messages,
            message_bytes: self.message_bytes - before.message_bytes,
            frame_bytes: self.frame_bytes - before.frame_bytes,
            network_bytes: self.network_bytes - before.network_bytes,
        }
    }
}
