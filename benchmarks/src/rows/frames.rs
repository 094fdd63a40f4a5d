//! The frames of one direction of a WebSocket, as a proxy sees them go by: how long each is, and nothing of its content.
//!
//! Invariant: however the bytes are cut into pieces, the same frames are found.

/// A frame with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The message in it.
    pub message: u64,
    /// With the header of the frame.
    pub whole: u64,
}

#[derive(Debug)]
pub struct Frames {
    state: State,
    /// The head of HTTP, or the header of a frame, as far as it is here.
    seen: Vec<u8>,
    /// The path that HTTP asked for.
    path: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A head of HTTP: a blank line ends it.
    Head,
    Header,
    Payload {
        left: u64,
    },
}

const HEAD_MAX: usize = 16 << 10;

impl Frames {
    pub fn new() -> Frames {
        Frames { state: State::Head, seen: Vec::new(), path: Vec::new() }
    }

    /// Whether this is what a client says on a path.
    pub fn is_on(&self, path: &str) -> bool {
        self.path == path.as_bytes()
    }

    /// Takes the next bytes, and returns the frames whose header has ended in them. Pings, pongs and goodbyes of WebSocket are left out.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Frame> {
        let mut found = Vec::new();
        let mut rest = bytes;
        while let [first, behind @ ..] = rest {
            match self.state {
                State::Payload { left } => {
                    let taken = left.min(rest.len() as u64);
                    rest = &rest[taken as usize..];
                    self.go_on(left - taken);
                }
                State::Head => {
                    self.seen.push(*first);
                    rest = behind;
                    if self.seen.ends_with(b"\r\n\r\n") || self.seen.len() > HEAD_MAX {
                        self.path = self.seen.split(|byte| *byte == b' ').nth(1).unwrap_or_default().to_vec();
                        self.go_on(0);
                    }
                }
                State::Header => {
                    self.seen.push(*first);
                    rest = behind;
                    if let Some(message) = payload_of(&self.seen) {
                        if self.seen[0] & 0x0f <= 2 {
                            found.push(Frame { message, whole: message + self.seen.len() as u64 });
                        }
                        self.go_on(message);
                    }
                }
            }
        }
        found
    }

    fn go_on(&mut self, left: u64) {
        self.seen.clear();
        self.state = if left == 0 { State::Header } else { State::Payload { left } };
    }
}

/// How long the payload is, once all of its header is here: RFC 6455, section 5.2.
fn payload_of(header: &[u8]) -> Option<u64> {
    let second = *header.get(1)?;
    let mask = if second & 0x80 == 0 { 0 } else { 4 };
    let length_bytes = match second & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    if header.len() < 2 + length_bytes + mask {
        return None;
    }
    let number = header[2..2 + length_bytes].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    Some(if length_bytes == 0 { u64::from(second & 0x7f) } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_however_the_bytes_come() {
        let mut bytes = b"GET /sync HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
        bytes.extend([0x82, 0x83, 1, 2, 3, 4, 9, 9, 9]);
        bytes.extend([0x89, 0x00]);
        bytes.extend([0x82, 0x00]);
        bytes.extend([0x82, 126, 1, 0]);
        bytes.extend([7; 256]);
        bytes.extend([0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
        bytes.extend([7; 65_536]);
        let wanted = [(3, 9), (0, 2), (256, 260), (65_536, 65_546)].map(|(message, whole)| Frame { message, whole });
        for piece in [1, 5, 1000, bytes.len()] {
            let mut frames = Frames::new();
            let found: Vec<Frame> = bytes.chunks(piece).flat_map(|bytes| frames.feed(bytes)).collect();
            assert_eq!(found, wanted, "pieces of {piece}");
            assert!(frames.is_on("/sync") && !frames.is_on("/blobs"));
        }
    }
}
