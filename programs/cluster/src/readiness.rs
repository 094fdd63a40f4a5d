//! Whether a server says that it is ready.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than a server takes that can answer at all.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// Whether `/readyz` answers with 200.
pub(crate) fn is_ready(address: SocketAddr) -> bool {
    ask(address).is_ok_and(|answer| answer.starts_with(b"HTTP/1.1 200") || answer.starts_with(b"HTTP/1.0 200"))
}

fn ask(address: SocketAddr) -> std::io::Result<[u8; 12]> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWERS_WITHIN)?;
    stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
    stream.set_write_timeout(Some(ANSWERS_WITHIN))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}
