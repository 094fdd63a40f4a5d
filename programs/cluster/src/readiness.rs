//! Questions to a server of this machine: whether it is ready, and its metrics.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than a server takes that can answer at all.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// Whether `/readyz` answers with 200.
pub(crate) fn is_ready(address: SocketAddr) -> bool {
    let mut answer = [0; 12];
    let answered = ask(address, "/readyz").and_then(|mut stream| stream.read_exact(&mut answer));
    answered.is_ok() && (answer.starts_with(b"HTTP/1.1 200") || answer.starts_with(b"HTTP/1.0 200"))
}

/// The whole answer of a server to a request for a path.
pub(crate) fn get(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut answer = String::new();
    ask(address, path)?.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The stream on which the answer comes.
fn ask(address: SocketAddr, path: &str) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWERS_WITHIN)?;
    stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
    stream.set_write_timeout(Some(ANSWERS_WITHIN))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    Ok(stream)
}
