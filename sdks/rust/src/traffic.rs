//! What a client has sent and received.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of WebSocket frames with their headers, and how many frames, since the client was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes to the server.
    pub bytes_up: u64,
    /// Bytes from the server.
    pub bytes_down: u64,
    /// Frames to the server.
    pub frames_up: u64,
    /// Frames from the server.
    pub frames_down: u64,
}

#[derive(Debug, Default)]
pub(crate) struct TrafficCounters {
    bytes_up: AtomicU64,
    bytes_down: AtomicU64,
    frames_up: AtomicU64,
    frames_down: AtomicU64,
}

/// What a client masks its frames with.
const MASK_BYTES: u64 = 4;

impl TrafficCounters {
    pub(crate) fn sent(&self, payload: usize) {
        self.bytes_up.fetch_add(header_bytes(payload) + MASK_BYTES + payload as u64, Ordering::Relaxed);
        self.frames_up.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, payload: usize) {
        self.bytes_down.fetch_add(header_bytes(payload) + payload as u64, Ordering::Relaxed);
        self.frames_down.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Traffic {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Traffic {
            bytes_up: read(&self.bytes_up),
            bytes_down: read(&self.bytes_down),
            frames_up: read(&self.frames_up),
            frames_down: read(&self.frames_down),
        }
    }
}

/// RFC 6455, section 5.2: two bytes, and two or eight for lengths that do not fit into seven bits.
fn header_bytes(payload: usize) -> u64 {
    match payload {
        0..=125 => 2,
        126..=65_535 => 4,
        _ => 10,
    }
}
