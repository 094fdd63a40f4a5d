//! Messages on a link: the length of the header, the length of the value, the header as JSON, and as many bytes as the value has.
//!
//! Invariant: a frame is refused before more is taken for it than [`HEADER_BYTES_MAX`] bytes.

use std::io::{self, Read, Write};

use iolite_emulator::Message;

/// The header of a message: its fields, and as many replicas as there are nodes at most.
const HEADER_BYTES_MAX: u32 = 64 * 1024;

pub fn write(out: &mut impl Write, message: &Message) -> io::Result<()> {
    let header = serde_json::to_vec(message)?;
    let value = message.value.map_or(0, |value| value.length);
    let header_bytes = u32::try_from(header.len()).map_err(io::Error::other)?;
    out.write_all(&header_bytes.to_le_bytes())?;
    out.write_all(&value.to_le_bytes())?;
    out.write_all(&header)?;
    io::copy(&mut io::repeat(0).take(value), out)?;
    out.flush()
}

/// The next message; nothing when the link has ended between two.
pub fn read(from: &mut impl Read) -> io::Result<Option<Message>> {
    let (mut header_bytes, mut value) = ([0; 4], [0; 8]);
    match from.read_exact(&mut header_bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    from.read_exact(&mut value)?;
    let header_bytes = u32::from_le_bytes(header_bytes);
    if header_bytes > HEADER_BYTES_MAX {
        return Err(io::Error::other(format!("a header of {header_bytes} bytes is none of ours")));
    }
    let mut header = vec![0; header_bytes as usize];
    from.read_exact(&mut header)?;
    let message = serde_json::from_slice(&header)?;
    let value = u64::from_le_bytes(value);
    if io::copy(&mut from.take(value), &mut io::sink())? < value {
        return Err(io::Error::other("the link ended within a value"));
    }
    Ok(Some(message))
}

#[cfg(test)]
mod tests {
    use iolite_emulator::{Answer, Asked, Content, Deployment, Key, Kind, NodeId, OperationId};

    use super::*;

    fn message(value: Option<Content>) -> Message {
        Message {
            kind: Kind(1),
            operation: OperationId(7),
            asked: Asked::Get,
            client: Deployment::CLIENT,
            from: NodeId(2),
            key: Key(3),
            value,
            version: None,
            volume: None,
            replicas: vec![NodeId(1), NodeId(2)],
            answer: Some(Answer::Found),
            room: 0,
        }
    }

    #[test]
    fn messages_come_as_they_went_with_as_many_bytes_as_their_values_have() {
        let sent = [message(Some(Content { digest: 9, length: 100_000 })), message(None)];
        let mut bytes = Vec::new();
        sent.iter().for_each(|message| write(&mut bytes, message).expect("memory takes it"));
        assert!(bytes.len() > 100_000);
        let mut from = bytes.as_slice();
        let came: Vec<Message> = std::iter::from_fn(|| read(&mut from).expect("these are frames")).collect();
        assert_eq!(came, sent);
    }

    #[test]
    fn the_page_of_limits_has_this_value() {
        let row = format!("| `emulate::HEADER_BYTES_MAX` | {HEADER_BYTES_MAX} |");
        assert!(include_str!("../../../../docs/limits.md").contains(&row));
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, &message(Some(Content { digest: 9, length: 50 }))).expect("memory takes it");
        assert!(read(&mut &bytes[..bytes.len() - 1]).is_err());
        assert!(read(&mut &bytes[..20]).is_err());
        bytes[3] = 255;
        assert!(read(&mut bytes.as_slice()).is_err());
    }
}
