//! Lines that carry descriptors, over a Unix socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

use crate::limits::MESSAGE_BYTES_MAX;

/// The descriptors of a region: its memory and its table.
pub const REGION_FILES: usize = 2;

/// Sends a line with at most two descriptors.
///
/// # Errors
/// When the other side is gone.
pub fn send_line(socket: impl AsFd, line: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(REGION_FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a line carries two descriptors at most"));
    }
    let sent = rustix::net::sendmsg(socket, &[IoSlice::new(line)], &mut control, SendFlags::NOSIGNAL)?;
    if sent == line.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Receives a line without its end, and the descriptors that came with it. What follows the line in the same packet is an error:
/// the other side waits for an answer first. `None` at the end.
///
/// # Errors
/// When the line is too long, is cut, or carries more descriptors than a region has.
pub fn receive_line(socket: impl AsFd) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let (mut line, mut files) = (Vec::new(), Vec::new());
    let mut buffer = [0; MESSAGE_BYTES_MAX];
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(REGION_FILES))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let parts = &mut [IoSliceMut::new(&mut buffer)];
        let received = rustix::net::recvmsg(&socket, parts, &mut control, RecvFlags::CMSG_CLOEXEC)?;
        let messages = control.drain();
        files.extend(messages.flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => files.collect(),
            _ => Vec::new(),
        }));
        if received.flags.contains(ReturnFlags::CTRUNC) || files.len() > REGION_FILES {
            return Err(invalid("a message carries more descriptors than a region has, or than this side may open"));
        }
        line.extend_from_slice(&buffer[..received.bytes]);
        match line.iter().position(|&byte| byte == b'\n') {
            Some(end) if end + 1 == line.len() => {
                line.pop();
                return if line.len() < MESSAGE_BYTES_MAX {
                    Ok(Some((line, files)))
                } else {
                    Err(invalid("a message is longer than 4096 bytes"))
                };
            }
            Some(_) => return Err(invalid("something follows the message before its answer")),
            None if line.len() >= MESSAGE_BYTES_MAX => return Err(invalid("a message is longer than 4096 bytes")),
            None if received.bytes == 0 && line.is_empty() => return Ok(None),
            None if received.bytes == 0 => return Err(invalid("the other side ended within a message")),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_line_arrives_with_its_descriptors() {
        let (one, other) = UnixStream::pair().expect("sockets may be made");
        send_line(&one, b"here they are\n", &[one.as_fd(), other.as_fd()]).expect("the other side is there");
        let (line, files) = receive_line(&other).expect("it is a line").expect("it is not the end");
        assert_eq!((line.as_slice(), files.len()), (b"here they are".as_slice(), 2));
        drop(files);
        drop(one);
        assert!(receive_line(&other).expect("that is an end").is_none());
    }

    #[test]
    fn lines_that_are_too_long_cut_or_followed_are_refused() {
        let refused = |bytes: &[u8]| {
            let (one, other) = UnixStream::pair().expect("sockets may be made");
            send_line(&one, bytes, &[]).expect("the other side is there");
            drop(one);
            receive_line(&other).expect_err("it is no line").to_string()
        };
        assert!(refused(&[b'x'; 5000]).contains("longer than 4096"));
        assert!(refused(b"half").contains("ended within"));
        assert!(refused(b"one\ntwo\n").contains("follows the message"));
    }

    #[test]
    fn more_descriptors_than_a_region_has_are_refused_and_closed() {
        let (one, other) = UnixStream::pair().expect("sockets may be made");
        send_line(&one, b"a", &[one.as_fd(), one.as_fd()]).expect("the other side is there");
        send_line(&one, b"b\n", &[one.as_fd()]).expect("the other side is there");
        assert!(receive_line(&other).expect_err("three came").to_string().contains("more descriptors"));
        drop(one);
    }
}
